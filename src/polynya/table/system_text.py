"""Values as system tables print them.

| where | form |
|---|---|
| partitions | {a, 2024-01-01, null}: values as SQL casts them to text |
| keys | [1, 19723, 2024-01-01T00:00]: dates are days, times are milliseconds, timestamps are ISO texts in UTC |
| statistics | {a=1, b=null}: values as in keys, by column name |
| durations | PT1H30M |

Bytes are shown as hexadecimal digits. Numbers and texts are printed by Arrow, all else once for each distinct value.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.value_text import Physical, physical, render, render_iso

NULL = "null"
_NANOS = 10**9
_FIRST_MS, _LAST_MS = -62_135_510_400_000, 253_402_214_400_000  # a day within the years 1 and 9999


def partition_texts(rows: pa.Array | pa.ChunkedArray, fields: Sequence[t.Field], zone: tzinfo) -> pa.Array:
    """Partition rows as `{value, ...}`; instants on the wall clock of `zone`."""
    codes = _flat(rows).dictionary_encode()
    return _row_texts(codes.dictionary, fields, lambda column, type: cast_texts(column, type, zone), "{}").take(
        codes.indices
    )


def key_texts(rows: pa.Array | pa.ChunkedArray, fields: Sequence[t.Field]) -> pa.Array:
    """Key rows as `[value, ...]`."""
    return _row_texts(_flat(rows), fields, plain_texts, "[]")


def map_texts(texts: Mapping[str, pa.Array], row_count: int) -> pa.Array:
    """Texts by column name as `{name=text, ...}`, sorted by name; a null is printed as such."""
    parts: list[pa.Array | str] = []
    for name in sorted(texts, key=_utf16):
        parts += [f"{', ' if parts else '{'}{name}=", pc.fill_null(texts[name], NULL)]
    return pc.binary_join_element_wise(*parts, "}", "") if parts else pa.repeat("{}", row_count)


def plain_texts(column: pa.Array, type: t.DataType) -> pa.Array:
    """Every value of a column as it is stored; null stays null."""
    match type:
        case t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt() | t.Boolean() | t.Char() | t.VarChar():
            return column.cast(pa.string())
        case t.Date() | t.Time():
            return column.cast(pa.int32()).cast(pa.string())
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision):
            return _over_distinct(column, lambda value: render_iso(int(value), precision))
        case _:
            return _over_distinct(column, lambda value: _text(value, type, UTC))


def cast_texts(column: pa.Array, type: t.DataType, zone: tzinfo) -> pa.Array:
    """Every value of a column as SQL casts it to text; null stays null."""
    return _over_distinct(column, lambda value: _text(value, type, zone))


def wall_clock(time_ms: int, zone: tzinfo) -> int:
    """Milliseconds since 1970 on the wall clock of the zone, of an instant in milliseconds."""
    if not _FIRST_MS <= time_ms <= _LAST_MS:
        return time_ms  # beyond the calendar no zone has an offset
    moment = datetime.fromtimestamp(time_ms // 1000, UTC).astimezone(zone)
    return time_ms + (moment.utcoffset() or timedelta(0)) // timedelta(milliseconds=1)


def duration_text(nanos: int) -> str:
    """A duration as ISO text: PT876000H, PT1M5.5S."""
    seconds, fraction = divmod(nanos, _NANOS)
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    text = "PT" + (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if rest or fraction or not seconds:
        text += f"{rest}" + (f".{fraction:09}".rstrip("0") if fraction else "") + "S"
    return text


def hash_order(options: Mapping[str, str]) -> dict[str, str]:
    """The same options in the order in which Paimon shows them, that of a hash map of their keys."""
    bins = 16
    while len(options) > bins * 3 // 4:
        bins *= 2
    return {key: options[key] for key in sorted(options, key=lambda key: _spread_hash(key) % bins)}


def _spread_hash(text: str) -> int:
    hash = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        hash = (hash * 31 + unit) % 2**32
    return hash ^ (hash >> 16)


def _row_texts(
    rows: pa.Array, fields: Sequence[t.Field], texts: Callable[[pa.Array, t.DataType], pa.Array], brackets: str
) -> pa.Array:
    if not fields:
        return pa.repeat(brackets, len(rows))
    columns = binary_rows.decode_rows(rows, [to_arrow_type(one.type) for one in fields], name="row of a manifest")
    values = [pc.fill_null(texts(column, one.type), NULL) for column, one in zip(columns, fields, strict=True)]
    return pc.binary_join_element_wise(brackets[0], pc.binary_join_element_wise(*values, ", "), brackets[1], "")


def _text(value: Physical, type: t.DataType, zone: tzinfo) -> str:
    return value.hex() if isinstance(value, bytes) else render(value, type, zone)


def _over_distinct(column: pa.Array, text: Callable[[Physical], str]) -> pa.Array:
    codes = column.dictionary_encode()
    texts = [None if value is None else text(value) for value in physical(codes.dictionary)]
    return pa.array(texts, pa.string()).take(codes.indices)


def _utf16(name: str) -> bytes:
    """The order of names by UTF-16 units, which differs from that of code points beyond the first 65,536."""
    return name.encode("utf-16-be")


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
