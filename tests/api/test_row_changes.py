"""Delete and update give the rows that SQL says, on every kind of table, and keep clear of other writers."""

import shutil
import threading
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polynya
from golden_data import golden_table
from polynya.arrow import row_changes
from polynya.paimon import layout, schema_file
from polynya.table import entries
from polynya.table.edit import vectors_by_file

SCHEMA = pa.schema([pa.field("k", pa.int64(), False), ("v", pa.int32()), ("s", pa.string()), ("p", pa.int32())])

KINDS = {
    "vectors": {"deletion-vectors.enabled": "true"},
    "wide vectors": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "vectors in buckets": {"deletion-vectors.enabled": "true", "bucket": "2", "bucket-key": "k"},
    "copies": {},
    "copies in buckets": {"bucket": "2", "bucket-key": "k"},
    "vectors with ids": {"deletion-vectors.enabled": "true", "row-tracking.enabled": "true"},
    "copies with ids": {"row-tracking.enabled": "true"},
    "keys": {"bucket": "2"},
}


def rows(start: int, count: int) -> pa.Table:
    keys = range(start, start + count)
    return pa.table(
        [list(keys), [k % 7 if k % 5 else None for k in keys], [f"s{k}" for k in keys], [k % 2 for k in keys]],
        schema=SCHEMA,
    )


def make(folder: Path, kind: str, partition_by: tuple[str, ...] = ()) -> polynya.Table:
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    key = ("k", *partition_by) if kind == "keys" else ()
    table = warehouse.create_table("db.t", SCHEMA, primary_key=key, partition_by=partition_by, options=KINDS[kind])
    for start in (0, 30, 60):
        table.write(rows(start, 30))
    return table


def read(table: polynya.Table, where: str | None = None) -> list[dict]:
    return table.refresh().scan(where).to_arrow().sort_by("k").to_pylist()


def ids(table: polynya.Table) -> dict[int, list[int]]:
    """The row id and the sequence number of each key."""
    names = ("k", "_ROW_ID", "_SEQUENCE_NUMBER")
    found = table.refresh().scan(columns=names).to_arrow()
    return {k: numbers for k, *numbers in zip(*(found[name].to_pylist() for name in names), strict=True)}


def vectors(table: polynya.Table) -> pa.Table:
    return vectors_by_file(entries.read_index(table.root, table.refresh().snapshot))


def live_names(table: polynya.Table) -> set[str]:
    return set(entries.read_live(table.root, table.refresh().snapshot)["file_name"].to_pylist())


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> polynya.Table:
    return make(tmp_path, request.param)


def test_a_delete_takes_matching_rows_and_leaves_unknown_ones(table: polynya.Table) -> None:
    before = read(table)
    table.delete("v > 3")
    assert read(table) == [row for row in before if row["v"] is None or row["v"] <= 3]
    table.delete("k in (1, 2, 45)")
    table.delete("k in (1, 2, 45, 46)")
    kept = [row for row in before if (row["v"] is None or row["v"] <= 3) and row["k"] not in (1, 2, 45, 46)]
    assert read(table) == kept
    assert not table.refresh().check(deep=True).problems


def test_an_update_changes_matching_rows_only(table: polynya.Table) -> None:
    expected = [
        row | {"v": row["v"] + 100, "s": f"s{row['k']}!"} if row["v"] is not None and row["v"] < 2 else row
        for row in read(table)
    ]
    table.update({"v": "v + 100", "s": "s || '!'"}, "v < 2")
    assert read(table) == expected
    table.update({"v": None}, "k = 50")
    assert read(table, "k = 50")[0]["v"] is None
    assert not table.refresh().check(deep=True).problems


def test_each_row_gets_the_value_of_its_branch_and_no_other_is_computed(table: polynya.Table) -> None:
    expected = [row | {"v": {None: None, 0: -1, 6: 60}.get(row["v"], row["k"])} for row in read(table)]
    branches = "case when v = 0 then -1 when v = 6 then v * 10 when v is null then 2147483647 + v + 1 else k end"
    table.update({"v": branches}, "true")
    assert read(table) == expected


def test_what_matches_nothing_commits_nothing(table: polynya.Table) -> None:
    before = table.refresh().snapshot
    assert table.delete("k > 1000").snapshot_id is None
    assert table.delete("k = 31 and s = 'no'").snapshot_id is None or "bucket" not in table.options
    assert table.update({"v": "1"}, "k > 1000").snapshot_id is None
    assert before is not None


