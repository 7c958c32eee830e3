"""What a table's options say about merging, read once into a frozen value.

| option | holds for |
|---|---|
| `merge-engine` | deduplicate (default), first-row, partial-update, aggregation |
| `sequence.field`, `sequence.field.sort-order` | all but first-row |
| `ignore-delete` and its aliases, `ignore-update-before`, `rowkind.field` | all |
| `fields.<g>[,<g>..].sequence-group` = protected columns | partial-update |
| `fields.<c>.aggregate-function` and companions, `fields.default-aggregate-function` | aggregation, partial-update |
| `partial-update.remove-record-on-delete`, `partial-update.remove-record-on-sequence-group` | partial-update |
| `aggregation.remove-record-on-delete` | aggregation |

A combination that Paimon refuses is an InvalidInputError; a function that polynya lacks is an UnsupportedError.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from polynya.arrow.merge.functions import KEY, LAST_NON_NULL_VALUE, LAST_VALUE, Function, check_function, read_function
from polynya.errors import InvalidInputError
from polynya.model.schema import Schema

_IGNORE_DELETE = (
    "ignore-delete",
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)
_GROUP_SUFFIX = ".sequence-group"
_REMOVE_ON_DELETE = {
    "partial-update": "partial-update.remove-record-on-delete",
    "aggregation": "aggregation.remove-record-on-delete",
}
_REMOVE_ON_GROUP = "partial-update.remove-record-on-sequence-group"


class Engine(Enum):
    """How the records of one key become one row."""

    DEDUPLICATE = "deduplicate"
    FIRST_ROW = "first-row"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"


@dataclass(frozen=True)
class SequenceGroup:
    """Columns of a partial update that only a record of an equal or newer sequence may change."""

    ordering: tuple[str, ...]
    protected: tuple[str, ...]
    removes_record: bool = False  # a -D that is not older removes the whole row


@dataclass(frozen=True)
class MergeSpec:
    """How to merge the rows of a primary-key table."""

    key: tuple[str, ...]
    engine: Engine = Engine.DEDUPLICATE
    sequence_fields: tuple[str, ...] = ()
    descending: bool = False
    ignore_delete: bool = False
    ignore_update_before: bool = False
    rowkind_field: str | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)  # the columns that have one
    groups: tuple[SequenceGroup, ...] = ()
    remove_on_delete: bool = False
    not_null: frozenset[str] = frozenset()


def merge_spec(schema: Schema) -> MergeSpec:
    """The merge of a primary-key table, read from its schema."""
    options = schema.options
    if not schema.trimmed_primary_key:
        raise InvalidInputError("merge: expected a primary key with a column outside the partition, found none")
    engine = _engine(options)
    sequence_fields = _names(options.get("sequence.field", ""))
    _check_columns(schema, sequence_fields, "sequence.field")
    if engine is Engine.FIRST_ROW and sequence_fields:
        raise InvalidInputError("option 'sequence.field' cannot be used with merge-engine 'first-row'; remove one")
    groups = _groups(schema) if engine is Engine.PARTIAL_UPDATE else ()
    spec = MergeSpec(
        key=schema.trimmed_primary_key,
        engine=engine,
        sequence_fields=sequence_fields,
        descending=_choice(options, "sequence.field.sort-order", ("ascending", "descending")) == "descending",
        ignore_delete=any(_flag(options, name) for name in _IGNORE_DELETE),
        ignore_update_before=_flag(options, "ignore-update-before"),
        rowkind_field=options.get("rowkind.field"),
        functions=_functions(schema, engine, sequence_fields, groups),
        groups=groups,
        remove_on_delete=engine.value in _REMOVE_ON_DELETE and _flag(options, _REMOVE_ON_DELETE[engine.value]),
        not_null=frozenset(column.name for column in schema.fields if not column.type.nullable),
    )
    _check_combination(spec)
    return spec


def required_columns(spec: MergeSpec, projected: Sequence[str]) -> tuple[str, ...]:
    """The value columns to read so that the projected ones merge right: those asked for first, then the others."""
    needed = dict.fromkeys((*projected, *spec.key, *spec.sequence_fields))
    for group in spec.groups:
        if group.removes_record or not needed.keys().isdisjoint((*group.ordering, *group.protected)):
            needed.update(dict.fromkeys(group.ordering))
    return tuple(needed)


def _engine(options: Mapping[str, str]) -> Engine:
    found = _choice(options, "merge-engine", tuple(engine.value for engine in Engine))
    return Engine(found)


def _groups(schema: Schema) -> tuple[SequenceGroup, ...]:
    removing = _names(schema.options.get(_REMOVE_ON_GROUP, ""))
    groups = tuple(
        SequenceGroup(
            ordering := _names(option.removeprefix("fields.").removesuffix(_GROUP_SUFFIX)),
            _names(protected),
            not set(removing).isdisjoint(ordering),
        )
        for option, protected in schema.options.items()
        if option.startswith("fields.") and option.endswith(_GROUP_SUFFIX)
    )
    taken: set[str] = set()
    for group in groups:
        members = (*group.ordering, *group.protected)
        _check_columns(schema, members, "sequence-group")
        for name in members:
            if name in schema.primary_key:
                raise InvalidInputError(f"sequence-group: primary-key column '{name}' cannot be part of a group")
            if name in taken:
                raise InvalidInputError(f"sequence-group: column '{name}' belongs to more than one group; keep one")
            taken.add(name)
    unknown = set(removing) - {name for group in groups for name in group.ordering}
    if unknown:
        raise InvalidInputError(f"option '{_REMOVE_ON_GROUP}': '{sorted(unknown)[0]}' orders no sequence group")
    return groups


def _functions(
    schema: Schema, engine: Engine, sequence_fields: Sequence[str], groups: tuple[SequenceGroup, ...]
) -> dict[str, Function]:
    match engine:
        case Engine.AGGREGATION:
            return {column.name: _aggregate(schema, column.name, sequence_fields) for column in schema.fields}
        case Engine.PARTIAL_UPDATE:
            return _group_functions(schema, groups)
        case Engine.DEDUPLICATE | Engine.FIRST_ROW:
            return {}


def _aggregate(schema: Schema, column: str, sequence_fields: Sequence[str]) -> Function:
    if column in sequence_fields:
        return Function(LAST_VALUE)
    if column in schema.primary_key:
        return Function(KEY)
    return _declared(schema, column) or read_function(schema.options, column, LAST_NON_NULL_VALUE)


def _group_functions(schema: Schema, groups: tuple[SequenceGroup, ...]) -> dict[str, Function]:
    ordering = {name for group in groups for name in group.ordering}
    protected = {name for group in groups for name in group.protected}
    functions = {}
    for name in schema.names:
        if name in schema.primary_key or name in ordering:
            continue
        function = _declared(schema, name)
        if function is None:
            continue
        if function.name != LAST_NON_NULL_VALUE and name not in protected:
            raise InvalidInputError(
                f"column '{name}': aggregate function '{function.name}' of a partial update needs a sequence group; "
                f"name the column in a 'fields.<column>.sequence-group' option"
            )
        functions[name] = function
    return functions


def _declared(schema: Schema, column: str) -> Function | None:
    name = schema.options.get(
        f"fields.{column}.aggregate-function", schema.options.get("fields.default-aggregate-function")
    )
    if name is None:
        return None
    function = read_function(schema.options, column, name)
    check_function(function, column, schema.column(column).type)
    return function


def _check_combination(spec: MergeSpec) -> None:
    removes_on_group = any(group.removes_record for group in spec.groups)
    if spec.ignore_delete and (removes_on_group or (spec.remove_on_delete and spec.engine is Engine.PARTIAL_UPDATE)):
        raise InvalidInputError("options 'ignore-delete' and 'partial-update.remove-record-on-*' exclude each other")
    if spec.groups and spec.remove_on_delete:
        raise InvalidInputError("sequence groups and 'partial-update.remove-record-on-delete' exclude each other")
    if spec.engine is Engine.AGGREGATION and spec.remove_on_delete:
        for column, function in spec.functions.items():
            if function.ignore_retract:
                raise InvalidInputError(
                    f"options 'fields.{column}.ignore-retract' and 'aggregation.remove-record-on-delete' "
                    f"exclude each other"
                )


def _check_columns(schema: Schema, names: Sequence[str], option: str) -> None:
    for name in names:
        if schema.find(name) is None:
            raise InvalidInputError(f"{option}: column '{name}' does not exist; the table has {schema.names}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _flag(options: Mapping[str, str], name: str) -> bool:
    return _choice(options, name, ("false", "true")) == "true"


def _choice(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    found = options.get(name, choices[0]).strip().lower()
    if found not in choices:
        raise InvalidInputError(f"option '{name}' must be one of {', '.join(choices)}, got '{options[name]}'")
    return found
