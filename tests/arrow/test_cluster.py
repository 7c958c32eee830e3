"""Tables rewritten in another order hold the same rows, nearer to each other."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import polynya
from polynya.arrow import cluster, curve
from polynya.arrow.compact_table import compactor_of, state_of
from polynya.table import entries
from polynya.table.commit import Target
from polynya.table.compaction import Within, bucket_tasks

SCHEMA = pa.schema([("a", pa.int32()), ("b", pa.int32()), ("s", pa.string())])


def make(folder: Path, **options: str) -> polynya.Table:
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    table = warehouse.create_table("db.t", SCHEMA, options=named)
    rng = np.random.default_rng(7)
    for _ in range(3):
        a, b = rng.integers(0, 100, 500), rng.integers(0, 100, 500)
        texts = [f"{x}/{y}" if x % 10 else None for x, y in zip(a, b, strict=True)]
        table.write(pa.table([pa.array(a, pa.int32()), pa.array(b, pa.int32()), texts], schema=SCHEMA))
    return table


def content(table: polynya.Table) -> list[dict]:
    return table.refresh().scan().to_arrow().sort_by([(name, "ascending") for name in SCHEMA.names]).to_pylist()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_hilbert_curve_visits_neighbours_one_after_the_other(dimensions: int) -> None:
    bits = 3
    cells = np.array(list(itertools.product(range(2**bits), repeat=dimensions)))
    axes = [cells[:, axis].copy() for axis in range(dimensions)]
    place = curve.interleaved(curve._unrolled(axes, bits), bits)
    assert sorted(place) == list(range(len(cells)))
    steps = np.abs(np.diff(cells[np.argsort(place)], axis=0)).sum(axis=1)
    assert set(steps) == {1}


def test_the_z_order_takes_the_bits_in_turns() -> None:
    assert curve.interleaved([np.array([0b10]), np.array([0b01])], 2).tolist() == [0b1001]


@pytest.mark.parametrize("order", curve.ORDERS)
def test_the_rows_stay_and_the_files_are_replaced_by_an_overwrite(tmp_path: Path, order: str) -> None:
    table = make(tmp_path, deletion_vectors__enabled="true")
    table.delete("a < 10")
    before = content(table)
    made = table.compact(order_by=["a", "b"], order=order)
    assert (made.commit_kind, made.added_files, made.deleted_files) == ("OVERWRITE", 1, 3)
    assert content(table) == before
    assert entries.read_index(table.root, table.refresh().snapshot).num_rows == 0
    assert not table.refresh().check(deep=True).problems


def test_sorting_goes_by_one_column_after_the_other_with_nulls_first(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.compact(order_by=["s", "a"], order="sort")
    found = table.refresh().scan().to_arrow()
    expected = found.sort_by([("s", "ascending"), ("a", "ascending")])
    nulls = found["s"].null_count
    assert found["s"][:nulls].null_count == nulls
    assert found["s"][nulls:].to_pylist() == expected["s"].to_pylist()[: len(found) - nulls]
    assert found["a"][:nulls].to_pylist() == sorted(found["a"][:nulls].to_pylist())


@pytest.mark.parametrize("order", ["zorder", "hilbert"])
def test_rows_near_each_other_in_both_columns_come_near_each_other(tmp_path: Path, order: str) -> None:
    table = make(tmp_path)
    table.compact(order_by=["a", "b"], order=order)
    found = table.refresh().scan().to_arrow()
    spans = [
        pc.max(part[name]).as_py() - pc.min(part[name]).as_py()
        for start in range(0, 1500, 100)
        for part in [found.slice(start, 100)]
        for name in ("a", "b")
    ]
    assert np.mean(spans) < 50


def test_a_small_budget_takes_several_rounds_and_gives_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    target = Target(table.root, table.schema)
    state = state_of(target, Within())
    (task,) = bucket_tasks(state)
    monkeypatch.setattr(cluster, "WRITE_ROWS", 100)
    wanted = cluster.Clustering(("a", "b"), "zorder")
    rounds = list(cluster._rounds(compactor_of(target, state, 1), task, 0, 1500))
    assert len(rounds) == 15
    small, large = (cluster.rewrite(compactor_of(target, state, size), task, wanted) for size in (1, 2**30))
    assert small["row_count"].to_pylist() == large["row_count"].to_pylist() == [1500]
    tables = [table.root.storage.read(f"bucket-0/{entries['file_name'][0]}") for entries in (small, large)]
    assert pq.read_table(pa.BufferReader(tables[0])).equals(pq.read_table(pa.BufferReader(tables[1])))


def test_what_has_no_other_order_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path)
    with pytest.raises(polynya.InvalidInputError, match="'nope' does not exist"):
        table.compact(order_by=["nope"])
    with pytest.raises(polynya.InvalidInputError, match="order must be one of"):
        table.compact(order_by=["a"], order="best")
    with pytest.raises(polynya.InvalidInputError, match="expected columns"):
        table.compact(order="sort")
    warehouse = polynya.open_warehouse(tmp_path)
    keyed = warehouse.create_table(
        "db.k", pa.schema([pa.field("k", pa.int32(), False)]), primary_key=["k"], options={"bucket": "1"}
    )
    with pytest.raises(polynya.UnsupportedError, match="only append tables"):
        keyed.compact(order_by=["k"])
    assert table.compact(order_by=["a"], dry_run=True).file_count == 3
