"""Every option of a table by key, and whether a table with these options may be read or written here.

The options stand in `options_data`, `options_keys`, `options_scan` (read with `BUCKET.of(options)` and the like) and in
`options_idle`; families of keys, such as those that name a column, stand below. A value that would change rows and is
not honoured raises UnsupportedError; a default is always fine.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from polynya.errors import UnsupportedError
from polynya.model import options_data, options_idle, options_keys, options_scan
from polynya.model import types as t
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.option_kinds import (
    CATALOG,
    COMPANION,
    ENGINE,
    FLINK,
    HONOURED,
    IRRELEVANT,
    REFUSED_ON_READ,
    REFUSED_ON_WRITE,
    Kind,
    Option,
    Support,
    boolean,
    choice,
    duration,
    integer,
    levels,
    long,
    names,
    parse_size,
    real,
    size,
    text,
)
from polynya.model.schema import Schema

AnyOption: TypeAlias = Option[object]

_PK_TARGET_FILE_SIZE = parse_size("128 mb")
_APPEND_TARGET_FILE_SIZE = parse_size("256 mb")
_NOT_PASSED_ON = "the writer is not told"

FAMILIES: tuple[AnyOption, ...] = (
    text("fields.<column>.aggregate-function", None, HONOURED, "how values of the column are combined"),
    boolean("fields.<column>.ignore-retract", False, HONOURED, "the column ignores -U and -D"),
    boolean("fields.<column>.distinct", False, HONOURED, "collect and listagg keep each value once"),
    text("fields.<column>.list-agg-delimiter", ",", HONOURED, "what listagg puts between values"),
    names("fields.<column>.nested-key", None, HONOURED, "key of the rows inside the column"),
    names("fields.<column>.nested-sequence-field", None, HONOURED, "order of the rows inside the column"),
    choice("fields.<column>.nested-key-null-strategy", None, "merge ignore error", HONOURED, "nulls in that key"),
    integer("fields.<column>.count-limit", None, HONOURED, "most rows inside the column"),
    text("fields.<column>.ts-field", None, HONOURED, "member that holds the time of a map entry"),
    names("fields.<columns>.sequence-group", None, HONOURED, "columns that are ordered by these"),
    text("fields.<column>.stats-mode", None, HONOURED, "statistics of the column"),
    choice(
        "fields.<column>.map.storage-layout",
        "default",
        "default shared-shredding",
        REFUSED_ON_WRITE,
        "how a map is stored",
        "maps are written as maps",
    ),
    text("fields.<column>.map.<setting>", None, IRRELEVANT, "settings of that storage", COMPANION),
    integer("field.<column>.vector-dim", None, IRRELEVANT, "length of a vector", "the type says it"),
    text("file-index.<type>.columns", None, HONOURED, "columns that have an index"),
    text("file-index.<type>.<column>.<setting>", None, HONOURED, "a setting of one index"),
    boolean("parquet.enable.dictionary#<column>", True, HONOURED, "dictionaries of the column"),
    boolean("parquet.bloom.filter.enabled#<column>", False, HONOURED, "a bloom filter of the column"),
    real("parquet.bloom.filter.fpp#<column>", 0.01, HONOURED, "its share of false answers"),
    long("parquet.bloom.filter.expected.ndv#<column>", 1048576, HONOURED, "its distinct values"),
    text("parquet.<setting>", None, REFUSED_ON_WRITE, "another setting of the Parquet writer", _NOT_PASSED_ON),
    text("orc.<setting>", None, REFUSED_ON_WRITE, "another setting of the ORC writer", _NOT_PASSED_ON),
    text("avro.<setting>", None, REFUSED_ON_WRITE, "another setting of the Avro writer", _NOT_PASSED_ON),
    text("csv.<setting>", None, IRRELEVANT, "a setting of csv files", COMPANION),
    text("json.<setting>", None, IRRELEVANT, "a setting of json files", COMPANION),
    text("text.<setting>", None, IRRELEVANT, "a setting of text files", COMPANION),
    text("metadata.iceberg.rest.<setting>", None, IRRELEVANT, "a setting of an Iceberg REST catalog", CATALOG),
    text("metadata.iceberg.table-properties.<setting>", None, HONOURED, "a property of the Iceberg table"),
    text("commit.callback.<class>.param", None, IRRELEVANT, "parameter of a callback", COMPANION),
    text("tag.callback.<class>.param", None, IRRELEVANT, "parameter of a callback", COMPANION),
    text("write.data-evolution.<setting>", None, IRRELEVANT, "a setting of Paimon's Spark connector", ENGINE),
    text("lookup.<setting>", None, IRRELEVANT, "a setting of lookup joins", FLINK),
    text("owner", None, IRRELEVANT, "who made the table", ENGINE),
)


def _idle_options() -> Iterator[AnyOption]:
    for reason, table in options_idle.TABLES.items():
        for line in table.strip().splitlines():
            keys, kind, default, meaning = (part.strip() for part in line.split("|"))
            yield _idle_option(keys.split(" < "), kind.split(), default, meaning, reason)


def _idle_option(keys: list[str], kind: list[str], default: str, meaning: str, reason: str) -> AnyOption:
    key, fallbacks, value = keys[0], tuple(keys[1:]), default or None
    match Kind(kind[0]):
        case Kind.INTEGER:
            return integer(key, value and int(value), IRRELEVANT, meaning, reason, fallbacks=fallbacks)
        case Kind.LONG:
            return long(key, value and int(value), IRRELEVANT, meaning, reason, fallbacks=fallbacks)
        case Kind.REAL:
            return real(key, value and float(value), IRRELEVANT, meaning, reason)
        case Kind.BOOLEAN:
            return boolean(key, value and value == "true", IRRELEVANT, meaning, reason, fallbacks=fallbacks)
        case Kind.DURATION:
            return duration(key, value, IRRELEVANT, meaning, reason)
        case Kind.SIZE:
            return size(key, value, IRRELEVANT, meaning, reason)
        case Kind.CHOICE:
            return choice(key, value, " ".join(kind[1:]), IRRELEVANT, meaning, reason, fallbacks=fallbacks)
        case Kind.TEXT:
            return text(key, value, IRRELEVANT, meaning, reason, fallbacks=fallbacks)
        case Kind.NAMES:
            return names(key, value, IRRELEVANT, meaning, reason, fallbacks=fallbacks)
        case Kind.LEVELS:
            return levels(key, IRRELEVANT, meaning, reason)


def _listed(module: object) -> list[AnyOption]:
    return [value for value in vars(module).values() if isinstance(value, Option)]


OPTIONS: Mapping[str, AnyOption] = {
    option.key: option
    for option in (
        *_listed(options_data),
        *_listed(options_keys),
        *_listed(options_scan),
        *_idle_options(),
    )
}
_BY_ANY_KEY = {key: option for option in OPTIONS.values() for key in (option.key, *option.fallbacks)} | dict(OPTIONS)
_FAMILY_SHAPES = [(re.compile(re.sub(r"<\w+>", "(.+)", re.escape(family.key))), family) for family in FAMILIES]


def find_option(key: str) -> AnyOption | None:
    """The option or the family of options that the key belongs to, or None."""
    known = _BY_ANY_KEY.get(key)
    return known or next((family for shape, family in _FAMILY_SHAPES if shape.fullmatch(key)), None)


def find_column(key: str) -> str | None:
    """The column that a key such as `fields.<column>.aggregate-function` names, or None."""
    matches = (shape.fullmatch(key) for shape, family in _FAMILY_SHAPES if family.key.startswith("fields.<column>"))
    return next((match[1] for match in matches if match), None)


def closest_key(key: str) -> str | None:
    """The known key that looks most like this one, for a hint."""
    return next(iter(difflib.get_close_matches(key, _BY_ANY_KEY, n=1)), None)


def require_readable(options: Mapping[str, str]) -> None:
    """Raise UnsupportedError when an option asks for rows that would not be read as asked."""
    _refuse(options, (REFUSED_ON_READ,), "read")


def require_writable(schema: Schema) -> None:
    """Raise UnsupportedError when the table asks for something that would not be written as asked."""
    _refuse(schema.options, (REFUSED_ON_READ, REFUSED_ON_WRITE), "write")
    mode = bucket_mode(schema)
    if mode not in (BucketMode.HASH_FIXED, BucketMode.UNAWARE):
        bucket = options_data.BUCKET.of(schema.options)
        raise UnsupportedError(
            f"option 'bucket' = '{bucket}' on a table with a primary key ({mode}): polynya writes a fixed number of "
            "buckets; create the table with 'bucket' > 0"
        )
    if schema.primary_key and options_keys.DELETION_VECTORS_ENABLED.of(schema.options):
        raise UnsupportedError(
            "option 'deletion-vectors.enabled' = 'true' on a table with a primary key: polynya reads such tables and "
            "writes deletion vectors of append tables only"
        )
    for field in schema.fields:
        if isinstance(field.type, t.Blob):
            raise UnsupportedError(f"column '{field.name}' of type BLOB: polynya does not write such columns")


def target_file_size(schema: Schema) -> int:
    """The size in bytes at which a new data file starts."""
    set_size = options_data.TARGET_FILE_SIZE.find(schema.options)
    return set_size or (_PK_TARGET_FILE_SIZE if schema.primary_key else _APPEND_TARGET_FILE_SIZE)


def level_count(options: Mapping[str, str]) -> int:
    """The number of levels: the option, else one more than the runs that start a compaction."""
    trigger = options_keys.NUM_SORTED_RUN_COMPACTION_TRIGGER.of(options)
    return options_keys.NUM_LEVELS.find(options) or trigger + 1


def _refuse(options: Mapping[str, str], refused: tuple[Support, ...], verb: str) -> None:
    for key, value in options.items():
        option = find_option(key)
        if option is not None and option.support in refused and option.is_refused(value):
            raise UnsupportedError(f"option '{key}' = '{value}': polynya does not {verb} such tables: {option.reason}")
