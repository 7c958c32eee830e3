"""How the data files of a table are written: format, names, sizes and statistics, read once from the options."""

from collections.abc import Mapping
from dataclasses import dataclass

from polynya.arrow import files
from polynya.arrow.stats import Mode, column_modes, level_mode
from polynya.model.options import target_file_size
from polynya.model.options_data import (
    DATA_FILE_PREFIX,
    DATA_FILE_THIN_MODE,
    FILE_COMPRESSION,
    FILE_COMPRESSION_PER_LEVEL,
    FILE_COMPRESSION_ZSTD_LEVEL,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    FILE_INDEX_IN_MANIFEST_THRESHOLD,
    FILE_SUFFIX_INCLUDE_COMPRESSION,
    METADATA_STATS_DENSE_STORE,
    METADATA_STATS_MODE,
    TARGET_FILE_ROW_NUM,
)
from polynya.model.schema import KEY_PREFIX, ROW_ID, SEQUENCE_NUMBER, VALUE_KIND, Schema
from polynya.model.types import Field
from polynya.paimon import layout
from polynya.storage.protocol import Storage

APPEND_SOURCE, COMPACT_SOURCE = 0, 1


@dataclass(frozen=True)
class FileSpec:
    """How files of one level are written; plain data, so that a worker can be told."""

    storage: Storage
    schema: Schema
    fields: tuple[Field, ...]
    value_fields: tuple[Field, ...]
    write_cols: tuple[str, ...] | None  # the names of the stored columns, where they are not those of the table
    format: str
    compression: str
    zstd_level: int
    size_bytes_max: int
    row_count_max: int
    prefix: str
    shows_compression: bool
    modes: tuple[Mode, ...]  # of `fields`
    is_dense: bool
    index_size_bytes_max: int  # a larger file index stands beside the file, not in the manifest
    level: int
    source: int
    buffer_bytes: int = files.BUFFER_BYTES  # what may wait in memory to be encoded

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the table."""
        return self.schema.options

    def file_name(self, uuid: str, number: int) -> str:
        """The name of a new file."""
        return layout.data_file_name(
            self.prefix, uuid, number, self.format, self.compression, include_compression=self.shows_compression
        )


def key_columns(schema: Schema) -> frozenset[str]:
    """The stored columns that tell the key, the order, the kind and the id of a row."""
    keys = schema.trimmed_primary_key
    thin = keys if DATA_FILE_THIN_MODE.of(schema.options) else ()
    system = (SEQUENCE_NUMBER, VALUE_KIND, ROW_ID)
    return frozenset((*thin, *(KEY_PREFIX + name for name in keys), *(field.name for field in system)))


def file_spec(
    storage: Storage,
    schema: Schema,
    *,
    fields: tuple[Field, ...] | None = None,
    level: int = 0,
    source: int = APPEND_SOURCE,
) -> FileSpec:
    """How new files of a level are written; `fields` are the stored columns, by default those of the table."""
    options = schema.options
    format = FILE_FORMAT_PER_LEVEL.of(options).get(level, FILE_FORMAT.of(options))
    mode = level_mode(options, level) or METADATA_STATS_MODE.of(options)
    stored = fields or schema.fields
    has_key = bool(schema.primary_key)
    keys = key_columns(schema)
    if has_key and format == "avro":
        keys = frozenset()  # there they are like any other column
    return FileSpec(
        storage=storage,
        schema=schema,
        fields=stored,
        value_fields=schema.fields if has_key else stored,
        write_cols=None if has_key or stored == schema.fields else tuple(field.name for field in stored),
        format=format,
        compression=FILE_COMPRESSION_PER_LEVEL.of(options).get(level, FILE_COMPRESSION.of(options)),
        zstd_level=FILE_COMPRESSION_ZSTD_LEVEL.of(options),
        size_bytes_max=target_file_size(schema),
        row_count_max=TARGET_FILE_ROW_NUM.of(options) if source == APPEND_SOURCE else 2**63 - 1,
        prefix=DATA_FILE_PREFIX.of(options),
        shows_compression=FILE_SUFFIX_INCLUDE_COMPRESSION.of(options),
        modes=column_modes(stored, options, mode=mode, key_columns=keys),
        is_dense=METADATA_STATS_DENSE_STORE.of(options),
        index_size_bytes_max=FILE_INDEX_IN_MANIFEST_THRESHOLD.of(options),
        level=level,
        source=source,
    )
