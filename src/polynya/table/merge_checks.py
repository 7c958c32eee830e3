"""What a new table says about merging: engine, sequence fields and groups, aggregate functions.

Paimon leaves some of these to the first write, or passes over them; here a table that could not be written, or an
option that would do nothing, is refused when it is created.
"""

import re

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options_keys import (
    AGGREGATION_REMOVE_RECORD_ON_DELETE,
    CHANGELOG_PRODUCER,
    DELETION_VECTORS_ENABLED,
    FIELDS_DEFAULT_AGGREGATE_FUNCTION,
    FULL_COMPACTION_DELTA_COMMITS,
    IGNORE_DELETE,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP,
    ROWKIND_FIELD,
    SEQUENCE_FIELD,
)
from polynya.model.schema import Schema, require_columns

_NUMBERS = (t.TinyInt, t.SmallInt, t.Int, t.BigInt, t.Float, t.Double, t.Decimal)
_FUNCTION_TYPES: dict[str, tuple[type[t.DataType], ...]] = {
    **dict.fromkeys(("max", "min", "last_value", "last_non_null_value"), (t.DataType,)),
    **dict.fromkeys(("first_value", "first_non_null_value", "first_not_null_value"), (t.DataType,)),
    **dict.fromkeys(("sum", "product"), _NUMBERS),
    **dict.fromkeys(("bool_and", "bool_or"), (t.Boolean,)),
    **dict.fromkeys(("collect", "nested_update", "nested_partial_update"), (t.Array,)),
    **dict.fromkeys(("merge_map", "merge_map_with_keytime"), (t.Map,)),
    **dict.fromkeys(("rbm32", "rbm64", "hll_sketch", "theta_sketch"), (t.VarBinary,)),
    "listagg": (t.VarChar,),
}
_FUNCTION = re.compile(r"fields\.(.+)\.aggregate-function")
_GROUP = re.compile(r"fields\.(.+)\.sequence-group")
_IGNORE_RETRACT = re.compile(r"fields\.(.+)\.ignore-retract")
_ENGINE_OPTIONS = (MERGE_ENGINE, SEQUENCE_FIELD, ROWKIND_FIELD, CHANGELOG_PRODUCER)


def check_merging(schema: Schema) -> None:
    """Raise InvalidInputError when the merge options do not fit the table or each other."""
    if schema.primary_key:
        _check_engine(schema)
        _check_sequence(schema)
        _check_functions(schema)
        _check_groups(schema)
        _check_removal(schema)
    else:
        _check_append(schema)


def _check_append(schema: Schema) -> None:
    for option in _ENGINE_OPTIONS:
        found = option.find_text(schema.options)
        if found is not None and found != option.default:
            raise InvalidInputError(
                f"option '{option.key}' = '{found}' needs a primary key; add one or remove the option"
            )
    if FULL_COMPACTION_DELTA_COMMITS.find(schema.options) and bucket_mode(schema) is BucketMode.UNAWARE:
        raise InvalidInputError("option 'full-compaction.delta-commits' needs a primary key or a fixed bucket")


def _check_engine(schema: Schema) -> None:
    options, engine = schema.options, MERGE_ENGINE.of(schema.options)
    producer = CHANGELOG_PRODUCER.of(options)
    if engine == "first-row" and producer not in ("none", "lookup"):
        raise InvalidInputError(f"option 'changelog-producer' of first-row must be none or lookup, got '{producer}'")
    if engine == "first-row" and DELETION_VECTORS_ENABLED.of(options):
        raise InvalidInputError("option 'deletion-vectors.enabled' has no use with first-row; remove it")
    if producer == "full-compaction" and DELETION_VECTORS_ENABLED.of(options):
        raise InvalidInputError("option 'deletion-vectors.enabled' excludes changelog-producer 'full-compaction'")
    if producer == "lookup" and FULL_COMPACTION_DELTA_COMMITS.find(options):
        raise InvalidInputError("option 'full-compaction.delta-commits' excludes changelog-producer 'lookup'")
    kind = ROWKIND_FIELD.find(options)
    if kind is not None:
        require_columns(schema, (kind,), "option 'rowkind.field'")
        if not isinstance(schema.column(kind).type, t.Char | t.VarChar):
            raise InvalidInputError(f"option 'rowkind.field': expected a column of STRING, found '{kind}'")


