"""Conditions on the rows of a table: a small closed tree.

    Predicate = And(predicates) | Or(predicates) | Not(predicate)
              | Compare(op, column, value) | In(column, values) | Like(column, pattern, escape)
              | IsNull(column) | IsNotNull(column) | AlwaysTrue | AlwaysFalse

A column is a path of names, longer than one for a member of a ROW. A tree as written by people holds Python values;
`bind` types it against a schema. Truth is SQL's: true, false or unknown, and a row is kept where it is true.
NaN equals NaN and is greater than every other number; -0.0 equals 0.0. `str` gives SQL that `parse` reads back.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn, TypeAlias

from polynya.errors import InvalidInputError
from polynya.model.literals import Value, render, render_text

Path: TypeAlias = tuple[str, ...]


class Op(Enum):
    """How a column is compared with a value."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def negated(self) -> "Op":
        """The comparison that is true exactly where this one is false."""
        return _NEGATED[self]

    @property
    def flipped(self) -> "Op":
        """The same comparison with its sides exchanged."""
        return _FLIPPED.get(self, self)


_NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
_FLIPPED = {Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE}


class Predicate:
    """The root of all conditions; combine them with `&`, `|` and `~`."""

    __slots__ = ()

    def __and__(self, other: "Predicate") -> "Predicate":
        return all_of(self, other)

    def __or__(self, other: "Predicate") -> "Predicate":
        return any_of(self, other)

    def __invert__(self) -> "Predicate":
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise InvalidInputError("a predicate has no truth value of its own; combine predicates with & | ~")


@dataclass(frozen=True, slots=True)
class AlwaysTrue(Predicate):
    """True for every row."""

    def __str__(self) -> str:
        return "TRUE"


@dataclass(frozen=True, slots=True)
class AlwaysFalse(Predicate):
    """True for no row."""

    def __str__(self) -> str:
        return "FALSE"


TRUE = AlwaysTrue()
FALSE = AlwaysFalse()


@dataclass(frozen=True, slots=True)
class And(Predicate):
    """All of the predicates; make it with `all_of`."""

    predicates: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " AND ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.predicates)


@dataclass(frozen=True, slots=True)
class Or(Predicate):
    """Any of the predicates; make it with `any_of`."""

    predicates: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " OR ".join(f"({part})" if isinstance(part, And) else str(part) for part in self.predicates)


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    """True where the predicate is false; unknown stays unknown."""

    predicate: Predicate

    def __str__(self) -> str:
        match self.predicate:
            case In() | Like() as leaf:
                return leaf.text("NOT ")
            case _:
                return f"NOT ({self.predicate})"


@dataclass(frozen=True, slots=True)
class Compare(Predicate):
    """A column compared with a value; unknown where either is null."""

    op: Op
    column: Path
    value: Value

    def __str__(self) -> str:
        return f"{column_text(self.column)} {self.op.value} {render(self.value)}"


@dataclass(frozen=True, slots=True)
class In(Predicate):
    """A column equal to one of the values."""

    column: Path
    values: tuple[Value, ...]

    def text(self, negation: str = "") -> str:
        """The SQL text, with the negation in its place."""
        return f"{column_text(self.column)} {negation}IN ({', '.join(map(render, self.values))})"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True)
class Like(Predicate):
    """A text that matches a pattern: `%` stands for any text, `_` for one character, `escape` takes their meaning."""

    column: Path
    pattern: str
    escape: str = "\\"

    def text(self, negation: str = "") -> str:
        """The SQL text, with the negation in its place."""
        tail = "" if self.escape == "\\" else f" ESCAPE {render_text(self.escape)}"
        return f"{column_text(self.column)} {negation}LIKE {render_text(self.pattern)}{tail}"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True)
class IsNull(Predicate):
    """The column is null."""

    column: Path

    def __str__(self) -> str:
        return f"{column_text(self.column)} IS NULL"


@dataclass(frozen=True, slots=True)
class IsNotNull(Predicate):
    """The column is not null."""

    column: Path

    def __str__(self) -> str:
        return f"{column_text(self.column)} IS NOT NULL"