def test_a_delete_of_everything_reads_no_row(table: polynya.Table) -> None:
    made = table.delete("true")
    assert made.commit_kind == "OVERWRITE"
    assert made.added_files == 0
    assert read(table) == []
    table.write(rows(5, 3))
    assert len(read(table)) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_delete_of_partitions_reads_no_row(tmp_path: Path, kind: str) -> None:
    table = make(tmp_path, kind, ("p",))
    made = table.delete("p = 1")
    assert (made.added_files, {row["p"] for row in read(table)}) == (0, {0})
    assert table.refresh().snapshot.operation == "TRUNCATE"


@pytest.mark.parametrize("kind", ["copies", "copies in buckets"])
def test_a_copy_touches_only_files_with_matches(tmp_path: Path, kind: str) -> None:
    table = make(tmp_path, kind)
    before = live_names(table)
    made = table.delete("k = 31")
    assert (made.commit_kind, made.deleted_files, made.record_count) == ("OVERWRITE", 1, -1)
    assert len(before - live_names(table)) == 1


def test_vectors_leave_data_files_alone_and_only_touched_index_files_are_replaced(tmp_path: Path) -> None:
    table = make(tmp_path, "vectors")
    before = live_names(table)
    table.delete("k = 1")
    table.delete("k = 31")
    first = vectors(table)
    assert len(set(first["index_file"].to_pylist())) == 2
    made = table.delete("k in (2, 3)")
    assert (made.commit_kind, made.added_files, made.deleted_files) == ("OVERWRITE", 0, 0)
    after = vectors(table)
    assert live_names(table) == before
    assert sorted(after["cardinality"].to_pylist()) == [1, 3]
    assert len(set(first["index_file"].to_pylist()) & set(after["index_file"].to_pylist())) == 1


def test_a_bucket_has_one_file_of_vectors(tmp_path: Path) -> None:
    table = make(tmp_path, "vectors in buckets")
    for key in (1, 2, 31, 32, 61, 62):
        table.delete(f"k = {key}")
    index = entries.read_index(table.root, table.refresh().snapshot)
    places = list(zip(index["partition"].to_pylist(), index["bucket"].to_pylist(), strict=True))
    assert len(places) == len(set(places))
    assert pc.sum(vectors(table)["cardinality"]).as_py() == 6


def test_vectors_roll_at_the_target_size(tmp_path: Path) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = KINDS["vectors"] | {"deletion-vector.index-file.target-size": "30 b"}
    table = warehouse.create_table("db.t", SCHEMA, options=options)
    for start in (0, 30, 60):
        table.write(rows(start, 30))
    table.delete("v = 1")
    assert len(set(vectors(table)["index_file"].to_pylist())) == 3
    assert not table.refresh().check(deep=True).problems


@pytest.mark.parametrize("kind", ["vectors", "vectors in buckets", "copies"])
def test_a_change_is_done_again_after_a_conflict(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, kind)
    original, raced = row_changes._edit, []

    def write_late(*args: object) -> object:
        draft = original(*args)
        if not raced:
            raced.append(True)
            table.delete("k in (2, 33)")  # the same files
            table.write(rows(90, 5))
        return draft

    monkeypatch.setattr(row_changes, "_edit", write_late)
    expected = [row for row in read(table) if row["k"] not in (1, 2, 33, 34)] + rows(90, 5).to_pylist()
    table.delete("k in (1, 34)")
    assert read(table) == expected
    assert not table.refresh().check(deep=True).problems


def test_vectors_of_one_bucket_are_not_split_by_a_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, "vectors in buckets")
    original, raced = row_changes._edit, []

    def write_late(*args: object) -> object:
        draft = original(*args)
        if not raced:
            raced.append(True)
            table.delete("k between 30 and 59")  # other files of the same buckets, which had no vectors so far
        return draft

    monkeypatch.setattr(row_changes, "_edit", write_late)
    table.delete("k < 5")
    index = entries.read_index(table.root, table.refresh().snapshot)
    assert sorted(index["bucket"].to_pylist()) == [0, 1]
    assert [row["k"] for row in read(table)] == [*range(5, 30), *range(60, 90)]


def test_a_change_conflicts_with_a_compaction_and_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path, "vectors")
    original, raced = row_changes._edit, []

    def write_late(*args: object) -> object:
        draft = original(*args)
        if not raced:
            raced.append(True)
            table.compact(full=True)
        return draft

    monkeypatch.setattr(row_changes, "_edit", write_late)
    table.delete("k = 1")
    assert [row["k"] for row in read(table)] == [0, *range(2, 90)]


