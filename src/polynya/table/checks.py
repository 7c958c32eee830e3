"""What a new table must be: names, keys, buckets, options, default values.

Paimon's own rules, and stricter where Paimon would only fail later or pass over an option: an unknown key, a bad value,
a bucket function that cannot hash the key.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from polynya.errors import CorruptFileError, InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.bucket_mode import bucket_key
from polynya.model.options import closest_key, find_column, find_option, require_readable
from polynya.model.options_data import (
    BUCKET,
    BUCKET_FUNCTION_TYPE,
    BUCKET_KEY,
    DATA_EVOLUTION_ENABLED,
    FILE_FORMAT,
    METADATA_STATS_MODE,
    PARTITION,
    PARTITION_LEGACY_NAME,
    PRIMARY_KEY,
    ROW_TRACKING_ENABLED,
)
from polynya.model.options_scan import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
)
from polynya.model.schema import KEY_PREFIX, SYSTEM_FIELDS, Schema, all_fields, require_columns
from polynya.model.value_text import parse
from polynya.paimon import schema_file
from polynya.table.merge_checks import check_merging

_ADDRESS_KEYS = ("path", "branch")
_KEYLESS = (t.Array, t.Vector, t.Multiset, t.Map, t.Row, t.Variant, t.Blob, t.Geometry, t.Geography)
_STATS_MODE = re.compile(r"none|counts|full|truncate\(\d+\)", re.IGNORECASE)
_FILE_INDEX = re.compile(r"file-index\.(.+)\.columns")
_FILE_FORMATS = ("parquet", "orc", "avro", "csv", "json", "text", "row")
_FILE_INDEX_TYPES = ("bloom-filter", "bitmap", "bsi", "range-bitmap")


def check_new_schema(schema: Schema) -> Schema:
    """The schema to store for a new table: keys moved out of the options, key columns NOT NULL.

    InvalidInputError says what is wrong with it, UnsupportedError what polynya could not read.
    """
    _check_options(schema)
    schema = _with_keys_of_options(schema)
    require_readable(schema.options)
    _check_names(schema)
    _check_ids(schema)
    _check_keys(schema)
    _check_file(schema)
    _check_buckets(schema)
    _check_defaults(schema)
    _check_columns_of_options(schema)
    _check_row_tracking(schema)
    check_merging(schema)
    return schema


def check_columns(schema: Schema) -> None:
    """Raise InvalidInputError where a table that exists could not get these columns."""
    _check_names(schema)
    _check_ids(schema)
    _check_file(schema)


def _check_options(schema: Schema) -> None:
    for key, value in schema.options.items():
        if not isinstance(key, str):
            raise InvalidInputError(f"options: expected keys of text, found {key!r}")
        if not isinstance(value, str):
            raise InvalidInputError(f"option '{key}': expected text, found {value!r}; write it as '{value}'")
        if key in _ADDRESS_KEYS:
            raise InvalidInputError(f"option '{key}' is not stored in a table; it is part of how the table is opened")
        option = find_option(key)
        if option is None:
            close = closest_key(key)
            hint = f"; did you mean '{close}'?" if close else ""
            raise InvalidInputError(f"unknown option '{key}'{hint}")
        option.parse(value)
    for low, high in (
        (SNAPSHOT_NUM_RETAINED_MIN, SNAPSHOT_NUM_RETAINED_MAX),
        (CHANGELOG_NUM_RETAINED_MIN, CHANGELOG_NUM_RETAINED_MAX),
    ):
        least, most = low.find(schema.options), high.find(schema.options)
        if least is not None and most is not None and not 0 < least <= most:
            raise InvalidInputError(f"option '{low.key}' must be from 1 to '{high.key}' ({most}), got '{least}'")
    mode = METADATA_STATS_MODE.of(schema.options)
    if not _STATS_MODE.fullmatch(mode):
        raise InvalidInputError(f"option 'metadata.stats-mode' must be none, counts, full or truncate(n), got '{mode}'")


def _with_keys_of_options(schema: Schema) -> Schema:
    primary_key, partition_by = PRIMARY_KEY.find(schema.options), PARTITION.find(schema.options)
    if primary_key and schema.primary_key:
        raise InvalidInputError("the primary key stands in the schema and in option 'primary-key'; keep one")
    if partition_by and schema.partition_by:
        raise InvalidInputError("the partition columns stand in the schema and in option 'partition'; keep one")
    key = primary_key or schema.primary_key
    return replace(
        schema,
        primary_key=key,
        partition_by=partition_by or schema.partition_by,
        options={name: value for name, value in schema.options.items() if name not in (PRIMARY_KEY.key, PARTITION.key)},
        fields=tuple(
            replace(field, type=field.type.with_nullable(False)) if field.name in key else field
            for field in schema.fields
        ),
    )


def _check_names(schema: Schema) -> None:
    if not schema.fields:
        raise InvalidInputError("a table needs at least one column")
    reserved = {field.name for field in SYSTEM_FIELDS}
    _require_distinct(schema.names, "columns")
    for name in schema.names:
        if not name.strip():
            raise InvalidInputError(f"column name {name!r}: expected at least one character that is not a blank")
        if name in reserved or name.startswith(KEY_PREFIX):
            raise InvalidInputError(f"column name '{name}' is reserved; choose another")
    for field in schema.fields:
        for type in t.types_within(field.type):
            if isinstance(type, t.Row):
                if not type.fields:
                    raise InvalidInputError(f"column '{field.name}': a ROW needs at least one member")
                _check_member_names([member.name for member in type.fields], f"members of '{field.name}'")


def _check_member_names(names: list[str], what: str) -> None:
    _require_distinct(names, what)
    if not all(map(str.strip, names)):
        raise InvalidInputError(f"{what}: expected names with a character that is not a blank, found {names}")


def _check_ids(schema: Schema) -> None:
    ids = [field.id for field in all_fields(schema.fields)]
    if min(ids) < 0 or len(set(ids)) < len(ids) or schema.highest_field_id < max(ids):
        raise InvalidInputError(
            "field ids: expected each id once, from 0 to the highest; make the schema by `schema_of`"
        )


def _check_file(schema: Schema) -> None:
    """Refuse what would be stored and then not be read: impossible types, a comment that is no text."""
    try:
        schema_file.decode(schema_file.encode(schema), name=f"schema-{schema.id}")
    except CorruptFileError as error:
        raise InvalidInputError(f"the schema cannot be stored: {error}") from None
    format = FILE_FORMAT.of(schema.options).lower()
    if format not in _FILE_FORMATS:
        raise InvalidInputError(f"option 'file.format': expected one of {', '.join(_FILE_FORMATS)}, got '{format}'")


def _check_keys(schema: Schema) -> None:
    for names, what in ((schema.primary_key, "primary key"), (schema.partition_by, "partition columns")):
        require_columns(schema, names, what)
        _require_distinct(names, what)
        for field in schema.select(names):
            if isinstance(field.type, _KEYLESS):
                raise InvalidInputError(
                    f"{what}: column '{field.name}' of type {field.type.__class__.__name__.upper()} cannot be a key"
                )
    for field in schema.partition_fields:
        if isinstance(field.type, t.Binary | t.VarBinary) and PARTITION_LEGACY_NAME.of(schema.options):
            raise UnsupportedError(
                f"partition column '{field.name}' of type BINARY: its folders would have no lasting names; "
                "set 'partition.legacy-name' to 'false'"
            )
    if schema.primary_key and not schema.trimmed_primary_key:
        raise InvalidInputError(
            f"primary key {', '.join(schema.primary_key)}: expected a column outside the partition columns, or each "
            "partition would hold one row"
        )
    missing = [name for name in schema.partition_by if name not in schema.primary_key]
    if schema.primary_key and missing and BUCKET.of(schema.options) != -1:
        raise InvalidInputError(
            f"primary key: expected all partition columns, found no '{missing[0]}'; a key that moves between "
            "partitions needs 'bucket' = '-1'"
        )


def _check_buckets(schema: Schema) -> None:
    bucket, names = BUCKET.of(schema.options), BUCKET_KEY.find(schema.options)
    if not schema.primary_key and bucket == -2:
        raise InvalidInputError("option 'bucket' must be -1 or > 0 without a primary key, got '-2'")
    if names is not None and bucket == -1:
        raise InvalidInputError(
            "option 'bucket-key' needs 'bucket' > 0, got '-1'; remove it or give a number of buckets"
        )
    if not schema.primary_key and bucket > 0 and not names:
        raise InvalidInputError(f"option 'bucket' = '{bucket}' without a primary key needs option 'bucket-key'")
    key = names or ()
    require_columns(schema, key, "option 'bucket-key'")
    _require_distinct(key, "option 'bucket-key'")
    for field in schema.select(key):
        if field.name in schema.partition_by:
            raise InvalidInputError(f"option 'bucket-key': '{field.name}' is a partition column")
        if schema.primary_key and field.name not in schema.primary_key:
            raise InvalidInputError(f"option 'bucket-key': '{field.name}' is not part of the primary key")
        if isinstance(field.type, _KEYLESS):
            raise InvalidInputError(f"option 'bucket-key': '{field.name}' of a nested type cannot be hashed")
    _check_bucket_function(schema)


def _check_bucket_function(schema: Schema) -> None:
    if BUCKET_FUNCTION_TYPE.of(schema.options) != "mod":
        return
    fields = schema.select(bucket_key(schema))
    if len(fields) != 1 or not isinstance(fields[0].type, t.Int | t.BigInt):
        raise InvalidInputError("option 'bucket-function.type' = 'mod' needs one bucket key column of INT or BIGINT")


def _check_defaults(schema: Schema) -> None:
    for field in schema.fields:
        if field.default is None:
            continue
        try:
            parse(field.default, field.type)
        except InvalidInputError as error:
            raise InvalidInputError(f"column '{field.name}', default value: {error}") from None


def _check_columns_of_options(schema: Schema) -> None:
    for key, value in schema.options.items():
        column = find_column(key)
        if column is not None:
            require_columns(schema, (column,), f"option '{key}'")
        index = _FILE_INDEX.fullmatch(key)
        if index:
            _check_file_index(schema, key, index[1], value)


def _check_file_index(schema: Schema, key: str, index_type: str, columns: str) -> None:
    if index_type not in _FILE_INDEX_TYPES:
        raise InvalidInputError(f"option '{key}': expected one of {', '.join(_FILE_INDEX_TYPES)}, got '{index_type}'")
    for text in filter(None, map(str.strip, columns.split(","))):
        name, bracket, _ = text.partition("[")
        require_columns(schema, (name,), f"option '{key}'")
        type = schema.column(name).type
        if isinstance(type, _KEYLESS) and not (bracket and isinstance(type, t.Map)):
            raise InvalidInputError(f"option '{key}': column '{name}' of a nested type has no such index")


def _check_row_tracking(schema: Schema) -> None:
    tracked = ROW_TRACKING_ENABLED.of(schema.options)
    if tracked and schema.primary_key:
        raise InvalidInputError("option 'row-tracking.enabled' excludes a primary key")
    if tracked and BUCKET.of(schema.options) != -1:
        raise InvalidInputError("option 'row-tracking.enabled' needs 'bucket' = '-1'")
    if DATA_EVOLUTION_ENABLED.of(schema.options) and not tracked:
        raise InvalidInputError("option 'data-evolution.enabled' needs 'row-tracking.enabled' = 'true'")
    if not schema.primary_key and not DATA_EVOLUTION_ENABLED.of(schema.options):
        blobs = [
            field.name for field in schema.fields if any(isinstance(one, t.Blob) for one in t.types_within(field.type))
        ]
        if blobs:
            raise InvalidInputError(f"column '{blobs[0]}' of type BLOB needs option 'data-evolution.enabled' = 'true'")


def _require_distinct(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidInputError(f"{what}: expected each name once, found '{name}' again")
        seen.add(name)