def _check_sequence(schema: Schema) -> None:
    ordering = SEQUENCE_FIELD.find(schema.options) or ()
    require_columns(schema, ordering, "option 'sequence.field'")
    if len(set(ordering)) < len(ordering):
        raise InvalidInputError(f"option 'sequence.field': expected each column once, found {', '.join(ordering)}")
    if ordering and MERGE_ENGINE.of(schema.options) == "first-row":
        raise InvalidInputError("option 'sequence.field' excludes merge-engine 'first-row'")
    if ordering and bucket_mode(schema) is BucketMode.KEY_DYNAMIC:
        raise InvalidInputError("option 'sequence.field' needs a primary key with all partition columns")
    for column in ordering:
        if f"fields.{column}.aggregate-function" in schema.options:
            raise InvalidInputError(f"column '{column}' orders the records and cannot have an aggregate function")


def _check_functions(schema: Schema) -> None:
    engine = MERGE_ENGINE.of(schema.options)
    default = FIELDS_DEFAULT_AGGREGATE_FUNCTION.find(schema.options)
    named = _matching(schema, _FUNCTION)
    if (named or default) and engine not in ("aggregation", "partial-update"):
        raise InvalidInputError(f"aggregate functions do nothing with merge-engine '{engine}'; use 'aggregation'")
    for column, function in [*named.items(), *([] if default is None else [("", default)])]:
        types = _FUNCTION_TYPES.get(function)
        if types is None:
            raise InvalidInputError(f"unknown aggregate function '{function}'; there are {', '.join(_FUNCTION_TYPES)}")
        if column and not isinstance(schema.column(column).type, types):
            expected = " or ".join(type.__name__.upper() for type in types)
            raise InvalidInputError(f"column '{column}': aggregate function '{function}' takes {expected}")


def _check_groups(schema: Schema) -> None:
    engine, groups = MERGE_ENGINE.of(schema.options), _matching(schema, _GROUP)
    if groups and engine != "partial-update":
        raise InvalidInputError(f"sequence groups do nothing with merge-engine '{engine}'; use 'partial-update'")
    ordering = {name for key in groups for name in _split(key)}
    members = [name for key, value in groups.items() for name in (*_split(key), *_split(value))]
    require_columns(schema, members, "sequence-group")
    for name in members:
        if name in schema.primary_key:
            raise InvalidInputError(f"sequence-group: column '{name}' of the primary key cannot be part of a group")
        if members.count(name) > 1:
            raise InvalidInputError(f"sequence-group: column '{name}' stands in several groups; keep one")
    for name in PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.find(schema.options) or ():
        if name not in ordering:
            raise InvalidInputError(
                f"option 'partial-update.remove-record-on-sequence-group': '{name}' orders no group"
            )
    if engine == "partial-update":
        _check_group_functions(schema, set(members))


def _check_group_functions(schema: Schema, in_groups: set[str]) -> None:
    default = FIELDS_DEFAULT_AGGREGATE_FUNCTION.find(schema.options)
    outside = set(schema.names) - in_groups - set(schema.primary_key) - set(SEQUENCE_FIELD.find(schema.options) or ())
    for name in schema.names:
        function = schema.options.get(f"fields.{name}.aggregate-function", default)
        if name in outside and function not in (None, "last_non_null_value"):
            raise InvalidInputError(f"column '{name}': aggregate function '{function}' needs a sequence group")


def _check_removal(schema: Schema) -> None:
    options = schema.options
    on_delete = PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.of(options)
    if on_delete and _matching(schema, _GROUP):
        raise InvalidInputError("option 'partial-update.remove-record-on-delete' excludes sequence groups")
    on_group = PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.find(options)
    if IGNORE_DELETE.of(options) and (on_delete or on_group):
        raise InvalidInputError("option 'ignore-delete' excludes the options 'partial-update.remove-record-on-...'")
    ignoring = [column for column, flag in _matching(schema, _IGNORE_RETRACT).items() if flag.lower() == "true"]
    if ignoring and AGGREGATION_REMOVE_RECORD_ON_DELETE.of(options):
        raise InvalidInputError(
            f"option 'fields.{ignoring[0]}.ignore-retract' excludes 'aggregation.remove-record-on-delete'"
        )


def _matching(schema: Schema, shape: re.Pattern[str]) -> dict[str, str]:
    found = ((shape.fullmatch(key), value) for key, value in schema.options.items())
    return {match[1]: value for match, value in found if match}


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