def test_many_threads_delete_without_loss(tmp_path: Path) -> None:
    table = make(tmp_path, "vectors")
    threads = [threading.Thread(target=table.delete, args=(f"k = {k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row["k"] for row in read(table)] == list(range(4, 90))


@pytest.mark.parametrize("name", ["dv_append", "dv_append_64", "dv_append_bucketed"])
def test_rows_marked_by_paimon_stay_deleted(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(golden_table(name), folder)
    table = polynya.open_table(folder)
    column = table.schema.names[0]
    before = table.scan().to_arrow()
    some = pc.min(before[column]).as_py()
    table.delete(f"{column} = {some}")
    after = table.refresh().scan().to_arrow()
    expected = before.filter(pc.not_equal(before[column], some))
    assert after.sort_by(column).equals(expected.sort_by(column))
    table.compact(full=True)
    assert table.refresh().scan().to_arrow().sort_by(column).equals(expected.sort_by(column))
    assert vectors(table).num_rows == 0


@pytest.mark.parametrize(
    ("engine", "options", "change", "says"),
    [
        ("aggregation", {}, "delete", "aggregation"),
        ("aggregation", {}, "update", "aggregation"),
        ("first-row", {}, "delete", "first-row"),
        ("partial-update", {}, "delete", "partial-update"),
        ("deduplicate", {"ignore-delete": "true"}, "delete", "ignore-delete"),
    ],
)
def test_engines_that_cannot_take_the_change_refuse_it(
    tmp_path: Path, engine: str, options: dict[str, str], change: str, says: str
) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = {"bucket": "1", "merge-engine": engine, **options}
    table = warehouse.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    table.write(rows(0, 5))
    table.compact(full=True)
    with pytest.raises(polynya.UnsupportedError, match=says):
        table.delete("v = 1") if change == "delete" else table.update({"v": "1"}, "v = 1")


def test_a_partial_update_refuses_values_that_its_merge_would_combine_or_pass_over(tmp_path: Path) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    schema = pa.schema(
        [pa.field("k", pa.int64(), nullable=False), ("g", pa.int64()), ("x", pa.int64()), ("y", pa.int64())]
    )
    options = {"bucket": "1", "merge-engine": "partial-update", "fields.g.sequence-group": "x"}
    table = warehouse.create_table("db.t", schema, primary_key=["k"], options=options)
    summed = {**options, "fields.x.aggregate-function": "sum"}
    sums = warehouse.create_table("db.sums", schema, primary_key=["k"], options=summed)
    for one in (table, sums):
        one.write(pa.table({"k": [1, 2], "g": [1, 1], "x": [10, 20], "y": [5, None]}, schema=schema))
    with pytest.raises(polynya.UnsupportedError, match="'x' is combined by 'sum'"):
        sums.update({"y": 6}, "k = 1")
    with pytest.raises(polynya.UnsupportedError, match="'y' would become null"):
        table.update({"y": None}, "k = 1")
    table.update({"x": None, "y": "y + k"}, "x is not null")
    assert read(table) == [{"k": 1, "g": 1, "x": None, "y": 6}, {"k": 2, "g": 1, "x": None, "y": None}]


@pytest.mark.parametrize(
    ("engine", "option"),
    [
        ("partial-update", "partial-update.remove-record-on-delete"),
        ("aggregation", "aggregation.remove-record-on-delete"),
    ],
)
def test_engines_that_remove_on_delete_take_deletes(tmp_path: Path, engine: str, option: str) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = {"bucket": "1", "merge-engine": engine, option: "true"}
    table = warehouse.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    table.write(rows(0, 5))
    table.delete("k = 3")
    assert [row["k"] for row in read(table)] == [0, 1, 2, 4]


def test_a_kind_column_is_set_by_a_delete(tmp_path: Path) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = {"bucket": "1", "rowkind.field": "s"}
    table = warehouse.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    table.write(rows(0, 3).set_column(2, "s", pa.array(["+I"] * 3)))
    table.delete("k = 1")
    assert [row["k"] for row in read(table)] == [0, 2]


def test_keys_cannot_be_updated(tmp_path: Path) -> None:
    table = make(tmp_path, "keys")
    with pytest.raises(polynya.UnsupportedError, match="'k' is part of the primary key"):
        table.update({"k": "k + 1"}, "k = 1")
    with pytest.raises(polynya.InvalidInputError, match="'nope' does not exist"):
        table.update({"nope": "1"}, "k = 1")


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("kind", ["vectors with ids", "copies with ids"])
def test_rows_keep_their_ids_and_those_that_change_get_the_number_of_the_commit(
    tmp_path: Path, kind: str, format: str
) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = KINDS[kind] | {"file.format": format, "metadata.stats-mode": "none"}
    table = warehouse.create_table("db.t", SCHEMA, partition_by=["p"], options=options)
    for start in (0, 5, 10):
        table.write(rows(start, 5))
    expected = ids(table)
    assert sorted(number for number, _ in expected.values()) == list(range(15))
    changed = table.update({"s": "'new'"}, "k in (1, 2, 7)").snapshot_id
    expected |= {k: [expected[k][0], changed] for k in (1, 2, 7)}
    assert ids(table) == expected
    table.delete("k in (2, 3, 4)")
    expected = {k: known for k, known in expected.items() if k not in (2, 3, 4)}
    assert ids(table) == expected
    assert table.compact(full=True).commit_kind == "COMPACT"
    assert ids(table) == expected
    changed = table.update({"v": "k"}, "k = 1 or k = 14").snapshot_id
    expected |= {k: [expected[k][0], changed] for k in (1, 14)}
    assert ids(table) == expected
    table.compact(order_by=["s"])
    assert ids(table) == expected
    table.write(rows(20, 2))
    assert {ids(table)[k][0] for k in (20, 21)} == {15, 16}
    assert table.refresh().check(deep=True).is_sound


def test_files_that_java_compacted_are_changed_and_compacted(tmp_path: Path) -> None:
    folder = tmp_path / "row_tracking"
    shutil.copytree(golden_table("row_tracking"), folder)
    table = polynya.open_table(folder)
    table.update({"v": "upper(v)"}, "id in (2, 4)")
    table.delete("id = 1")
    table.compact(full=True)
    found = table.refresh().system("row_tracking").sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in found] == [(2, "B", 1, 5), (3, "c", 2, 2), (4, "D", 3, 5)]


def test_rows_without_ids_on_a_table_with_them_are_not_written_anew(tmp_path: Path) -> None:
    table = make(tmp_path, "copies")
    tracked = replace(table.schema, id=1, options=KINDS["copies with ids"])
    table.root.storage.put_new(layout.schema_name(1), schema_file.encode(tracked))
    for change in (lambda: table.compact(full=True), lambda: table.update({"v": "1"}, "k = 1")):
        with pytest.raises(polynya.CorruptFileError, match="expected rows with ids"):
            change()
    assert len(read(table)) == 90
    assert len(list(tmp_path.rglob("data-*"))) == 3


@pytest.mark.parametrize("name", ["data_evolution", "data_evolution_dv"])
def test_tables_whose_files_hold_some_of_the_columns_are_refused_by_name(tmp_path: Path, name: str) -> None:
    shutil.copytree(golden_table(name), tmp_path / name)
    table = polynya.open_table(tmp_path / name)
    for change in (lambda: table.delete("true"), lambda: table.update({"a": "1"}, "id = 1"), table.compact):
        with pytest.raises(polynya.UnsupportedError, match=r"option 'data-evolution.enabled'"):
            change()


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(KINDS)),
    st.lists(st.tuples(st.sampled_from(["delete", "update", "write", "compact"]), st.integers(0, 70)), max_size=6),
)
def test_any_history_of_changes_reads_as_the_same_history_of_a_dict(
    tmp_path_factory: pytest.TempPathFactory, kind: str, history: list[tuple[str, int]]
) -> None:
    table = make(tmp_path_factory.mktemp("history"), kind)
    expected = {row["k"]: row for row in rows(0, 90).to_pylist()}
    before = {row["k"]: row["k"] for row in expected.values()}
    for step, (action, at) in enumerate(history):
        if action == "delete":
            table.delete(f"k between {at} and {at + 9}")
            expected = {k: row for k, row in expected.items() if not at <= k <= at + 9}
        elif action == "update":
            table.update({"s": f"'u{step}'"}, f"k between {at} and {at + 9} and v is not null")
            hit = [k for k, row in expected.items() if at <= k <= at + 9 and row["v"] is not None]
            expected |= {k: expected[k] | {"s": f"u{step}"} for k in hit}
        elif action == "write":
            new = rows(100 + 10 * step, 5)
            table.write(new)
            expected |= {row["k"]: row for row in new.to_pylist()}
        else:
            table.compact(full=at % 2 == 0)
        if "ids" in kind:
            after = {k: number for k, (number, _) in ids(table).items()}
            assert all(after[k] == number for k, number in before.items() if k in expected)
            assert len(set(after.values())) == len(expected)
            before = after
    assert read(table) == [expected[k] for k in sorted(expected)]


EXPRESSIONS = pa.schema(
    [
        pa.field("i", pa.int32()),
        pa.field("b", pa.int64()),
        pa.field("d", pa.float64()),
        pa.field("x", pa.decimal128(10, 2)),
        pa.field("s", pa.string()),
        pa.field("t", pa.date32()),
    ]
)


@pytest.fixture
def one_row(tmp_path: Path) -> polynya.Table:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", EXPRESSIONS)
    row = {"i": 7, "b": 10, "d": 0.5, "x": Decimal("1.25"), "s": " Ab ", "t": date(2026, 1, 1)}
    table.write(pa.Table.from_pylist([row], schema=EXPRESSIONS))
    return table


@pytest.mark.parametrize(
    ("column", "expression", "expected"),
    [
        ("i", "i * 2 + 1", 15),
        ("i", "-i", -7),
        ("b", "b + i", 17),
        ("d", "b / 4", 2.5),
        ("d", "d * 1.5", 0.75),
        ("x", "x * 1.1", Decimal("1.38")),
        ("x", "3", Decimal("3.00")),
        ("s", "upper(trim(s)) || '-' || 'c'", "AB-c"),
        ("s", "concat(s, lower(s))", " Ab  ab "),
        ("s", "case when i > 5 then 'big' when i is null then 'none' else 'small' end", "big"),
        ("s", "case i when 7 then 'seven' end", "seven"),
        ("s", "if(i = 8, 'a', null)", None),
        ("i", "coalesce(null, i)", 7),
        ("i", "abs(-3)", 3),
        ("t", "DATE '2026-02-03'", date(2026, 2, 3)),
        ("t", date(2026, 2, 4), date(2026, 2, 4)),
        ("d", 1.5, 1.5),
        ("s", "null", None),
        ("d", "case when i <> 7 then 1 / (i - 7) else 2.5 end", 2.5),
        ("d", "coalesce(d, 1 / (i - 7))", 0.5),
        ("d", "coalesce(null, null, b)", 10.0),
        ("s", "coalesce(null, null)", None),
        ("s", "trim('\t a ')", "\t a"),
    ],
)
def test_expressions_give_what_sql_says(
    one_row: polynya.Table, column: str, expression: object, expected: object
) -> None:
    one_row.update({column: expression}, "i = 7")
    assert one_row.refresh().scan().to_arrow()[column].to_pylist() == [expected]


@pytest.mark.parametrize(
    ("column", "expression", "error", "says"),
    [
        ("i", "i + 2147483647", polynya.InvalidInputError, "overflow"),
        ("d", "1 / 0", polynya.InvalidInputError, "division by zero"),
        ("i", object(), polynya.InvalidInputError, "expected a value or the text of an SQL expression, found <object"),
        ("i", "rand()", polynya.UnsupportedError, "rand"),
        ("i", "cast(s as int)", polynya.UnsupportedError, "expression: cast is not supported"),
        ("s", "ltrim(s)", polynya.UnsupportedError, "trim"),
        ("s", "trim(trailing from s)", polynya.UnsupportedError, "trim"),
        ("i", "(select 1)", polynya.UnsupportedError, "subquery"),
        ("i", "i +", polynya.InvalidInputError, "missing"),
        ("i", "nope + 1", polynya.PolynyaError, "nope"),
        ("i", "s", polynya.InvalidInputError, "expected int32"),
        ("s", "i || 'a'", polynya.UnsupportedError, "casts"),
    ],
)
def test_expressions_that_have_no_value_are_refused_before_a_byte_is_written(
    one_row: polynya.Table, column: str, expression: str, error: type[Exception], says: str
) -> None:
    snapshot = one_row.refresh().snapshot
    with pytest.raises(error, match=says):
        one_row.update({column: expression}, "i = 7")
    assert one_row.refresh().snapshot == snapshot


def test_every_row_can_be_updated(table: polynya.Table) -> None:
    table.update({"s": "'all'"}, "true")
    assert {row["s"] for row in read(table)} == {"all"}
    assert table.delete("false").snapshot_id is None
