"""What the three Avro kinds of metadata share: the version in every record, plain file names, whole columns.

A kind describes its file with the schema text that Paimon writes and one column for each field. Decoding gives a table
with the kind's schema; encoding takes one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Column, Decoded, decode_columns, encode_file
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.storage.names import BAD_FILE_NAME

_VERSION = Column("_version", ("_VERSION",), pa.int32())
_OTHER_VERSIONS = range(1, 100)


@dataclass(frozen=True)
class AvroKind:
    """One kind of Avro metadata file."""

    title: str
    version: int
    schema_text: str
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of a decoded table."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def decode(
        self, files: Sequence[AvroSource], names: Sequence[str] | None = None, holding: Sequence[bytes] = ()
    ) -> Decoded:
        """Decode the named columns (all when None) of every record, in order; with `holding` of some blocks only."""
        wanted = self.columns if names is None else [self._column(name) for name in names]
        decoded = decode_columns(files, [_VERSION, *wanted], holding)
        self._check_version(decoded)
        table = decoded.table.drop_columns([_VERSION.name])
        return Decoded(table, decoded.names, decoded.row_ends)

    def encode(self, table: pa.Table, codec: str, level: int | None, indexed: str | None = None) -> bytes:
        """A container file of the table's rows; the table has all columns, in any order."""
        given = set(table.column_names)
        missing = [column.name for column in self.columns if column.name not in given]
        if missing:
            raise InvalidInputError(f"{self.title}: columns are missing: {', '.join(missing)}")
        versions = pa.repeat(pa.scalar(self.version, pa.int32()), table.num_rows)
        columns = [_VERSION, *self.columns]
        versioned = table.append_column(_VERSION.name, versions)
        return encode_file(self.schema_text, versioned, columns, codec, level, indexed=indexed)

    def _column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidInputError(f"{self.title}: there is no column '{name}'; there are {', '.join(self.schema.names)}")

    def _check_version(self, decoded: Decoded) -> None:
        versions = decoded.table[_VERSION.name]
        other = pc.index(pc.not_equal(versions, self.version), True).as_py()
        if other < 0:
            return
        found = versions[other].as_py()
        if found in _OTHER_VERSIONS:
            raise UnsupportedError(
                f"'{decoded.name_of(other)}': {self.title} version {found} is not supported, only {self.version}"
            )
        decoded.reject(pc.not_equal(versions, self.version), f"expected _VERSION {self.version}, found {found}")


def check_file_names(decoded: Decoded, column: str) -> None:
    """Raise CorruptFileError for a name, or a name in a list of names, that could leave its folder."""
    if column not in decoded.table.column_names:
        return
    values = decoded.table[column]
    nested = pa.types.is_list(values.type)
    names = pc.list_flatten(values) if nested else values
    if all(_surely_plain(chunk) for chunk in names.chunks):
        return
    bad = pc.match_substring_regex(names, BAD_FILE_NAME)
    if nested:
        rows = pc.list_parent_indices(values).filter(bad).unique()
        bad = pc.is_in(pa.array(range(len(values))), value_set=rows.cast(pa.int64()))
    decoded.reject(bad, f"{column}: expected plain file names", column)


def _surely_plain(names: pa.Array) -> bool:
    """Whether no name is short or holds a slash or NUL; a search through all bytes at once, sooner than by name."""
    if not len(names):
        return True
    if pc.min(pc.binary_length(names)).as_py() <= len(".."):
        return False
    offsets = np.frombuffer(names.buffers()[1], np.int32, len(names) + 1, names.offset * 4)
    text = names.buffers()[2].slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes()
    return b"/" not in text and b"\x00" not in text


def check_codes(decoded: Decoded, column: str, *meanings: str) -> None:
    """Raise CorruptFileError unless every number in the column is null or stands for one of the meanings, from 0 on."""
    if column in decoded.table.column_names:
        codes = decoded.table[column]
        known = " or ".join(f"{code} ({meaning})" for code, meaning in enumerate(meanings))
        wrong = pc.or_(pc.less(codes, 0), pc.greater_equal(codes, len(meanings)))
        decoded.reject(wrong, f"{column}: expected {known}", column)
