"""What a new table says about merging, beyond what a merge needs (`model.merge_spec`).

Paimon leaves some of this to the first write, or passes over it; here a table that could not be written, or an option
that would do nothing, is refused when the table is created.
"""

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.aggregate_functions import check_function, read_function
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.merge_spec import find_groups, merge_spec
from polynya.model.options_keys import (
    AGGREGATION_REMOVE_RECORD_ON_DELETE,
    CHANGELOG_PRODUCER,
    DELETION_VECTORS_ENABLED,
    FIELDS_DEFAULT_AGGREGATE_FUNCTION,
    FULL_COMPACTION_DELTA_COMMITS,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP,
    ROWKIND_FIELD,
    SEQUENCE_FIELD,
)
from polynya.model.schema import Schema, require_columns

_KEYED_OPTIONS = (MERGE_ENGINE, SEQUENCE_FIELD, ROWKIND_FIELD, CHANGELOG_PRODUCER)
_ENGINE_OPTIONS = {
    "partial-update": (PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE, PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP),
    "aggregation": (AGGREGATION_REMOVE_RECORD_ON_DELETE,),
}


def check_merging(schema: Schema) -> None:
    """Raise when the merge options do not fit the table or each other, or ask for a function that polynya lacks."""
    if schema.primary_key:
        _check_engine(schema)
        _check_sequence(schema)
        _check_functions(schema)
        merge_spec(schema)
    else:
        _check_append(schema)


def _check_append(schema: Schema) -> None:
    for option in _KEYED_OPTIONS:
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
    if len(set(ordering)) < len(ordering):
        raise InvalidInputError(f"option 'sequence.field': expected each column once, found {', '.join(ordering)}")
    if ordering and bucket_mode(schema) is BucketMode.KEY_DYNAMIC:
        raise InvalidInputError("option 'sequence.field' needs a primary key with all partition columns")
    for column in ordering:
        if f"fields.{column}.aggregate-function" in schema.options:
            raise InvalidInputError(f"column '{column}' orders the records and cannot have an aggregate function")


def _check_functions(schema: Schema) -> None:
    options, engine = schema.options, MERGE_ENGINE.of(schema.options)
    for owner, engine_options in _ENGINE_OPTIONS.items():
        for option in engine_options:
            if option.find(options) and engine != owner:
                raise InvalidInputError(f"option '{option.key}' does nothing with merge-engine '{engine}'; remove it")
    if find_groups(options) and engine != "partial-update":
        raise InvalidInputError(f"sequence groups do nothing with merge-engine '{engine}'; use 'partial-update'")
    functions = {name: options.get(f"fields.{name}.aggregate-function") for name in schema.names}
    named = {name: function for name, function in functions.items() if function is not None}
    if (named or FIELDS_DEFAULT_AGGREGATE_FUNCTION.find(options)) and engine not in ("aggregation", "partial-update"):
        raise InvalidInputError(f"aggregate functions do nothing with merge-engine '{engine}'; use 'aggregation'")
    for name, function in named.items():
        check_function(read_function(options, name, function), name, schema.column(name).type)