def all_of(*predicates: Predicate) -> Predicate:
    """The conjunction, flat and without what does not matter."""
    parts = _flat(predicates, And)
    if any(isinstance(part, AlwaysFalse) for part in parts):
        return FALSE
    kept = tuple(part for part in parts if not isinstance(part, AlwaysTrue))
    return kept[0] if len(kept) == 1 else And(kept) if kept else TRUE


def any_of(*predicates: Predicate) -> Predicate:
    """The disjunction, flat and without what does not matter."""
    parts = _flat(predicates, Or)
    if any(isinstance(part, AlwaysTrue) for part in parts):
        return TRUE
    kept = tuple(part for part in parts if not isinstance(part, AlwaysFalse))
    return kept[0] if len(kept) == 1 else Or(kept) if kept else FALSE


def _flat(predicates: Iterable[Predicate], kind: type[And] | type[Or]) -> list[Predicate]:
    return [inner for part in predicates for inner in (part.predicates if isinstance(part, kind) else (part,))]


class Column:
    """A column on the way to a predicate: `col("amount") > 10`."""

    __slots__ = ("path",)
    __hash__ = None  # type: ignore[assignment]  # == builds a predicate, so a column cannot be a key

    def __init__(self, path: Path) -> None:
        self.path = path

    def __eq__(self, value: Value) -> Predicate:  # type: ignore[override]  # the builder's meaning of ==
        return Compare(Op.EQ, self.path, value)

    def __ne__(self, value: Value) -> Predicate:  # type: ignore[override]  # the builder's meaning of !=
        return Compare(Op.NE, self.path, value)

    def __lt__(self, value: Value) -> Predicate:
        return Compare(Op.LT, self.path, value)

    def __le__(self, value: Value) -> Predicate:
        return Compare(Op.LE, self.path, value)

    def __gt__(self, value: Value) -> Predicate:
        return Compare(Op.GT, self.path, value)

    def __ge__(self, value: Value) -> Predicate:
        return Compare(Op.GE, self.path, value)

    def is_in(self, values: Iterable[Value]) -> Predicate:
        """Equal to one of the values."""
        return In(self.path, tuple(values))

    def between(self, low: Value, high: Value) -> Predicate:
        """From low to high, both included."""
        return all_of(self >= low, self <= high)

    def is_null(self) -> Predicate:
        """Null."""
        return IsNull(self.path)

    def is_not_null(self) -> Predicate:
        """Not null."""
        return IsNotNull(self.path)

    def like(self, pattern: str, escape: str = "\\") -> Predicate:
        """Matches the pattern of `%` and `_`."""
        return Like(self.path, pattern, escape)

    def starts_with(self, prefix: str) -> Predicate:
        """Begins with the text."""
        return Like(self.path, re.sub(r"([%_\\])", r"\\\1", prefix) + "%")


_PATH = re.compile(r"(`(?:[^`]|``)+`|[^.`]+)(?:\.(?=.)|$)", re.DOTALL)


def col(name: str) -> Column:
    """The column of that name; dots lead into ROWs, and backquotes keep a dot in a name."""
    names, position = [], 0
    while position < len(name):
        part = _PATH.match(name, position)
        if part is None:
            break
        names.append(_unquoted(part[1]))
        position = part.end()
    if not names or position < len(name):
        raise InvalidInputError(f"column name {name!r}: expected names joined by dots")
    return Column(tuple(names))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_RESERVED = re.compile(
    r"alter|and|any|as|between|call|case|connect_by_root|create|cross|current_date|current_timestamp|"
    r"current_user|distinct|drop|else|except|execute|explain|false|fetch|for|from|glob|grant|having|if|ilike|"
    r"inner|insert|intersect|into|join|lateral|like|minus|not|notnull|null|on|optimize|or|outer|partitioned_by|"
    r"prepare|qualify|regexp|rename|returning|revoke|rlike|rollback|select|serdeproperties|session_user|show|"
    r"tablesample|then|true|uncache|union|using|vacuum|values|when|where|with|xor",
    re.IGNORECASE,
)


def column_text(path: Path) -> str:
    """The column as SQL names it, with backquotes where they are needed."""
    return ".".join(
        name if _PLAIN_NAME.fullmatch(name) and not _RESERVED.fullmatch(name) else f"`{name.replace('`', '``')}`"
        for name in path
    )
