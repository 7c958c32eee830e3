"""The aggregate functions by name: their options and the types they take. `arrow/merge` computes them."""

from collections.abc import Mapping
from dataclasses import dataclass

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.option_kinds import parse_names

KEY = "primary-key"  # no function of its own: the columns of the key, equal in every record
LAST_VALUE = "last_value"
LAST_NON_NULL_VALUE = "last_non_null_value"
FIRST_VALUE = "first_value"
FIRST_NON_NULL_VALUE = "first_non_null_value"
NESTED = ("nested_update", "nested_partial_update")
NO_LIMIT = 2**31 - 1

_ALIASES = {"first_not_null_value": FIRST_NON_NULL_VALUE}
_NUMBER = (t.TinyInt, t.SmallInt, t.Int, t.BigInt, t.Float, t.Double, t.Decimal)
_ANY = (t.DataType,)
_TYPES: dict[str, tuple[type[t.DataType], ...]] = {
    "sum": _NUMBER,
    "product": _NUMBER,
    "max": _ANY,
    "min": _ANY,
    LAST_VALUE: _ANY,
    LAST_NON_NULL_VALUE: _ANY,
    FIRST_VALUE: _ANY,
    FIRST_NON_NULL_VALUE: _ANY,
    "bool_and": (t.Boolean,),
    "bool_or": (t.Boolean,),
    "listagg": (t.VarChar,),
    "collect": (t.Array,),
    "merge_map": (t.Map,),
    "merge_map_with_keytime": (t.Map,),
    "nested_update": (t.Array,),
    "nested_partial_update": (t.Array,),
    "rbm32": (t.VarBinary,),
}
_EXPECTED = {
    **{name: " or ".join(type.__name__.upper() for type in types) for name, types in _TYPES.items()},
    **dict.fromkeys(("max", "min"), "a type without members"),
    **dict.fromkeys(NESTED, "ARRAY of ROW"),
    "merge_map_with_keytime": "MAP of ROW with a value and its time",
}
_NO_LIBRARY = ("hll_sketch", "theta_sketch", "rbm64")  # no sound library reads and writes the bytes of these


@dataclass(frozen=True)
class Function:
    """An aggregate function of one column, with its options."""

    name: str
    ignore_retract: bool = False
    distinct: bool = False  # listagg, collect
    delimiter: str = ","  # listagg
    nested_key: tuple[str, ...] = ()  # nested_update, nested_partial_update
    nested_sequence: tuple[str, ...] = ()  # nested_update
    null_key: str = "merge"  # merge, ignore or error
    count_limit: int = NO_LIMIT  # nested_update
    time_field: str | None = None  # merge_map_with_keytime; None is the last member


def read_function(options: Mapping[str, str], column: str, name: str) -> Function:
    """The function `name` with the options set for the column."""

    def option(key: str, default: str) -> str:
        return options.get(f"fields.{column}.{key}", default)

    limit = option("count-limit", str(NO_LIMIT))
    if not limit.isdecimal():
        raise InvalidInputError(f"option 'fields.{column}.count-limit' must be a count, got '{limit}'")
    return Function(
        name=_ALIASES.get(name, name),
        ignore_retract=option("ignore-retract", "false").lower() == "true",
        distinct=option("distinct", "false").lower() == "true",
        delimiter=option("list-agg-delimiter", ","),
        nested_key=parse_names(option("nested-key", "")),
        nested_sequence=parse_names(option("nested-sequence-field", "")),
        null_key=option("nested-key-null-strategy", "merge").lower(),
        count_limit=int(limit),
        time_field=options.get(f"fields.{column}.ts-field"),
    )


def check_function(function: Function, column: str, type: t.DataType) -> None:
    """Raise when the function is unknown, not done here, or not for this type."""
    if function.name in _NO_LIBRARY:
        raise UnsupportedError(f"column '{column}': aggregate function '{function.name}' is not supported")
    allowed = _TYPES.get(function.name)
    if allowed is None:
        raise InvalidInputError(
            f"column '{column}': unknown aggregate function '{function.name}'; there are {', '.join(_TYPES)}"
        )
    if not isinstance(type, allowed):
        raise _wrong_type(function, column, type)
    if function.name in ("max", "min") and t.is_nested(type):
        raise _wrong_type(function, column, type)
    if function.name in NESTED:
        _check_nested(function, column, type)
    if function.name == "merge_map_with_keytime":
        _check_key_time(function, column, type)


def _check_nested(function: Function, column: str, type: t.DataType) -> None:
    if not (isinstance(type, t.Array) and isinstance(type.element, t.Row)):
        raise _wrong_type(function, column, type)
    members = {member.name for member in type.element.fields}
    unknown = set(function.nested_key + function.nested_sequence) - members
    if unknown:
        raise InvalidInputError(f"column '{column}': nested key member '{min(unknown)}' does not exist in {members}")
    if not function.nested_key and (function.name == "nested_partial_update" or function.nested_sequence):
        raise InvalidInputError(f"column '{column}': set 'fields.{column}.nested-key'")
    if function.null_key not in ("merge", "ignore", "error"):
        raise InvalidInputError(
            f"option 'fields.{column}.nested-key-null-strategy' must be merge, ignore or error, "
            f"got '{function.null_key}'"
        )


def _check_key_time(function: Function, column: str, type: t.DataType) -> None:
    if not (isinstance(type, t.Map) and isinstance(type.value, t.Row) and len(type.value.fields) > 1):
        raise _wrong_type(function, column, type)
    members = [member.name for member in type.value.fields]
    name = function.time_field or members[-1]
    if name not in members:
        raise InvalidInputError(f"column '{column}': time member '{name}' does not exist; there are {members}")
    member = type.value.fields[members.index(name)].type
    if not isinstance(member, (t.VarChar, t.Char)):
        raise InvalidInputError(f"column '{column}': time member '{name}' must be STRING, found {member}")


def _wrong_type(function: Function, column: str, type: t.DataType) -> InvalidInputError:
    return InvalidInputError(
        f"column '{column}': aggregate function '{function.name}' takes {_EXPECTED[function.name]}, "
        f"found {type.__class__.__name__.upper()}"
    )
