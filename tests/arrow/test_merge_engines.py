"""The vectorised engines agree with a merge that takes one record at a time."""

import random
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merge_reference import Refused, merge_reference
from polynya.arrow.merge import drop_deletes, losers, merge, merge_spec, sort_rows
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model.merge_spec import MergeSpec
from polynya.model.schema import schema_of

ROW = pa.struct([("id", pa.int32()), ("v", pa.string()), ("w", pa.int32())])
TIMED = pa.struct([("v", pa.int32()), ("ts", pa.string())])
COLUMNS = {
    "k": pa.int64(),
    "q": pa.string(),
    "i8": pa.int8(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "d5": pa.decimal128(5, 2),
    "d38": pa.decimal128(38, 2),
    "b": pa.bool_(),
    "s": pa.string(),
    "x": pa.binary(),
    "a": pa.list_(pa.int32()),
    "m": pa.map_(pa.string(), pa.int32()),
    "n": pa.list_(ROW),
    "t": pa.map_(pa.string(), TIMED),
}
SEEDS = st.integers(0, 2**32)
QUICK = settings(max_examples=40, deadline=None)
UNORDERED = {"merge_map", "merge_map_with_keytime", "nested_update", "nested_partial_update", "collect"}


class Draw(random.Random):
    """Small values that meet often."""

    def value(self, type: pa.DataType):
        if self.random() < 0.2:
            return None
        if pa.types.is_integer(type):
            return self.randint(-4, 4)
        if pa.types.is_floating(type):
            return self.choice([-0.0, 0.0, 0.1, 0.25, -1.5, 3.0, 0.7])
        if pa.types.is_decimal(type):
            return Decimal(self.choice(["0.00", "0.50", "-1.25", "3.10"]))
        if pa.types.is_boolean(type):
            return self.random() < 0.5
        if pa.types.is_string(type):
            return self.choice(["a", "b", "a,b", "c", "", " ", "b,,c"])
        if pa.types.is_binary(type):
            return self.choice([b"", b"\x00", b"\xff", b"a"])
        if pa.types.is_map(type):
            return [(key, self.value(type.item_type)) for key in self.sample("pqr", self.randint(0, 3))]
        if pa.types.is_list(type):
            return [self.value(type.value_type) for _ in range(self.randint(0, 3))]
        return {field.name: self.value(field.type) for field in type}

    def records(self, columns: list[str], kinds: list[int], count: int = 12, keys: int = 4) -> list[dict]:
        numbers = self.sample(range(1000), count)
        return [
            {"_SEQUENCE_NUMBER": number, "_VALUE_KIND": self.choice(kinds), "k": self.randrange(keys)}
            | {name: self.value(COLUMNS[name]) for name in columns if name != "k"}
            for number in numbers
        ]


def table(records: list[dict], columns: list[str], *extra: tuple[str, pa.DataType]) -> pa.Table:
    system = [("_SEQUENCE_NUMBER", pa.int64()), ("_VALUE_KIND", pa.int8())]
    schema = pa.schema([*system, *((name, COLUMNS[name]) for name in columns), *extra])
    whole = pa.Table.from_pylist(records, schema)
    half = len(records) // 2
    return pa.concat_tables([whole.slice(0, half), whole.slice(half)])


def spec_of(columns: list[str], options: dict[str, str]) -> MergeSpec:
    arrow = pa.schema([(name, COLUMNS[name]) for name in columns])
    return merge_spec(schema_of(arrow, primary_key=["k"], options=options))


def plain(records: list[dict], spec: MergeSpec) -> list[dict]:
    """Records without what Paimon leaves open: the order inside maps, sets and keyed lists."""
    return [
        {name: sort_inside(value) if is_unordered(spec, name) else text(value) for name, value in record.items()}
        for record in records
    ]


def is_unordered(spec: MergeSpec, name: str) -> bool:
    return name in spec.functions and spec.functions[name].name in UNORDERED


def sort_inside(value):
    return value if value is None else sorted(map(repr, value))


def text(value):
    return repr(value)


def check(records: list[dict], columns: list[str], options: dict[str, str], *extra: tuple[str, pa.DataType]) -> None:
    spec = spec_of(columns, options)
    types = {name: COLUMNS[name] for name in columns}
    rows = table(records, columns, *extra)
    try:
        expected = merge_reference(rows.to_pylist(), spec, types)
    except Refused:
        with pytest.raises(InvalidInputError):
            merge(rows, spec)
        return
    assert plain(merge(rows, spec).to_pylist(), spec) == plain(expected, spec)


@given(SEEDS, st.sampled_from([[0], [0, 2, 3], [0, 1, 2, 3]]), st.booleans(), st.sampled_from(["", "q", "f64,q"]))
@QUICK
def test_deduplicate_keeps_the_newest(seed, kinds, ignore_delete, sequence):
    columns = ["k", "q", "f64", "i64", "a"]
    options = {"ignore-delete": str(ignore_delete).lower()} | ({"sequence.field": sequence} if sequence else {})
    for order in ("ascending", "descending"):
        check(Draw(seed).records(columns, kinds), columns, options | {"sequence.field.sort-order": order})


@given(SEEDS, st.sampled_from([[0, 2], [0, 0, 0, 3]]), st.booleans())
@QUICK
def test_first_row_keeps_the_oldest(seed, kinds, ignore_delete):
    options = {"merge-engine": "first-row", "ignore-delete": str(ignore_delete).lower()}
    check(Draw(seed).records(["k", "i64", "s"], kinds), ["k", "i64", "s"], options)


@given(SEEDS, st.sampled_from([[0, 2], [0, 1, 2, 3]]), st.sampled_from(["none", "ignore", "remove"]))
@QUICK
def test_partial_update_keeps_the_last_non_null_values(seed, kinds, deletes):
    columns = ["k", "i64", "s", "a", "m", "n"]
    options = {
        "merge-engine": "partial-update",
        "ignore-delete": str(deletes == "ignore").lower(),
        "partial-update.remove-record-on-delete": str(deletes == "remove").lower(),
    }
    check(Draw(seed).records(columns, kinds), columns, options)


GROUP_FUNCTIONS = [
    ("i64", "sum"),
    ("i64", "max"),
    ("i64", "product"),
    ("i64", "first_value"),
    ("i64", "first_non_null_value"),
    ("i64", "last_value"),
    ("i64", "last_non_null_value"),
    ("s", "listagg"),
    ("s", "min"),
    ("a", "collect"),
    ("m", "merge_map"),
    ("n", "nested_update"),
    ("n", "nested_partial_update"),
    ("t", "merge_map_with_keytime"),
]


@pytest.mark.parametrize(("column", "function"), GROUP_FUNCTIONS)
@given(
    SEEDS,
    st.sampled_from([[0, 2], [0, 0, 0, 1, 3]]),
    st.sampled_from(["none", "ignore", "remove"]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_sequence_groups_order_their_columns(column, function, seed, kinds, deletes, distinct, ignore_retract):
    columns = ["k", "q", "i32", "f64", *((column, "i8") if seed % 2 else ("i8", column)), "b", "x"]
    options = {
        "merge-engine": "partial-update",
        "fields.q,i32.sequence-group": f"f64,{column}",
        "fields.i8.sequence-group": "b",
        f"fields.{column}.aggregate-function": function,
        f"fields.{column}.distinct": str(distinct).lower(),
        f"fields.{column}.ignore-retract": str(ignore_retract).lower(),
        "fields.n.nested-key": "id",
        "ignore-delete": str(deletes == "ignore").lower(),
    }
    if deletes == "remove":
        options["partial-update.remove-record-on-sequence-group"] = "i8"
    check(Draw(seed).records(columns, kinds, 16), columns, options)


REMOVING = {
    "merge-engine": "partial-update",
    "fields.i32.sequence-group": "i8",
    "fields.f64.sequence-group": "i64",
    "partial-update.remove-record-on-sequence-group": "f64",
}


def removal(*records: tuple[int, int | None, int], function: str) -> tuple[list[dict], list[str], dict[str, str]]:
    """Records of kind, value and order, all of one key; a -D removes the row."""
    rows = [
        {"_SEQUENCE_NUMBER": number, "_VALUE_KIND": kind, "k": 1, "i32": order, "i8": value, "f64": number, "i64": 0}
        for number, (kind, value, order) in enumerate(records)
    ]
    return rows, ["k", "i32", "i8", "f64", "i64"], REMOVING | {"fields.i8.aggregate-function": function}


@pytest.mark.parametrize(
    ("function", "records"),
    [
        ("product", [(0, 5, 1), (1, 0, 2), (3, 7, 3), (0, 1, 4)]),
        ("product", [(0, 100, 1), (0, 100, 2), (3, 7, 3)]),
        ("sum", [(0, 100, 1), (0, 100, 2), (3, 7, 3), (0, 1, 4)]),
        ("product", [(0, 5, 1), (3, 0, 2)]),
        ("product", [(3, 0, 1), (0, 5, 2)]),
        ("max", [(0, 5, 1), (3, 4, 2)]),
    ],
)
def test_what_a_removal_undoes_must_have_been_possible(function, records):
    rows, columns, options = removal(*records, function=function)
    with pytest.raises(InvalidInputError):
        merge(table(rows, columns), spec_of(columns, options))
    check(rows, columns, options)


def test_removals_look_at_the_order_of_the_columns_of_the_table_whatever_is_read():
    rows, columns, options = removal((0, 5, 1), (3, 4, 2), function="max")
    columns = ["k", "f64", "i64", "i32", "i8"]
    read = table(rows, columns)
    merged = merge(read.select([*read.column_names[-1:], *read.column_names[:-1]]), spec_of(columns, options))
    assert merged.column("_VALUE_KIND").to_pylist() == [3]


def test_a_late_value_does_not_count_as_the_first_one_after_a_removal():
    function = "first_non_null_value"
    rows, columns, options = removal((0, None, 5), (0, 7, 3), (3, 9, 6), (0, 8, 7), function=function)
    options |= {"fields.i8.ignore-retract": "true"}
    check(rows, columns, options)
    assert merge(table(rows, columns), spec_of(columns, options)).column("i8").to_pylist() == [8]


FUNCTIONS = [
    *[(column, "sum") for column in ("i8", "i32", "i64", "f32", "f64", "d5", "d38")],
    *[(column, "product") for column in ("i8", "i32", "i64", "f32", "f64")],
    *[(column, name) for column in ("i32", "f64", "d38", "b", "s", "x") for name in ("min", "max")],
    *[
        (column, name)
        for column in ("i64", "s", "a", "n")
        for name in ("last_value", "last_non_null_value", "first_value", "first_non_null_value")
    ],
    ("b", "bool_and"),
    ("b", "bool_or"),
    ("s", "listagg"),
    ("a", "collect"),
    ("n", "collect"),
    ("m", "merge_map"),
    ("t", "merge_map_with_keytime"),
    ("n", "nested_update"),
    ("n", "nested_partial_update"),
]


@pytest.mark.parametrize(("column", "function"), FUNCTIONS)
@given(SEEDS, st.sampled_from([[0, 2], [0, 0, 0, 1, 3]]), st.sampled_from(["none", "ignore", "remove"]), st.booleans())
@settings(max_examples=12, deadline=None)
def test_aggregation_folds_the_records_in_order(column, function, seed, kinds, deletes, distinct):
    columns = list(dict.fromkeys(["k", "q", "i64", column]))
    options = {
        "merge-engine": "aggregation",
        "sequence.field": "q",
        f"fields.{column}.aggregate-function": function,
        f"fields.{column}.distinct": str(distinct).lower(),
        f"fields.{column}.ignore-retract": str(deletes == "ignore").lower(),
        "fields.n.nested-key": "id",
        "aggregation.remove-record-on-delete": str(deletes == "remove").lower(),
    }
    records = Draw(seed).records(columns, kinds)
    if function == "product" and column.startswith("d"):
        records = [record for record in records if record["_VALUE_KIND"] in (0, 2)]
    check(records, columns, options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"count-limit": "2"},
        {"nested-key": "id,w", "nested-sequence-field": "v"},
        {"nested-key": "id", "count-limit": "3", "nested-key-null-strategy": "ignore"},
        {"nested-key": "id", "nested-key-null-strategy": "error"},
    ],
)
@given(SEEDS, st.sampled_from([[0], [0, 0, 3]]))
@settings(max_examples=12, deadline=None)
def test_nested_update_honours_its_options(options, seed, kinds):
    named = {f"fields.n.{name}": value for name, value in options.items()}
    named |= {"merge-engine": "aggregation", "fields.n.aggregate-function": "nested_update"}
    check(Draw(seed).records(["k", "n"], kinds), ["k", "n"], named)


@given(SEEDS, st.sampled_from(["deduplicate", "aggregation", "partial-update", "first-row"]))
@QUICK
def test_a_record_stands_for_those_on_deeper_levels(seed, engine):
    draw = Draw(seed)
    records = [record | {"_LEVEL": draw.choice([0, 0, 1, 3, 5])} for record in draw.records(["k", "i64"], [0], 16)]
    unique = {(r["k"], r["_LEVEL"] or r["_SEQUENCE_NUMBER"]): r for r in records}
    options = {"merge-engine": engine, "fields.i64.aggregate-function": "sum"}
    if engine == "partial-update":
        del options["fields.i64.aggregate-function"]
    check(list(unique.values()), ["k", "i64"], options, ("_LEVEL", pa.int32()))


@given(SEEDS, st.sampled_from([[0], [0, 2, 3]]), st.sampled_from(["", "q"]))
@QUICK
def test_what_does_not_lose_is_what_a_reader_sees(seed, kinds, sequence):
    columns = ["k", "q", "i64"]
    spec = spec_of(columns, {"sequence.field": sequence} if sequence else {})
    rows = table(Draw(seed).records(columns, kinds), columns)
    seen = rows.filter(pa.array([not lost for lost in losers(rows, spec).to_pylist()]))
    assert sort_rows(seen, spec).equals(drop_deletes(merge(rows, spec)))


def test_losers_of_engines_that_change_rows_are_refused():
    spec = spec_of(["k", "i64"], {"merge-engine": "aggregation"})
    with pytest.raises(UnsupportedError, match="aggregation"):
        losers(table([], ["k", "i64"]), spec)


def test_merging_nothing_gives_nothing():
    for engine in ("deduplicate", "first-row", "partial-update", "aggregation"):
        assert merge(table([], ["k", "s", "a"]), spec_of(["k", "s", "a"], {"merge-engine": engine})).num_rows == 0


def test_equal_sequence_numbers_put_retracts_before_adds():
    records = [{"_SEQUENCE_NUMBER": 5, "_VALUE_KIND": kind, "k": 1, "i64": kind} for kind in (0, 3, 1)]
    merged = merge(table(records, ["k", "i64"]), spec_of(["k", "i64"], {}))
    assert merged.column("i64").to_pylist() == [0]


KEYS = {
    "floats": ([1.5, -0.0, 0.0, float("nan"), float("-inf")], pa.float64(), [4, 1, 2, 0, 3]),
    "floats of 32 bits": ([1.5, -0.0, 0.0, float("nan"), -1.0], pa.float32(), [4, 1, 2, 0, 3]),
    "text by byte": (["b", "", "\uffff", "\U00010000", "B"], pa.string(), [1, 4, 0, 2, 3]),
    "bytes": ([b"\xff", b"", b"\x00", b"\x7f"], pa.binary(), [1, 2, 3, 0]),
    "booleans": ([True, False], pa.bool_(), [1, 0]),
    "narrow decimals": ([Decimal("1.5"), Decimal("-2.0")], pa.decimal128(3, 1), [1, 0]),
    "wide decimals": ([Decimal("1.5"), Decimal(10) ** 30, Decimal("-2.0")], pa.decimal128(38, 1), [2, 0, 1]),
    "times": ([5, -5, 0], pa.timestamp("us"), [1, 2, 0]),
    "far integers": ([2**63 - 1, -(2**63), 0], pa.int64(), [1, 2, 0]),
    "nulls first": ([3, None, -3], pa.int32(), [1, 2, 0]),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_in_the_order_of_paimon(name):
    values, type, order = KEYS[name]
    rows = pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(range(len(values)), pa.int64()),
            "_VALUE_KIND": pa.array([0] * len(values), pa.int8()),
            "c": pa.array([7] * len(values), pa.int64()),
            "v": pa.array(values, type),
        }
    )
    for key in (("v",), ("c", "v"), ("v", "c")):
        assert merge(rows, MergeSpec(key)).column("_SEQUENCE_NUMBER").to_pylist() == order


