"""Partitions by name: the folders they have, and the values people ask for.

A partition's path is `<key>=<value>/` for each partition column in order, both sides escaped. A path is for people and
for finding files; it never tells the values: null, the empty text and blanks share one name, `partition.default-name`.

| type | value text with `partition.legacy-name` (the default) | without |
|---|---|---|
| BOOLEAN, integers, FLOAT, DOUBLE, DECIMAL, texts | true, -3, 1.0E10, 1.50, as it is | the same |
| DATE | days since 1970 | 2024-01-01 |
| TIME | milliseconds | 01:02:03.4 |
| TIMESTAMP | 2024-01-01T00:00, seconds and fraction only as needed | 2024-01-01 00:00:00.000000 |
| TIMESTAMP_LTZ | the same in UTC | the same in the zone of the writer |
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.literals import Value
from polynya.model.value_text import Physical, parse, physical, render, render_iso

SpecValue: TypeAlias = Value

_ESCAPED = frozenset(map(chr, range(0x20))) | frozenset("\x7f\"#%'*/:=?\\{}[]^")
_ESCAPES = {ord(mark): f"%{ord(mark):02X}" for mark in _ESCAPED}
_HEX = re.compile(r"%([0-9a-fA-F]{2})")
_NATIVE: dict[type[t.DataType], tuple[type, ...]] = {
    t.Boolean: (bool,),
    t.TinyInt: (int,),
    t.SmallInt: (int,),
    t.Int: (int,),
    t.BigInt: (int,),
    t.Float: (int, float),
    t.Double: (int, float),
    t.Decimal: (int, Decimal),
    t.Char: (str,),
    t.VarChar: (str,),
    t.Binary: (bytes,),
    t.VarBinary: (bytes,),
    t.Date: (date, int),
    t.Time: (time,),
    t.Timestamp: (datetime,),
    t.LocalTimestamp: (datetime,),
}
_NOT_BLANK = frozenset("\x85\xa0\u2007\u202f")  # Python calls these blank, Paimon does not


@dataclass(frozen=True)
class PartitionNames:
    """How a table names its partitions; `zone` is where instants are shown and read."""

    default_name: str = "__DEFAULT_PARTITION__"
    legacy: bool = True
    zone: tzinfo = UTC


def escape(text: str) -> str:
    """The text with every character that a path cannot hold as `%XX`."""
    return text.translate(_ESCAPES)


def unescape(text: str) -> str:
    """The text with every `%XX` as its character."""
    return _HEX.sub(lambda found: chr(int(found[1], 16)), text)


def value_text(value: Physical | None, type: t.DataType, names: PartitionNames) -> str:
    """The text of one physical value, not escaped."""
    if value is None:
        return names.default_name
    text = _legacy_text(value, type) if names.legacy else render(value, type, names.zone)
    return names.default_name if _is_blank(text) else text


def value_texts(column: pa.Array, type: t.DataType, names: PartitionNames) -> pa.Array:
    """The text of every value of a column, not escaped; the cost is that of the distinct values."""
    return _over_distinct(column, type, names, escaped=False)


def path(values: Sequence[Physical | None], fields: Sequence[t.Field], names: PartitionNames) -> str:
    """The path of one partition with a slash at its end; empty without partition columns."""
    parts = (
        f"{escape(field.name)}={escape(value_text(value, field.type, names))}/"
        for field, value in zip(fields, values, strict=True)
    )
    return "".join(parts)


def paths(columns: Sequence[pa.Array], fields: Sequence[t.Field], names: PartitionNames) -> pa.Array:
    """The path of each row of partition columns, of which there is at least one."""
    parts = []
    for column, field in zip(columns, fields, strict=True):
        parts += [f"{escape(field.name)}=", _over_distinct(column, field.type, names, escaped=True), "/"]
    return pc.binary_join_element_wise(*parts, "")


def split_path(path: str) -> dict[str, str]:
    """The names and value texts of a path, not escaped; InvalidInputError when it is not one."""
    found = {}
    for part in path.strip("/").split("/") if path.strip("/") else ():
        key, separator, value = part.partition("=")
        if not separator or not key:
            raise InvalidInputError(f"partition '{path}': expected <column>=<value> between slashes, found '{part}'")
        found[unescape(key)] = unescape(value)
    return found


def parse_spec(
    spec: Mapping[str, SpecValue], fields: Sequence[t.Field], names: PartitionNames, *, partial: bool = False
) -> dict[str, pa.Scalar]:
    """The typed values of a partition that a person named by native values or by text, in the order of the columns.

    The default name stands for null. With `partial` some of the columns may be missing.
    """
    known = [field.name for field in fields]
    unknown = [name for name in spec if name not in known]
    missing = [name for name in known if name not in spec]
    if unknown or (missing and not partial):
        raise InvalidInputError(
            f"partition {dict(spec)}: expected a value for each of {', '.join(known) or 'no column'}, "
            f"found {', '.join(map(str, spec)) or 'none'}"
        )
    return {field.name: _typed(spec[field.name], field, names) for field in fields if field.name in spec}


def _typed(value: SpecValue, field: t.Field, names: PartitionNames) -> pa.Scalar:
    arrow = to_arrow_type(field.type)
    if value is None or (isinstance(value, str) and value == names.default_name):
        return pa.scalar(None, arrow)
    try:
        if isinstance(value, str):
            return parse(value, field.type, names.zone)
        if isinstance(value, pa.Scalar):
            return value.cast(arrow)
        if isinstance(value, _NATIVE[type(field.type)]) and not _is_misfit(value, field.type):
            return pa.scalar(_native(value, field.type, names.zone), arrow)
    except (InvalidInputError, pa.ArrowException, OverflowError, ValueError) as error:
        raise InvalidInputError(f"partition column '{field.name}', value {value!r}: {error}") from None
    raise InvalidInputError(
        f"partition column '{field.name}': expected a value of {field.type.__class__.__name__.upper()} or its text, "
        f"found {value!r}"
    )


def _is_misfit(value: SpecValue, type: t.DataType) -> bool:
    """Whether Python's classes are kinder than they should be: True is an int, a datetime is a date."""
    if isinstance(value, bool):
        return not isinstance(type, t.Boolean)
    return isinstance(value, datetime) and isinstance(type, t.Date)


def _native(value: SpecValue, type: t.DataType, zone: tzinfo) -> SpecValue:
    if isinstance(type, t.Decimal) and isinstance(value, int):
        return Decimal(value)
    if isinstance(type, t.LocalTimestamp) and isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=zone)
    if isinstance(type, t.Timestamp) and isinstance(value, datetime) and value.tzinfo is not None:
        raise ValueError("expected a time without a zone")
    return value


def _legacy_text(value: Physical, type: t.DataType) -> str:
    match type, value:
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision), int():
            return render_iso(value, precision)
        case t.Date() | t.Time(), _:
            return str(value)
        case t.Binary() | t.VarBinary(), _:
            raise UnsupportedError(
                "partition column of BINARY: its folders have no lasting names; set 'partition.legacy-name' to false"
            )
        case _:
            return render(value, type)


def _is_blank(text: str) -> bool:
    return all(mark.isspace() and mark not in _NOT_BLANK for mark in text)


def _over_distinct(column: pa.Array, type: t.DataType, names: PartitionNames, *, escaped: bool) -> pa.Array:
    encoded = column.dictionary_encode(null_encoding="encode")
    texts = [value_text(value, type, names) for value in physical(encoded.dictionary)]
    return pa.array(map(escape, texts) if escaped else texts, pa.string()).take(encoded.indices)
