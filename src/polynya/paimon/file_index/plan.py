"""Which indexes a table's options ask for.

| option | meaning |
|---|---|
| `file-index.<kind>.columns` | columns, or keys of a map as `m[key]`, between commas |
| `file-index.<kind>.<column>.<setting>` | a setting of one index; for a map's name, of all its keys |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.comparison import type_text
from polynya.paimon.file_index.container import is_map_key
from polynya.paimon.file_index.kinds import KINDS

_PREFIX = "file-index."
_COLUMNS = ".columns"
_OF_THE_TABLE = frozenset({"file-index.in-manifest-threshold", "file-index.read.enabled"})


@dataclass(frozen=True)
class ColumnIndex:
    """One index to build; `type` is that of the map's values where `map_key` is set."""

    kind: str
    column: str
    map_key: str | None
    type: t.DataType
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The column as the container names it."""
        return self.column if self.map_key is None else f"{self.column}[{self.map_key}]"


def index_options(options: Mapping[str, str], fields: Sequence[t.Field]) -> tuple[ColumnIndex, ...]:
    """The indexes that the options of a table with these columns ask for.

    InvalidInputError names a kind, column or setting that does not exist, UnsupportedError a type that a kind refuses.
    """
    own = {key: text for key, text in options.items() if key.startswith(_PREFIX) and key not in _OF_THE_TABLE}
    listed = {key: text for key, text in own.items() if key.endswith(_COLUMNS)}
    columns = {_kind(key, key[len(_PREFIX) : -len(_COLUMNS)]): _columns(key, text) for key, text in listed.items()}
    settings = _settings({key: text for key, text in own.items() if key not in listed}, columns)
    return tuple(_index(kind, column, fields, settings) for kind, names in columns.items() for column in names)


def _kind(key: str, kind: str) -> str:
    if kind not in KINDS:
        raise InvalidInputError(f"option '{key}': expected one of {', '.join(KINDS)}, found '{kind}'")
    return kind


def _columns(key: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise InvalidInputError(f"option '{key}' must be names between commas, got '{text}'")
    return tuple(dict.fromkeys(names))


_Settings = dict[tuple[str, str], dict[str, str]]


def _settings(options: Mapping[str, str], columns: Mapping[str, Sequence[str]]) -> _Settings:
    """The settings by kind and column, or map."""
    found: _Settings = {}
    for key, text in options.items():
        kind, _, rest = key.removeprefix(_PREFIX).partition(".")
        column, _, setting = rest.rpartition(".")
        known = columns.get(_kind(key, kind), ())
        if column not in known and column not in {_map_name(name) for name in known if is_map_key(name)}:
            raise InvalidInputError(f"option '{key}': column '{column}' is not listed in '{_PREFIX}{kind}{_COLUMNS}'")
        if setting not in KINDS[kind].settings:
            expected = ", ".join(sorted(KINDS[kind].settings)) or "no setting"
            raise InvalidInputError(f"option '{key}': expected {expected}, found '{setting}'")
        found.setdefault((kind, column), {})[setting] = text
    return found


def _map_name(column: str) -> str:
    return column.partition("[")[0]


def _index(kind: str, listed: str, fields: Sequence[t.Field], settings: _Settings) -> ColumnIndex:
    key = f"{_PREFIX}{kind}{_COLUMNS}"
    column = _map_name(listed) if is_map_key(listed) else listed
    map_key = listed[len(column) + 1 : -1] if is_map_key(listed) else None
    type = next((field.type for field in fields if field.name == column), None)
    if type is None:
        raise InvalidInputError(f"option '{key}': column '{column}' does not exist")
    if map_key is not None:
        type = _value_type(key, listed, type)
    if not KINDS[kind].accepts(type):
        raise UnsupportedError(f"option '{key}': column '{listed}' is {type_text(type)}, which {kind} does not index")
    chosen = settings.get((kind, listed), {})
    if map_key is not None:
        chosen = settings.get((kind, column), {}) | chosen
    try:
        KINDS[kind].open_writer(type, chosen)  # refuses settings now, before a row is written
    except InvalidInputError as error:
        raise InvalidInputError(f"option '{_PREFIX}{kind}.{listed}': {error}") from None
    return ColumnIndex(kind, column, map_key, type, chosen)


def _value_type(key: str, listed: str, type: t.DataType) -> t.DataType:
    if isinstance(type, t.Map) and isinstance(type.key, (t.Char, t.VarChar)):
        return type.value
    raise UnsupportedError(f"option '{key}': '{listed}' needs a MAP with text keys, found {type_text(type)}")