@given(st.lists(st.text("ab\0\uffff", max_size=9), unique=True, max_size=20), st.text("ab", max_size=9))
@QUICK
def test_text_keys_are_in_byte_order_whatever_they_share(tails, prefix):
    texts = [prefix + tail for tail in tails]
    rows = pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(range(len(texts)), pa.int64()),
            "_VALUE_KIND": pa.array([0] * len(texts), pa.int8()),
            "k": pa.array(texts, pa.string()),
        }
    )
    merged = merge(rows.slice(1), MergeSpec(("k",)))
    assert merged.column("k").to_pylist() == sorted(texts[1:], key=str.encode)


def test_wide_composite_keys_are_packed_without_loss():
    values = [(2**62, "a", -(2**62)), (2**62, "a", 2**62), (-(2**62), "b", 0), (2**62, "", 5)]
    rows = pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(range(4), pa.int64()),
            "_VALUE_KIND": pa.array([0] * 4, pa.int8()),
            "a": pa.array([v[0] for v in values], pa.int64()),
            "b": pa.array([v[1] for v in values]),
            "c": pa.array([v[2] for v in values], pa.int64()),
        }
    )
    assert merge(rows, MergeSpec(("a", "b", "c"))).column("_SEQUENCE_NUMBER").to_pylist() == [2, 3, 0, 1]
