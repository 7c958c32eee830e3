"""The text of types: what schema files hold, and what people type.

| type | in a schema file | as SQL |
|---|---|---|
| atomic | "DECIMAL(10, 2)", "STRING NOT NULL" | the same |
| ARRAY, MULTISET | {"type": "ARRAY", "element": T} | ARRAY<T> |
| MAP | {"type": "MAP NOT NULL", "key": K, "value": V} | MAP<K, V> NOT NULL |
| VECTOR | {"type": "VECTOR", "element": T, "length": n} | VECTOR<T, n> |
| ROW | {"type": "ROW", "fields": [{"id", "name", "type", "description"?, "defaultValue"?}]} | ROW<`a` T, ...> |

Keywords are read in any case. Members of a ROW in SQL have no ids; they get -1, which `assign_ids` replaces.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from polynya.codec.json_text import INT_MAX, Json, JsonObject, corrupt
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t

MAX_DEPTH = 100

_TOKEN = re.compile(r"\s*(?:(\w+)|`((?:[^`]|``)+)`|'((?:[^']|'')*)'|(.))", re.DOTALL)
_BARE_CRS = re.compile(r"[A-Za-z_][\w:.-]*")
_ALGORITHMS = ("spherical", "vincenty", "thomas", "andoyer", "karney")
_VECTOR_ELEMENTS = (t.Boolean, t.TinyInt, t.SmallInt, t.Int, t.BigInt, t.Float, t.Double)

_WORDS: dict[str, t.DataType] = {
    "BOOLEAN": t.Boolean(),
    "TINYINT": t.TinyInt(),
    "SMALLINT": t.SmallInt(),
    "INT": t.Int(),
    "INTEGER": t.Int(),
    "BIGINT": t.BigInt(),
    "FLOAT": t.Float(),
    "STRING": t.VarChar(),
    "BYTES": t.VarBinary(),
    "DATE": t.Date(),
    "VARIANT": t.Variant(),
    "BLOB": t.Blob(),
}
_NAMES: dict[type[t.DataType], str] = {
    type(value): word for word, value in _WORDS.items() if word not in ("INTEGER", "STRING", "BYTES")
} | {t.Double: "DOUBLE"}


def parse(value: Json, *, name: str) -> t.DataType:
    """The type that the file `name` holds as text or as an object."""
    return _parse_json(value, name, 0)


def parse_sql(text: str) -> t.DataType:
    """The type that a person typed, `ARRAY<INT NOT NULL>` or the like; InvalidInputError when it is none."""
    return _Parser(text).whole()


def render(type: t.DataType) -> str | dict[str, Json]:
    """The type as schema files hold it."""
    suffix = "" if type.nullable else " NOT NULL"
    match type:
        case t.Array(element=element):
            return {"type": "ARRAY" + suffix, "element": render(element)}
        case t.Multiset(element=element):
            return {"type": "MULTISET" + suffix, "element": render(element)}
        case t.Vector(element=element, length=length):
            return {"type": "VECTOR" + suffix, "element": render(element), "length": length}
        case t.Map(key=key, value=value):
            return {"type": "MAP" + suffix, "key": render(key), "value": render(value)}
        case t.Row(fields=fields):
            return {"type": "ROW" + suffix, "fields": [render_field(field) for field in fields]}
        case _:
            return _atomic(type) + suffix


def render_sql(type: t.DataType) -> str:
    """The type on one line, as Paimon shows it to people."""
    suffix = "" if type.nullable else " NOT NULL"
    match type:
        case t.Array(element=element):
            return f"ARRAY<{render_sql(element)}>{suffix}"
        case t.Multiset(element=element):
            return f"MULTISET<{render_sql(element)}>{suffix}"
        case t.Vector(element=element, length=length):
            return f"VECTOR<{render_sql(element)}, {length}>{suffix}"
        case t.Map(key=key, value=value):
            return f"MAP<{render_sql(key)}, {render_sql(value)}>{suffix}"
        case t.Row(fields=fields):
            return f"ROW<{', '.join(map(_field_sql, fields))}>{suffix}"
        case _:
            return _atomic(type) + suffix


def parse_field(found: JsonObject, depth: int = 0) -> t.Field:
    """A column, or a member of a ROW."""
    return t.Field(
        found.integer("id", highest=INT_MAX),
        found.text("name"),
        _parse_json(found.members.get("type"), found.name, depth),
        found.find_text("description"),
        found.find_text("defaultValue"),
    )


def render_field(field: t.Field) -> dict[str, Json]:
    """A column, or a member of a ROW, as schema files hold it."""
    return {
        "id": field.id,
        "name": field.name,
        "type": render(field.type),
        "description": field.description,
        "defaultValue": field.default,
    }


def _field_sql(field: t.Field) -> str:
    comment = "" if field.description is None else " COMMENT '" + field.description.replace("'", "''") + "'"
    default = "" if field.default is None else f" DEFAULT {field.default}"
    return f"`{field.name.replace('`', '``')}` {render_sql(field.type)}{comment}{default}"


def _atomic(type: t.DataType) -> str:
    match type:
        case t.VarChar(length=t.MAX_LENGTH):
            return "STRING"
        case t.VarBinary(length=t.MAX_LENGTH):
            return "BYTES"
        case t.Char(length=length) | t.VarChar(length=length) | t.Binary(length=length) | t.VarBinary(length=length):
            return f"{type.__class__.__name__.upper()}({length})"
        case t.Decimal(precision=precision, scale=scale):
            return f"DECIMAL({precision}, {scale})"
        case t.Time(precision=precision):
            return f"TIME({precision})"
        case t.Timestamp(precision=precision):
            return f"TIMESTAMP({precision})"
        case t.LocalTimestamp(precision=precision):
            return f"TIMESTAMP({precision}) WITH LOCAL TIME ZONE"
        case t.Geometry(crs=crs):
            return f"GEOMETRY({_quote_crs(crs)})"
        case t.Geography(crs=crs, algorithm=algorithm):
            return f"GEOGRAPHY({_quote_crs(crs)}, {algorithm})"
        case _:
            return _NAMES[type.__class__]


def _quote_crs(crs: str) -> str:
    return crs if _BARE_CRS.fullmatch(crs) else "'" + crs.replace("'", "''") + "'"


def _parse_json(value: Json, name: str, depth: int) -> t.DataType:
    if depth > MAX_DEPTH:
        raise corrupt(name, "type", f"at most {MAX_DEPTH} types inside each other", "more")
    if isinstance(value, Mapping):
        return _parse_object(JsonObject(value, name, "type"), depth + 1)
    if not isinstance(value, str):
        raise corrupt(name, "type", "a string or an object", value)
    try:
        return parse_sql(value)
    except InvalidInputError as error:
        raise CorruptFileError(f"file '{name}', {error}") from None


def _parse_object(found: JsonObject, depth: int) -> t.DataType:
    word, _, suffix = found.text("type").upper().partition(" ")
    nullable = suffix.strip() in ("", "NULL")
    if not nullable and suffix.split() != ["NOT", "NULL"]:
        found.refuse("type", "a type word, NOT NULL or nothing after it")

    def inner(key: str) -> t.DataType:
        return _parse_json(found.members.get(key), found.name, depth)

    match word:
        case "ARRAY":
            return t.Array(inner("element"), nullable=nullable)
        case "MULTISET":
            return t.Multiset(inner("element"), nullable=nullable)
        case "VECTOR":
            element, length = inner("element"), found.integer("length", highest=INT_MAX)
            if length < 1 or not isinstance(element, _VECTOR_ELEMENTS):
                found.refuse("length", "a positive length of numbers or booleans")
            return t.Vector(element, length, nullable=nullable)
        case "MAP":
            return t.Map(inner("key"), inner("value"), nullable=nullable)
        case "ROW":
            fields = tuple(parse_field(field, depth) for field in found.objects("fields"))
            return t.Row(fields, nullable=nullable)
        case _:
            return found.refuse("type", "ARRAY, MULTISET, VECTOR, MAP or ROW")


class _Token:
    """A word, a quoted text or a sign; only bare words and signs have a `word`, in upper case."""

    def __init__(self, match: re.Match[str]) -> None:
        bare, name, literal, sign = match.groups()
        self.word = (bare or sign or "").upper()
        self.text = (
            name.replace("``", "`")
            if name is not None
            else literal.replace("''", "'")
            if literal is not None
            else bare or sign
        )


class _Parser:
    """One type text and the place that was read up to."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [_Token(match) for match in _TOKEN.finditer(text.strip())]
        self._place = 0

    def whole(self) -> t.DataType:
        found = self._type(0)
        if self._place < len(self._tokens):
            self._refuse(f"the end after {self._place} words and signs")
        return found

    def _type(self, depth: int) -> t.DataType:
        if depth > MAX_DEPTH:
            self._refuse(f"at most {MAX_DEPTH} types inside each other")
        word = self._next().word
        found = _WORDS.get(word) or self._with_parameters(word) or self._constructed(word, depth + 1)
        if self._skip("NOT"):
            self._expect("NULL")
            return found.with_nullable(False)
        self._skip("NULL")
        return found

    def _with_parameters(self, word: str) -> t.DataType | None:
        match word:
            case "DOUBLE":
                self._skip("PRECISION")
                return t.Double()
            case "CHAR" | "VARCHAR" | "BINARY" | "VARBINARY":
                (length,) = self._numbers(1, (1,), lowest=1, highest=t.MAX_LENGTH)
                made: dict[str, Callable[[int], t.DataType]] = {
                    "CHAR": t.Char,
                    "VARCHAR": t.VarChar,
                    "BINARY": t.Binary,
                    "VARBINARY": t.VarBinary,
                }
                return made[word](length)
            case "DECIMAL" | "NUMERIC" | "DEC":
                precision, scale = self._numbers(2, (10, 0), lowest=0, highest=38)
                if precision < 1 or scale > precision:
                    self._refuse("a precision of 1 to 38 and a scale not above it")
                return t.Decimal(precision, scale)
            case "TIME" | "TIMESTAMP" | "TIMESTAMP_LTZ":
                return self._temporal(word)
            case "GEOMETRY":
                (crs,) = self._words((t.Geometry().crs,))
                return t.Geometry(crs)
            case "GEOGRAPHY":
                crs, algorithm = self._words((t.Geography().crs, t.Geography().algorithm))
                if algorithm.lower() not in _ALGORITHMS:
                    self._refuse(f"one of {', '.join(_ALGORITHMS)}")
                return t.Geography(crs, algorithm.lower())
            case _:
                return None

    def _temporal(self, word: str) -> t.DataType:
        (precision,) = self._numbers(1, (0 if word == "TIME" else 6,), lowest=0, highest=9)
        if word == "TIMESTAMP_LTZ":
            return t.LocalTimestamp(precision)
        local = False
        if self._skip("WITHOUT"):
            self._expect("TIME", "ZONE")
        elif word == "TIMESTAMP" and self._skip("WITH"):
            self._expect("LOCAL", "TIME", "ZONE")
            local = True
        if word == "TIME":
            return t.Time(precision)
        return t.LocalTimestamp(precision) if local else t.Timestamp(precision)

    def _constructed(self, word: str, depth: int) -> t.DataType:
        if word not in ("ARRAY", "MULTISET", "MAP", "VECTOR", "ROW"):
            self._refuse("a type", f"'{word}'")
        self._expect("<")
        found: t.DataType
        if word == "ROW":
            found = t.Row(self._members(depth))
        else:
            first = self._type(depth)
            if word == "MAP":
                self._expect(",")
                found = t.Map(first, self._type(depth))
            elif word == "VECTOR":
                self._expect(",")
                if not isinstance(first, _VECTOR_ELEMENTS):
                    self._refuse("a vector of numbers or booleans")
                found = t.Vector(first, self._number(1, t.MAX_LENGTH))
            else:
                found = t.Array(first) if word == "ARRAY" else t.Multiset(first)
        self._expect(">")
        return found

    def _members(self, depth: int) -> tuple[t.Field, ...]:
        members: list[t.Field] = []
        while self._place < len(self._tokens) and self._tokens[self._place].word != ">":
            if members:
                self._expect(",")
            name = self._next()
            self._skip(":")
            member = t.Field(-1, name.text, self._type(depth))
            if self._skip("COMMENT"):
                member = replace(member, description=self._next().text)
            members.append(member)
        return tuple(members)

    def _numbers(self, most: int, defaults: tuple[int, ...], *, lowest: int, highest: int) -> tuple[int, ...]:
        if not self._skip("("):
            return defaults
        found = [self._number(lowest, highest)]
        while len(found) < most and self._skip(","):
            found.append(self._number(lowest, highest))
        self._expect(")")
        return (*found, *defaults[len(found) :])

    def _number(self, lowest: int, highest: int) -> int:
        text = self._next().text
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and lowest <= int(text) <= highest):
            self._refuse(f"a number from {lowest} to {highest}", f"'{text}'")
        return int(text)

    def _words(self, defaults: tuple[str, ...]) -> tuple[str, ...]:
        if not self._skip("("):
            return defaults
        found = [""]
        while not self._skip(")"):
            if self._skip(","):
                found.append("")
            found[-1] += self._next().text
        if len(found) > len(defaults) or not all(found):
            self._refuse(f"at most {len(defaults)} parameters")
        return (*found, *defaults[len(found) :])

    def _next(self) -> "_Token":
        if self._place == len(self._tokens):
            self._refuse("more", "the end")
        self._place += 1
        return self._tokens[self._place - 1]

    def _skip(self, word: str) -> bool:
        found = self._place < len(self._tokens) and self._tokens[self._place].word == word
        self._place += found
        return found

    def _expect(self, *words: str) -> None:
        for word in words:
            if not self._skip(word):
                self._refuse(f"'{word}'")

    def _refuse(self, expected: str, found: str | None = None) -> NoReturn:
        rest = self._tokens[self._place].text if self._place < len(self._tokens) else "the end"
        shown = self._text if len(self._text) <= 80 else self._text[:77] + "..."
        raise InvalidInputError(f"type '{shown}': expected {expected}, found {found or repr(rest)}")
