"""The number of buckets changes, the rows do not."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import polynya
from golden_data import golden_table
from polynya.arrow import ingest
from polynya.arrow import rescale as rescaling
from polynya.arrow.ingest import WriteRequest
from polynya.table import entries
from polynya.table.commit import Target

SCHEMA = pa.schema([pa.field("k", pa.int64(), False), pa.field("p", pa.string(), False), ("v", pa.int64())])


def make(folder: Path, key: tuple[str, ...] = ("k", "p"), **options: str) -> polynya.Table:
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    named = {"bucket": "2", **{name.replace("_", "-"): value for name, value in options.items()}}
    table = warehouse.create_table("db.t", SCHEMA, primary_key=key, partition_by=["p"], options=named)
    for turn in range(3):
        table.write(rows(range(50), turn))
    return table


def rows(keys: range, v: int) -> pa.Table:
    return pa.table([list(keys), ["ab"[k % 2] for k in keys], [v] * len(keys)], schema=SCHEMA)


def read(table: polynya.Table) -> list[dict]:
    return table.refresh().scan().to_arrow().sort_by("k").to_pylist()


def counts(table: polynya.Table) -> set[int]:
    return set(entries.read_live(table.root, table.refresh().snapshot)["total_buckets"].to_pylist())


@pytest.mark.parametrize("options", [{}, {"merge_engine": "first-row"}, {"write_only": "true"}])
def test_rows_are_in_the_new_buckets_and_writers_go_on(tmp_path: Path, options: dict[str, str]) -> None:
    table = make(tmp_path, **options)
    before = read(table)
    made = table.rescale(5)
    assert (made.commit_kind, counts(table), read(table)) == ("OVERWRITE", {5}, before)
    assert table.refresh().options["bucket"] == "5"
    table.write(rows(range(50, 60), 9))
    assert len(read(table)) == 60
    assert [row["k"] for row in table.refresh().scan("k = 7").to_arrow().to_pylist()] == [7]
    assert not table.refresh().check(deep=True).problems
    assert table.rescale(5).snapshot_id is None


def test_append_tables_with_vectors_are_rescaled_too(tmp_path: Path) -> None:
    options = {"bucket_key": "k", "deletion-vectors.enabled": "true"}
    table = make(tmp_path, (), **options)
    table.delete("k < 10")
    before = read(table)
    table.rescale(3)
    assert (counts(table), len(read(table)), len(before)) == ({3}, 120, 120)
    assert entries.read_index(table.root, table.refresh().snapshot).num_rows == 0


def test_a_partition_can_be_rescaled_alone(tmp_path: Path) -> None:
    table = make(tmp_path)
    before = read(table)
    table.rescale(4, {"p": "a"})
    assert (counts(table), read(table)) == ({2, 4}, before)
    with pytest.raises(polynya.InvalidInputError, match="has 2 buckets"):
        table.write(rows(range(1, 2), 0))
    table.rescale(4)
    assert (counts(table), read(table)) == ({4}, before)


def test_partitions_with_the_right_number_of_buckets_take_rows_meanwhile(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.rescale(4, {"p": "a"})
    before = len(read(table))
    new = rows(range(200, 203), 0)
    new = new.set_column(new.schema.get_field_index("p"), "p", pa.array(["a"] * new.num_rows))
    table.write(new)
    assert len(read(table)) == before + new.num_rows


def test_rows_of_a_late_writer_are_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, write_only="true")
    original, raced = rescaling._written, []

    def write_late(*args: object) -> object:
        edit = original(*args)
        if not raced:
            raced.append(True)
            _write_with_old_schema(table)
        return edit

    monkeypatch.setattr(rescaling, "_written", write_late)
    table.rescale(4)
    assert (counts(table), len(read(table))) == ({4}, 51)


def _write_with_old_schema(table: polynya.Table) -> None:
    """What a writer does that began before the schema changed."""
    snapshot = table.refresh().snapshot
    ingest.write(Target(table.root, table.schema), snapshot, rows(range(100, 101), 1), WriteRequest())


def test_a_golden_table_of_mixed_counts_becomes_writable(tmp_path: Path) -> None:
    folder = tmp_path / "pk_rescaled"
    shutil.copytree(golden_table("pk_rescaled"), folder)
    table = polynya.open_table(folder)
    key = table.schema.names[0]
    before = table.scan().to_arrow().sort_by([(name, "ascending") for name in table.schema.names])
    table.rescale(4)
    after = table.refresh().scan().to_arrow().sort_by([(name, "ascending") for name in table.schema.names])
    assert (counts(table), after.equals(before), key in after.column_names) == ({4}, True, True)


def test_what_has_no_number_of_buckets_is_refused(tmp_path: Path) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    with pytest.raises(polynya.InvalidInputError, match="no fixed number"):
        warehouse.create_table("db.u", SCHEMA).rescale(3)
    with pytest.raises(polynya.InvalidInputError, match="1 bucket or more"):
        make(tmp_path / "other").rescale(0)
