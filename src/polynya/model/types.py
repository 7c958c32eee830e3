"""Paimon's data types as values.

A type is a frozen dataclass; nullability belongs to the type, as in Paimon. Constructed types hold their inner types;
a ROW holds fields with ids of their own, an ARRAY, MAP or MULTISET gives its elements none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

MAX_LENGTH = 2**31 - 1  # of CHAR, VARCHAR, BINARY, VARBINARY; VARCHAR of this length is written STRING


@dataclass(frozen=True, slots=True, kw_only=True)
class DataType:
    """The root of all types."""

    nullable: bool = True

    def with_nullable(self, nullable: bool) -> "DataType":
        """The same type, nullable or not."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)


@dataclass(frozen=True, slots=True)
class Boolean(DataType):
    """true or false."""


@dataclass(frozen=True, slots=True)
class TinyInt(DataType):
    """8-bit signed integer."""


@dataclass(frozen=True, slots=True)
class SmallInt(DataType):
    """16-bit signed integer."""


@dataclass(frozen=True, slots=True)
class Int(DataType):
    """32-bit signed integer."""


@dataclass(frozen=True, slots=True)
class BigInt(DataType):
    """64-bit signed integer."""


@dataclass(frozen=True, slots=True)
class Float(DataType):
    """32-bit IEEE number."""


@dataclass(frozen=True, slots=True)
class Double(DataType):
    """64-bit IEEE number."""


@dataclass(frozen=True, slots=True)
class Decimal(DataType):
    """Exact number of `precision` digits, `scale` of them after the point."""

    precision: int = 10
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Char(DataType):
    """Text of a fixed number of characters."""

    length: int = 1


@dataclass(frozen=True, slots=True)
class VarChar(DataType):
    """Text of at most `length` characters; STRING is the longest."""

    length: int = MAX_LENGTH


@dataclass(frozen=True, slots=True)
class Binary(DataType):
    """A fixed number of bytes."""

    length: int = 1


@dataclass(frozen=True, slots=True)
class VarBinary(DataType):
    """At most `length` bytes; BYTES is the longest."""

    length: int = MAX_LENGTH


@dataclass(frozen=True, slots=True)
class Date(DataType):
    """Days since 1970-01-01."""


@dataclass(frozen=True, slots=True)
class Time(DataType):
    """Time of day, stored in milliseconds whatever the precision."""

    precision: int = 0


@dataclass(frozen=True, slots=True)
class TimeMicros(Time):
    """Time of day in microseconds, as Iceberg has it; no type of Paimon."""

    precision: int = 6


@dataclass(frozen=True, slots=True)
class Unknown(DataType):
    """No value but null, as Iceberg has it; no type of Paimon."""


@dataclass(frozen=True, slots=True)
class Timestamp(DataType):
    """Wall clock without a time zone; `precision` digits of a second."""

    precision: int = 6


@dataclass(frozen=True, slots=True)
class LocalTimestamp(DataType):
    """An instant, TIMESTAMP WITH LOCAL TIME ZONE; `precision` digits of a second."""

    precision: int = 6


@dataclass(frozen=True, slots=True)
class Variant(DataType):
    """Semi-structured value."""


@dataclass(frozen=True, slots=True)
class Blob(DataType):
    """Large bytes in files of their own."""


@dataclass(frozen=True, slots=True)
class Geometry(DataType):
    """Planar shape in a coordinate system."""

    crs: str = "OGC:CRS84"


@dataclass(frozen=True, slots=True)
class Geography(DataType):
    """Shape on a spheroid."""

    crs: str = "OGC:CRS84"
    algorithm: str = "spherical"


@dataclass(frozen=True, slots=True)
class Array(DataType):
    """A list of elements of one type."""

    element: DataType


@dataclass(frozen=True, slots=True)
class Vector(DataType):
    """A list of a fixed number of numbers."""

    element: DataType
    length: int


@dataclass(frozen=True, slots=True)
class Multiset(DataType):
    """Elements with how often each occurs."""

    element: DataType


@dataclass(frozen=True, slots=True)
class Map(DataType):
    """Keys to values."""

    key: DataType
    value: DataType


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a member of a ROW."""

    id: int
    name: str
    type: DataType
    description: str | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Row(DataType):
    """Named members."""

    fields: tuple[Field, ...]


def is_nested(type: DataType) -> bool:
    """Whether values of the type hold other values."""
    return isinstance(type, (Array, Vector, Multiset, Map, Row, Variant))


def types_within(type: DataType) -> Iterator[DataType]:
    """The type and every type inside it."""
    yield type
    for part in _parts(type):
        yield from types_within(part)


def fields_within(type: DataType) -> Iterator[Field]:
    """Every ROW member inside the type, in the order in which they are written, members before what they hold."""
    if isinstance(type, Row):
        for field in type.fields:
            yield field
            yield from fields_within(field.type)
    else:
        for part in _parts(type):
            yield from fields_within(part)


def _parts(type: DataType) -> tuple[DataType, ...]:
    match type:
        case Row(fields=fields):
            return tuple(field.type for field in fields)
        case Array(element=inner) | Multiset(element=inner) | Vector(element=inner):
            return (inner,)
        case Map(key=key, value=value):
            return key, value
        case _:
            return ()
