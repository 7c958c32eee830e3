"""Checks: Java's tables are sound, damaged ones are reported with what, where and what to do."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polynya
from commit_cases import append_of, author, files_of, latest, new_file, new_target, store_files, table_schema, vectors
from fault_storage import FaultPlan, FaultStorage
from golden_data import golden_names, golden_table
from polynya.paimon import index_manifest
from polynya.paimon import snapshot as snapshots
from polynya.paimon.layout import manifest_path
from polynya.paimon.manifest import DELETE
from polynya.storage import MemoryStorage
from polynya.table import check
from polynya.table.commit import commit
from polynya.table.edit import Change, Edit
from polynya.table.history import TableRoot

#: Its partition folder was named in the zone of the Java process, which no metadata tells.
WRITTEN_IN_ANOTHER_ZONE = {"tz_kolkata_part_new"}


@pytest.mark.parametrize("chunk", range(4))
def test_golden_tables_are_sound(chunk):
    unsound = {}
    for name in golden_names()[chunk::4]:
        report = polynya.open_table(golden_table(name)).check(deep=True)
        if not report.is_sound and name not in WRITTEN_IN_ANOTHER_ZONE:
            unsound[name] = str(report)
    assert unsound == {}


@pytest.fixture
def table(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    made = warehouse.create_table("db.t", pa.schema([("p", pa.int32()), ("v", pa.string())]), partition_by=["p"])
    for value in ("a", "b", "c"):
        made.write(pa.table({"p": pa.array([1, 2], pa.int32()), "v": [value, value]}))
    return made.refresh()


def only(report):
    assert len(report.problems) == 1, str(report)
    return report.problems[0]


def files_under(table, pattern):
    return sorted(Path(table.location).glob(pattern))


def test_a_sound_table_says_so(table):
    assert str(table.check(deep=True)) == "sound"


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("p=1/bucket-0/data-*", "data file is missing"),
        ("manifest/manifest-list-*-0", "manifest list is missing"),
        ("manifest/manifest-[0-9a-f]*-0", "manifest is missing"),
    ],
)
def test_a_missing_file_is_reported(table, pattern, what):
    gone = files_under(table, pattern)[0]
    gone.unlink()
    problem = only(table.check())
    assert what in problem.what
    assert problem.where.endswith(gone.name)
    assert "restore" in problem.repair


@pytest.mark.parametrize(
    "pattern", ["p=2/bucket-0/data-*", "manifest/manifest-list-*-1", "manifest/manifest-[0-9a-f]*-0"]
)
def test_a_cut_file_is_reported_with_both_sizes(table, pattern):
    cut = files_under(table, pattern)[0]
    size = cut.stat().st_size
    cut.write_bytes(cut.read_bytes()[:-1])
    assert f"has {size - 1} bytes, expected {size}" in only(table.check()).what


def test_a_gap_in_the_snapshots_is_reported(table):
    files_under(table, "snapshot/snapshot-2")[0].unlink()
    assert "snapshots 2 to 2 are missing" in only(table.check()).what


@pytest.mark.parametrize(
    ("hint", "content"), [("LATEST", b"9"), ("LATEST", b"x"), ("EARLIEST", b"2"), ("EARLIEST", b"7")]
)
def test_a_wrong_hint_is_reported(table, hint, content):
    (files_under(table, "snapshot")[0] / hint).write_bytes(content)
    problem = only(table.check())
    assert problem.where == f"snapshot/{hint}"
    assert ("one of snapshots 1 to " if hint == "LATEST" else "expected snapshot 1") in problem.what
    assert "delete the hint" in problem.repair


def test_a_hint_that_lags_behind_is_fine(table):
    (files_under(table, "snapshot")[0] / "LATEST").write_bytes(b"1")
    assert table.check().is_sound


def test_a_table_that_others_write_to_meanwhile_is_sound():
    target = new_target()

    class Busy(FaultStorage):
        """Somebody commits before every read and after every listing."""

        def read(self, name):
            self.commit()
            return super().read(name)

        def list(self, folder, *, recursive=False):
            yield from super().list(folder, recursive=recursive)
            self.commit()

        def commit(self):
            change = append_of(new_file(f"f{len(self.plan.calls)}"))
            store_files(target, change.append.files)
            commit(target, change, author("busy", len(self.plan.calls)))

    busy = Busy(target.root.storage, FaultPlan())
    busy.commit()
    assert str(check.check(TableRoot(busy), target.schema, latest(target))) == "sound"


def test_a_damaged_snapshot_is_reported(table):
    files_under(table, "snapshot/snapshot-2")[0].write_bytes(b"{")
    first = table.check().problems[0]
    assert "cannot be read" in first.what
    assert first.where == "snapshot/snapshot-2"


@pytest.mark.parametrize("pattern", ["manifest/manifest-list-*-0", "manifest/manifest-[0-9a-f]*-0"])
def test_a_damaged_file_of_the_right_size_is_reported(table, pattern):
    damaged = files_under(table, pattern)[0]
    damaged.write_bytes(bytes(damaged.stat().st_size))
    assert f"'manifest/{damaged.name}': expected an Avro container" in only(table.check()).what


def test_a_missing_schema_is_reported(table):
    shutil.copy(files_under(table, "schema/schema-0")[0], files_under(table, "schema")[0] / "schema-3")
    files_under(table, "schema/schema-0")[0].unlink()
    assert any(problem.where == "schema/schema-0" for problem in table.check().problems)


def test_wrong_counts_are_reported(table):
    path = files_under(table, "snapshot/snapshot-3")[0]
    path.write_bytes(path.read_bytes().replace(b'"totalRecordCount" : 6', b'"totalRecordCount" : 7'))
    report = table.check()
    assert [problem.where for problem in report.problems] == ["snapshot/snapshot-3"] * len(report.problems)
    assert "totalRecordCount is 7" in report.problems[0].what


def test_a_data_file_with_other_rows_is_reported_by_a_deep_check(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", pa.schema([("v", pa.int64())]))
    table.write(pa.table({"v": [1, 2, 3]}))
    [data_file] = files_under(table, "bucket-0/data-*")
    size = data_file.stat().st_size
    for length in range(size):  # a sound file of the recorded size, with a row less
        with pq.ParquetWriter(data_file, pa.schema([("v", pa.int64())]), store_schema=False) as writer:
            writer.write_table(pa.table({"v": [1, 2]}))
            writer.add_key_value_metadata({"note": "x" * length})
        if data_file.stat().st_size >= size:
            break
    assert data_file.stat().st_size == size
    table = table.refresh()
    assert table.check().is_sound
    assert only(table.check(deep=True)).what == "data file holds 2 rows, expected 3"


def test_overlapping_keys_on_one_level_are_reported():
    target = new_target(schema=table_schema(primary_key=["p", "k"]))
    files = [new_file(name, keys=keys, level=3, total_buckets=2) for name, keys in (("a", (1, 5)), ("b", (5, 9)))]
    store_files(target, files_of(*files))
    commit(target, append_of(*files), author())
    assert (
        "its keys overlap another file of level 3" in only(check.check(target.root, target.schema, latest(target))).what
    )


def test_a_deletion_vector_of_a_dead_file_is_reported():
    target = new_target()
    target.root.storage.put("index/i1", bytes(10))
    store_files(target, files_of(new_file("a")))
    change = Change(Edit(files_of(new_file("a")), index=vectors("i1", "a")))
    commit(target, change, author("1"))
    assert check.check(target.root, target.schema, latest(target)).is_sound
    stray = manifest_path(latest(target).index_manifest)
    target.root.storage.put(stray, index_manifest.encode(vectors("i1", "b"), codec="null", level=1))
    problem = only(check.check(target.root, target.schema, latest(target)))
    assert problem.what == "deletion vector of data file b, which is not live in snapshot 1"
    assert problem.where == "index/i1"


def test_a_cut_index_file_is_reported_of_whichever_snapshot():
    target = new_target()
    store_files(target, files_of(new_file("a")))
    commit(target, append_of(new_file("a")), author("1"))
    commit(target, Change(Edit(index=vectors("i1", "a"))), author("2"))
    commit(
        target, Change(Edit(index=pa.concat_tables([vectors("i1", "a", kind=DELETE), vectors("i2", "a")]))), author("3")
    )
    commit(target, append_of(new_file("a", 2)), author("4"))
    store_files(target, files_of(new_file("a", 2)))
    for name in ("i1", "i2"):
        target.root.storage.put(f"index/{name}", bytes(10))
    assert check.check(target.root, target.schema, latest(target)).is_sound
    target.root.storage.put("index/i1", bytes(9))
    assert "index file has 9 bytes, expected 10" in only(check.check(target.root, target.schema, latest(target))).what
    target.root.storage.delete(["index/i1"])
    assert only(check.check(target.root, target.schema, latest(target))).what == "index file is missing"


def test_the_table_is_listed_once_and_no_file_is_measured():
    target = new_target(MemoryStorage("memory://listed-once"))
    for number in range(5):
        store_files(target, files_of(new_file(f"f{number}")))
        commit(target, append_of(new_file(f"f{number}")), author(f"u{number}"))
    plan = FaultPlan()
    root = TableRoot(FaultStorage(target.root.storage, plan))
    assert check.check(root, target.schema, latest(target)).is_sound
    assert sum(verb == "list" and not name for verb, name in plan.calls) == 1
    assert not [name for verb, name in plan.calls if verb == "size"]


def test_an_unknown_snapshot_key_is_no_problem(table):
    path = files_under(table, "snapshot/snapshot-3")[0]
    made = snapshots.decode(path.read_bytes(), name="s")
    path.write_bytes(snapshots.encode(made).replace(b'"version" : 3', b'"version" : 3,\n  "later" : 1'))
    assert table.check().is_sound
