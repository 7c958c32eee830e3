"""Options become a merge, or are refused by name."""

import pyarrow as pa
import pytest

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model.merge_spec import Engine, MergeSpec, SequenceGroup, merge_spec, required_columns
from polynya.model.schema import schema_of

COLUMNS = pa.schema(
    [
        ("p", pa.int32()),
        ("k", pa.int64()),
        ("a", pa.int32()),
        ("b", pa.string()),
        ("c", pa.binary()),
        ("g", pa.int64()),
        ("h", pa.int64()),
        ("n", pa.list_(pa.struct([("id", pa.int32())]))),
    ]
)
AGG = {"merge-engine": "aggregation"}
PARTIAL = {"merge-engine": "partial-update"}


def spec_of(options: dict[str, str]) -> MergeSpec:
    return merge_spec(schema_of(COLUMNS, primary_key=["p", "k"], partition_by=["p"], options=options))


def test_a_plain_table_keeps_the_newest_record_by_its_trimmed_key():
    spec = spec_of({})
    assert (spec.engine, spec.key, spec.sequence_fields) == (Engine.DEDUPLICATE, ("k",), ())


def test_sequence_groups_are_read_with_all_their_fields():
    spec = spec_of(
        PARTIAL
        | {"fields.g,h.sequence-group": "a, b", "partial-update.remove-record-on-sequence-group": "h"}
        | {"fields.a.aggregate-function": "sum"}
    )
    assert spec.groups == (SequenceGroup(("g", "h"), ("a", "b"), removing=("h",)),)
    assert spec.functions["a"].name == "sum"


def test_columns_that_order_the_rows_are_read_though_not_asked_for():
    groups = PARTIAL | {"fields.g.sequence-group": "a", "fields.h.sequence-group": "b"}
    assert required_columns(spec_of(groups), ["a"]) == ("a", "k", "g")
    assert required_columns(spec_of({"sequence.field": "g,h"}), ["k", "a"]) == ("k", "a", "g", "h")
    removing = groups | {"partial-update.remove-record-on-sequence-group": "h"}
    assert required_columns(spec_of(removing), ["a"]) == ("a", "k", "g", "h")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge-engine": "newest"}, "merge-engine"),
        ({"merge-engine": "first-row", "sequence.field": "a"}, "first-row"),
        ({"sequence.field": "missing"}, "missing"),
        ({"ignore-delete": "yes"}, "ignore-delete"),
        (AGG | {"fields.a.aggregate-function": "median"}, "median"),
        (AGG | {"fields.b.aggregate-function": "sum"}, "'b'.*sum"),
        (AGG | {"fields.a.aggregate-function": "listagg"}, "listagg"),
        (AGG | {"fields.n.aggregate-function": "nested_partial_update"}, "nested-key"),
        (AGG | {"fields.n.aggregate-function": "nested_update", "fields.n.nested-key": "x"}, "'x'"),
        (AGG | {"fields.n.aggregate-function": "max"}, "max"),
        (
            AGG
            | {
                "aggregation.remove-record-on-delete": "true",
                "fields.a.ignore-retract": "true",
                "fields.a.aggregate-function": "max",
            },
            "ignore-retract",
        ),
        (PARTIAL | {"fields.a.aggregate-function": "sum"}, "sequence group"),
        (PARTIAL | {"fields.g.sequence-group": "k"}, "column 'k' of the primary key"),
        (PARTIAL | {"fields.g.sequence-group": "a", "fields.h.sequence-group": "a"}, "several groups"),
        (PARTIAL | {"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}, "ignore-delete"),
        (
            PARTIAL | {"fields.g.sequence-group": "a", "partial-update.remove-record-on-delete": "true"},
            "sequence groups",
        ),
        (PARTIAL | {"partial-update.remove-record-on-sequence-group": "g"}, "orders no sequence group"),
    ],
)
def test_wrong_options_are_refused_by_name(options, message):
    with pytest.raises(InvalidInputError, match=message):
        spec_of(options)


@pytest.mark.parametrize("function", ["hll_sketch", "theta_sketch", "rbm64"])
def test_functions_without_a_sound_library_are_refused(function):
    with pytest.raises(UnsupportedError, match=function):
        spec_of(AGG | {"fields.c.aggregate-function": function})


def test_a_table_without_a_key_has_no_merge():
    with pytest.raises(InvalidInputError, match="primary key"):
        merge_spec(schema_of(COLUMNS))
