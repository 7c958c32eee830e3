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

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from polynya.errors import InvalidInputError
from polynya.model.aggregate_functions import (
    KEY,
    LAST_NON_NULL_VALUE,
    LAST_VALUE,
    Function,
    check_function,
    read_function,
)
from polynya.model.option_kinds import parse_names
from polynya.model.options_keys import (
    AGGREGATION_REMOVE_RECORD_ON_DELETE,
    FIELDS_DEFAULT_AGGREGATE_FUNCTION,
    IGNORE_DELETE,
    IGNORE_UPDATE_BEFORE,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP,
    ROWKIND_FIELD,
    SEQUENCE_FIELD,
    SEQUENCE_FIELD_SORT_ORDER,
)
from polynya.model.schema import Schema, require_columns

_GROUP = re.compile(r"fields\.(.+)\.sequence-group")


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
    removing: tuple[str, ...] = ()  # ordering columns for which a -D that is not older removes the whole row


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
    columns: tuple[str, ...] = ()  # of the table, in the order in which a sequence group that removes rows sees them


def merge_spec(schema: Schema) -> MergeSpec:
    """The merge of a primary-key table, read from its schema."""
    options = schema.options
    if not schema.trimmed_primary_key:
        raise InvalidInputError("merge: expected a primary key with a column outside the partition, found none")
    engine = Engine(MERGE_ENGINE.of(options))
    sequence_fields = SEQUENCE_FIELD.find(options) or ()
    require_columns(schema, sequence_fields, "option 'sequence.field'")
    if engine is Engine.FIRST_ROW and sequence_fields:
        raise InvalidInputError("option 'sequence.field' excludes merge-engine 'first-row'; remove one")
    groups = _groups(schema) if engine is Engine.PARTIAL_UPDATE else ()
    spec = MergeSpec(
        key=schema.trimmed_primary_key,
        engine=engine,
        sequence_fields=sequence_fields,
        descending=SEQUENCE_FIELD_SORT_ORDER.of(options) == "descending",
        ignore_delete=IGNORE_DELETE.of(options),
        ignore_update_before=IGNORE_UPDATE_BEFORE.of(options),
        rowkind_field=ROWKIND_FIELD.find(options),
        functions=_functions(schema, engine, sequence_fields, groups),
        groups=groups,
        remove_on_delete=_removes_on_delete(options, engine),
        not_null=frozenset(column.name for column in schema.fields if not column.type.nullable),
        columns=tuple(column.name for column in schema.fields),
    )
    _check_combination(spec)
    return spec


def required_columns(spec: MergeSpec, projected: Sequence[str]) -> tuple[str, ...]:
    """The value columns to read so that the projected ones merge right: those asked for first, then the others."""
    needed = dict.fromkeys((*projected, *spec.key, *spec.sequence_fields))
    for group in spec.groups:
        if group.removing or not needed.keys().isdisjoint((*group.ordering, *group.protected)):
            needed.update(dict.fromkeys(group.ordering))
    return tuple(needed)


def find_groups(options: Mapping[str, str]) -> tuple[SequenceGroup, ...]:
    """The sequence groups that the options name, whatever the engine."""
    removing = PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.find(options) or ()
    found = ((_GROUP.fullmatch(key), value) for key, value in options.items())
    named = ((parse_names(match[1]), parse_names(value)) for match, value in found if match)
    return tuple(
        SequenceGroup(ordering, protected, tuple(name for name in ordering if name in removing))
        for ordering, protected in named
    )


def _removes_on_delete(options: Mapping[str, str], engine: Engine) -> bool:
    match engine:
        case Engine.PARTIAL_UPDATE:
            return PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.of(options)
        case Engine.AGGREGATION:
            return AGGREGATION_REMOVE_RECORD_ON_DELETE.of(options)
        case Engine.DEDUPLICATE | Engine.FIRST_ROW:
            return False


def _groups(schema: Schema) -> tuple[SequenceGroup, ...]:
    groups = find_groups(schema.options)
    taken: set[str] = set()
    for group in groups:
        members = (*group.ordering, *group.protected)
        require_columns(schema, members, "sequence-group")
        for name in members:
            if name in schema.primary_key:
                raise InvalidInputError(f"sequence-group: column '{name}' of the primary key cannot be part of a group")
            if name in taken:
                raise InvalidInputError(f"sequence-group: column '{name}' stands in several groups; keep one")
            taken.add(name)
    ordering = {name for group in groups for name in group.ordering}
    for name in PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.find(schema.options) or ():
        if name not in ordering:
            raise InvalidInputError(
                f"option 'partial-update.remove-record-on-sequence-group': '{name}' orders no sequence group"
            )
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
    return _declared(schema, column, _function_name(schema, column) or LAST_NON_NULL_VALUE)


def _group_functions(schema: Schema, groups: tuple[SequenceGroup, ...]) -> dict[str, Function]:
    ordering = {name for group in groups for name in group.ordering}
    protected = {name for group in groups for name in group.protected}
    functions = {}
    for column in schema.names:
        name = _function_name(schema, column)
        if name is None or column in schema.primary_key or column in ordering:
            continue
        if name != LAST_NON_NULL_VALUE and column not in protected:
            raise InvalidInputError(
                f"column '{column}': aggregate function '{name}' of a partial update needs a sequence group; "
                f"name the column in a 'fields.<column>.sequence-group' option"
            )
        functions[column] = _declared(schema, column, name)
    return functions


def _function_name(schema: Schema, column: str) -> str | None:
    default = FIELDS_DEFAULT_AGGREGATE_FUNCTION.find(schema.options)
    return schema.options.get(f"fields.{column}.aggregate-function", default)


def _declared(schema: Schema, column: str, name: str) -> Function:
    function = read_function(schema.options, column, name)
    check_function(function, column, schema.column(column).type)
    return function


def _check_combination(spec: MergeSpec) -> None:
    removes = spec.remove_on_delete and spec.engine is Engine.PARTIAL_UPDATE
    if spec.ignore_delete and (removes or any(group.removing for group in spec.groups)):
        raise InvalidInputError("option 'ignore-delete' excludes the options 'partial-update.remove-record-on-...'")
    if spec.groups and removes:
        raise InvalidInputError("option 'partial-update.remove-record-on-delete' excludes sequence groups")
    if spec.engine is Engine.AGGREGATION and spec.remove_on_delete:
        for column, function in spec.functions.items():
            if function.ignore_retract:
                raise InvalidInputError(
                    f"option 'fields.{column}.ignore-retract' excludes 'aggregation.remove-record-on-delete'"
                )
