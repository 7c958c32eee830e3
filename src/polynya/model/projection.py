"""The columns of a result: which ones, and which members of nested ones.

A column is asked for by its name, a member of a ROW by a path with dots (`address.city`). The ROW stays, with only the
members asked for, in the order that the schema gives them. A path leads through the elements of an ARRAY and the values
of a MAP by the names `element` and `value`; the keys of a MAP always stay whole. A name that is a column as it stands
is that column, whatever dots it holds; elsewhere backquotes keep a dot in a name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.bind import missing, resolve
from polynya.model.comparison import type_text
from polynya.model.predicate import Path, col, column_text

ELEMENT, KEY, VALUE = "element", "key", "value"


def path_of(name: str, fields: Sequence[t.Field]) -> Path:
    """The path that a name stands for."""
    return (name,) if any(field.name == name for field in fields) else col(name).path


def narrow(fields: Sequence[t.Field], paths: Iterable[Path]) -> tuple[t.Field, ...]:
    """The columns that the paths lead to, in the order in which the paths first name them.

    InvalidInputError suggests a name like one that does not exist.
    """
    return tuple(_narrow_field(fields, name, rests, ()) for name, rests in _by_first(paths).items())


def leaf_of(path: Path, fields: Sequence[t.Field]) -> Path:
    """The path itself, or inside the ROW that it leads to one that tells as well where the ROW is null."""
    type = resolve(path, fields).type
    while isinstance(type, t.Row) and type.fields:
        path, type = (*path, type.fields[0].name), type.fields[0].type
    return path


def _narrow_field(fields: Sequence[t.Field], name: str, rests: list[Path], parent: Path) -> t.Field:
    path = (*parent, name)
    found = next((field for field in fields if field.name == name), None)
    if found is None:
        raise InvalidInputError(missing(path, fields))
    return replace(found, type=_narrow_type(found.type, rests, path))


def _narrow_type(type: t.DataType, paths: list[Path], parent: Path) -> t.DataType:
    """The type with only what the paths, which begin inside of it, lead to; the empty path leads to all of it."""
    inner = _by_first(path for path in paths if path)
    match type:
        case t.Row(fields=fields):
            kept = {name: _narrow_field(fields, name, rests, parent) for name, rests in inner.items()}
            return type if () in paths else replace(type, fields=tuple(kept[f.name] for f in fields if f.name in kept))
        case t.Array(element=element) if inner.keys() <= {ELEMENT}:
            kept_element = _narrow_type(element, inner.get(ELEMENT, [()]), (*parent, ELEMENT))
            return type if () in paths else replace(type, element=kept_element)
        case t.Map(value=value) if inner.keys() <= {VALUE}:
            kept_value = _narrow_type(value, inner.get(VALUE, [()]), (*parent, VALUE))
            return type if () in paths else replace(type, value=kept_value)
    if inner:
        _refuse(type, next(iter(inner)), parent)
    return type


def _refuse(type: t.DataType, name: str, parent: Path) -> None:
    inside = column_text((*parent, name))
    match type:
        case t.Map() if name == KEY:
            raise UnsupportedError(f"column '{inside}': the keys of a MAP are read with its values; ask for '{VALUE}'")
        case t.Array() | t.Map():
            step = ELEMENT if isinstance(type, t.Array) else VALUE
            hint = f"its members are named '{column_text((*parent, step))}.<name>'"
        case _:
            hint = "not a ROW"
    raise InvalidInputError(f"column '{inside}' does not exist; '{column_text(parent)}' is {type_text(type)}, {hint}")


def _by_first(paths: Iterable[Path]) -> dict[str, list[Path]]:
    grouped: dict[str, list[Path]] = {}
    for path in paths:
        grouped.setdefault(path[0], []).append(path[1:])
    return grouped
