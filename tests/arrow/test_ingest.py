"""Writing rows without Spark: what is wrong is refused, and leaves nothing behind."""

import dataclasses
import errno
import gc
import os
import resource
from pathlib import Path

import pyarrow as pa
import pytest

import polynya
from commit_cases import names_in
from fault_storage import FaultPlan, FaultStorage
from polynya import api
from polynya.api.table import open_root
from polynya.arrow import ingest
from polynya.arrow.ingest import WriteRequest
from polynya.arrow.write import OPEN_BUCKETS_MAX
from polynya.errors import CommitUnknownError, ConflictError, InvalidInputError, StorageError
from polynya.paimon import schema_file
from polynya.storage import MemoryStorage
from polynya.table import history
from polynya.table.commit import Author, Target
from polynya.table.history import TableRoot

SCHEMA = pa.schema(
    [
        pa.field("p", pa.int32()),
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("at", pa.timestamp("us")),
    ]
)


def rows(*ids, p=1, **others):
    return pa.table({"p": pa.array([p] * len(ids), pa.int32()), "id": list(ids), **others})


def new_table(warehouse, **others):
    warehouse.create_database("db", exist_ok=True)
    return warehouse.create_table("db.t", SCHEMA, partition_by=["p"], **others)


@pytest.fixture
def table():
    return new_table(api.Warehouse(MemoryStorage()))


def ids(table):
    return sorted(table.refresh().scan(columns=["id"]).to_arrow()["id"].to_pylist())


def test_rows_are_read_back(table):
    made = table.write(rows(1, 2))
    assert (made.snapshot_id, made.added_files, made.record_count) == (1, 1, 2)
    table.write(rows(3, p=2))
    assert ids(table) == [1, 2, 3]
    assert table.refresh().check(deep=True).is_sound


def test_batches_and_readers_are_taken_too(table):
    table.write(rows(1).to_batches()[0])
    table.write(rows(2).to_reader())
    table.write(iter(rows(3, 4).to_batches(1)))
    assert ids(table) == [1, 2, 3, 4]


def test_no_rows_make_no_snapshot(table):
    assert table.write(rows()).snapshot_id is None
    assert table.refresh().snapshot is None


BAD = {
    "unknown column": (rows(1, nam=["x"]), "no column 'nam'; did you mean 'name'"),
    "wrong type": (rows(1, name=[5]), "column 'name': expected string, found int64"),
    "a fraction for an integer": (
        pa.table({"p": pa.array([1], pa.int32()), "id": [1.5]}),
        "column 'id': expected int64, found double",
    ),
    "too large": (
        pa.table({"p": pa.array([2**40], pa.int64()), "id": [1]}),
        "column 'p': int64 does not fit int32",
    ),
    "a zone invented": (rows(1, at=pa.array([0], pa.timestamp("us", "UTC"))), "column 'at': expected timestamp"),
    "null in NOT NULL": (
        pa.table({"p": pa.array([1], pa.int32()), "id": pa.array([None], pa.int64())}),
        "'id' is NOT NULL, found 1 nulls",
    ),
    "missing NOT NULL": (pa.table({"p": pa.array([1], pa.int32())}), "'id' is NOT NULL and missing"),
    "a list of things": ([1, 2], "expected Arrow record batches, found int"),
    "nothing at all": (5, "expected an Arrow table, batch or reader, found int"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rows_are_refused_and_leave_nothing(table, case):
    data, message = BAD[case]
    before = names_in(table.root.storage)
    with pytest.raises(InvalidInputError, match=message):
        table.write(data)
    assert names_in(table.root.storage) == before


def nested(type, value, found):
    """The column as the table has it, the rows, and what is wrong with them."""
    return pa.field("a", type), pa.array([value, None], found)


REQUIRED = pa.field("element", pa.int32(), nullable=False)
NESTED_BAD = {
    "numbers for texts": (nested(pa.list_(pa.string()), [1], pa.list_(pa.int64())), "may not fit"),
    "a zone lost": (nested(pa.list_(pa.timestamp("us")), [0], pa.list_(pa.timestamp("us", "UTC"))), "may not fit"),
    "fractions": (nested(pa.list_(pa.int32()), [1.0], pa.list_(pa.float64())), "may not fit"),
    "an unknown member": (
        nested(pa.struct([("x", pa.int32())]), {"q": 1}, pa.struct([("q", pa.int32())])),
        "may not fit",
    ),
    "a text member": (
        nested(pa.struct([("x", pa.string())]), {"x": 1}, pa.struct([("x", pa.int32())])),
        "may not fit",
    ),
    "a null element": (nested(pa.list_(REQUIRED), [None], pa.list_(pa.int32())), "'a.element' is NOT NULL"),
    "a null value": (
        nested(pa.map_(pa.string(), REQUIRED.with_name("value")), [("k", None)], pa.map_(pa.string(), pa.int32())),
        "'a.value' is NOT NULL",
    ),
    "a number too large": (nested(pa.float32(), 1e300, pa.float64()), "a number is too large"),
    "a number inside too large": (
        nested(pa.list_(pa.float32()), [1e300], pa.list_(pa.float64())),
        "a number is too large",
    ),
}


@pytest.mark.parametrize("case", NESTED_BAD)
def test_bad_values_inside_of_others_are_refused(case):
    (column, data), message = NESTED_BAD[case]
    warehouse = api.Warehouse(MemoryStorage())
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", pa.schema([column]))
    before = names_in(table.root.storage)
    with pytest.raises(InvalidInputError, match=message):
        table.write(pa.table({"a": data}))
    assert names_in(table.root.storage) == before
    with pytest.raises(InvalidInputError, match=message):
        table.write(pa.table({"a": pa.concat_arrays([pa.nulls(3, data.type), data]).slice(3)}))


def test_a_text_that_is_no_utf8_is_refused(table):
    text = pa.StringArray.from_buffers(1, pa.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0])), pa.py_buffer(b"\xff"))
    with pytest.raises(InvalidInputError, match="column 'name': expected sound Arrow data"):
        table.write(rows(1, name=text))


def test_members_are_matched_by_name_and_doubles_are_rounded():
    warehouse = api.Warehouse(MemoryStorage())
    warehouse.create_database("db")
    wanted = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.float32()))])
    table = warehouse.create_table("db.t", pa.schema([("a", wanted)]))
    table.write(pa.table({"a": [{"y": [0.5, float("inf")], "x": 1}, {"y": None, "x": 2}]}))
    table.write(pa.table({"a": [{"x": 3}]}))
    expected = [{"x": 1, "y": [0.5, float("inf")]}, {"x": 2, "y": None}, {"x": 3, "y": None}]
    assert table.refresh().scan().to_arrow()["a"].to_pylist() == expected


def test_a_bad_batch_in_the_middle_takes_the_good_ones_back(table):
    before = names_in(table.root.storage)
    batches = [rows(1).to_batches()[0], rows(2, p=2).to_batches()[0], rows(3, nope=[1]).to_batches()[0]]
    with pytest.raises(InvalidInputError, match="no column 'nope'"):
        table.write(iter(batches))
    assert names_in(table.root.storage) == before


def test_a_source_that_breaks_in_the_middle_leaves_nothing(table):
    def broken():
        yield rows(1).to_batches()[0]
        raise OSError("the source is gone")

    before = names_in(table.root.storage)
    with pytest.raises(OSError, match="the source is gone"):
        table.write(broken())
    assert names_in(table.root.storage) == before


def test_a_bad_batch_takes_the_indexes_of_finished_files_back():
    options = {"file-index.bloom-filter.columns": "id", "file-index.in-manifest-threshold": "1 b"}
    table = new_table(api.Warehouse(MemoryStorage()), options=options | {"target-file-row-num": "1"})
    before = names_in(table.root.storage)
    with pytest.raises(InvalidInputError, match="no column 'nope'"):
        table.write(iter([*rows(1, 2).to_batches(), *rows(3, nope=[1]).to_batches()]))
    assert names_in(table.root.storage) == before


def test_a_file_that_is_given_up_is_given_up_quietly(tmp_path, capsys):
    table = new_table(polynya.open_warehouse(tmp_path))
    with pytest.raises(InvalidInputError, match="no column 'nope'"):
        table.write(iter([*rows(1, 2).to_batches(), *rows(3, nope=[1]).to_batches()]))
    gc.collect()
    assert capsys.readouterr().err == ""


def test_a_batch_of_many_partitions_needs_few_open_files(tmp_path):
    table = new_table(polynya.open_warehouse(tmp_path))
    batches = [
        pa.record_batch({"p": pa.array(range(start, start + 100), pa.int32()), "id": range(100)}) for start in (0, 10)
    ]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 2 * OPEN_BUCKETS_MAX + 20, limit[1]))
    try:
        made = table.write(batches)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert (made.record_count, made.added_files) == (200, 100 + (100 - OPEN_BUCKETS_MAX))


def test_overlong_values_are_refused():
    columns = '"fields":[{"id":0,"name":"s","type":"VARCHAR(3)"}],"highestFieldId":0'
    text = f'{{"version":3,"id":0,{columns},"partitionKeys":[],"primaryKeys":[],"options":{{}},"timeMillis":0}}'
    storage = MemoryStorage()
    storage.put("schema/schema-0", text.encode())
    table = open_root(TableRoot(storage))
    with pytest.raises(InvalidInputError, match="column 's': expected at most 3 characters or bytes, found 4"):
        table.write(pa.table({"s": ["okay"]}))
    assert table.write(pa.table({"s": ["öäü"]})).record_count == 1


@pytest.mark.parametrize(
    ("partition", "message"),
    [({"q": 1}, "q"), ({"p": "x"}, "p"), ({"name": "a"}, "name")],
    ids=["unknown", "wrong type", "not a partition column"],
)
def test_a_bad_partition_is_refused(table, partition, message):
    table.write(rows(1))
    before = names_in(table.root.storage)
    with pytest.raises(InvalidInputError, match=message):
        table.write(rows(2), mode="overwrite", partition=partition)
    assert names_in(table.root.storage) == before


def test_rows_outside_of_the_overwritten_partition_are_refused(table):
    with pytest.raises(InvalidInputError, match="another value of 'p'"):
        table.write(rows(2, p=2), mode="overwrite", partition={"p": 1})


def test_row_kinds_of_a_table_without_a_key_are_inserts_or_refused(table):
    table.write(rows(1, kind=["+I"]), rowkind="kind")
    with pytest.raises(InvalidInputError, match=r"only \+I, found others in 'kind'"):
        table.write(rows(2, 3, kind=["+I", "-D"]), rowkind="kind")
    assert ids(table) == [1]


def test_overwrites_replace_what_they_name(table):
    table.write(rows(1, p=1))
    table.write(rows(2, p=2))
    table.write(rows(3, p=1), mode="overwrite")
    assert ids(table) == [2, 3]
    table.write(rows(4, p=2), mode="overwrite", partition={"p": 2})
    assert ids(table) == [3, 4]
    table.write(rows(p=2), mode="overwrite", partition={"p": 2})
    assert ids(table) == [3]


def test_a_repeated_commit_writes_nothing_again(table):
    author = Author("job", 1)
    first = table.write(rows(1), author=author)
    before = names_in(table.root.storage)
    assert table.write(rows(1), author=author) == first
    assert names_in(table.root.storage) == before


# A schema that changes while a writer is at work


def test_rows_written_under_an_old_schema_are_read_under_the_new_one(table):
    old = table.schema
    storage = table.root.storage
    text = schema_file.encode(dataclasses.replace(old, id=1)).decode()
    # A column is added in front: by position every value would be misread, by id none is.
    first = text.index('"fields" : [ {')
    text = text[:first] + '"fields" : [ {\n "id" : 9, "name" : "new", "type" : "STRING"\n }, {' + text[first + 14 :]
    storage.put("schema/schema-1", text.replace('"highestFieldId" : 3', '"highestFieldId" : 9').encode())
    made = ingest.write(Target(table.root, old), None, rows(7, name=["n"]), WriteRequest())
    assert made.snapshot_id == 1
    found = table.refresh()
    assert found.snapshot.schema_id == 1
    assert found.scan().to_arrow().to_pylist() == [{"new": None, "p": 1, "id": 7, "name": "n", "at": None}]


# A store that fails


def test_a_failure_at_any_call_leaves_nothing_visible_and_no_data_files(table):
    table.write(rows(1))

    def attempt(fail_at):
        plan = FaultPlan(fail_at)
        root = TableRoot(FaultStorage(table.root.storage, plan))
        view = dataclasses.replace(table, root=root)
        try:
            view.write(rows(2))
        except CommitUnknownError:
            return plan, "unknown"
        except StorageError:
            return plan, "failed"
        return plan, "written"

    total = len(attempt(0)[0].calls)
    for fail_at in range(1, total + 1):
        before, data = ids(table), set(files(table))
        outcome = attempt(fail_at)[1]
        assert ids(table) == (sorted([*before, 2]) if outcome == "written" else before), fail_at
        if outcome == "failed":
            assert set(files(table)) == data, fail_at
    assert table.refresh().check(deep=True).is_sound


def files(table):
    return [name for name in names_in(table.root.storage) if "/bucket-" in name]


def test_an_interrupted_commit_keeps_its_data_files(table):
    class Interrupting(FaultStorage):
        def put_new(self, name, data):
            super().put_new(name, data)
            raise KeyboardInterrupt

    view = dataclasses.replace(table, root=TableRoot(Interrupting(table.root.storage, FaultPlan())))
    with pytest.raises(KeyboardInterrupt):
        view.write(rows(1))
    assert ids(table) == [1]


def test_a_full_disk_is_a_clean_error(tmp_path, monkeypatch):
    table = new_table(polynya.open_warehouse(tmp_path))
    table.write(rows(1))
    before = {path for path in Path(table.location).rglob("*") if path.is_file()}
    write, link = os.fsync, os.link

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for function, name in ((write, "fsync"), (link, "link")):
        monkeypatch.setattr(os, name, full)
        with pytest.raises(StorageError, match="No space left"):
            table.write(rows(2))
        monkeypatch.setattr(os, name, function)
        assert {path for path in Path(table.location).rglob("*") if path.is_file()} == before
    assert table.write(rows(3)).snapshot_id == 2
    assert ids(table) == [1, 3]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_table_is_a_clean_error(tmp_path):
    table = new_table(polynya.open_warehouse(tmp_path))
    folders = [Path(table.location), *(path for path in Path(table.location).rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        with pytest.raises(StorageError, match="Permission denied"):
            table.write(rows(1))
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert table.refresh().snapshot is None


def test_a_file_in_the_place_of_a_folder_is_a_clean_error(tmp_path):
    table = new_table(polynya.open_warehouse(tmp_path))
    (Path(table.location) / "manifest").write_bytes(b"in the way")
    with pytest.raises(StorageError):
        table.write(rows(1))
    assert table.refresh().snapshot is None
    assert not list(Path(table.location).rglob("data-*"))


def test_a_conflict_takes_the_data_files_back():
    table = new_table(
        api.Warehouse(MemoryStorage()), options={"bucket": "2", "bucket-key": "id", "commit.max-retries": "0"}
    )

    class Rival(FaultStorage):
        def put_new(self, name, data):
            if not history.has_snapshot(table.root, 1):
                table.write(rows(9))
            super().put_new(name, data)

    view = dataclasses.replace(table, root=TableRoot(Rival(table.root.storage, FaultPlan())))
    with pytest.raises(ConflictError, match="lost the race"):
        ingest.write(Target(view.root, table.schema), None, rows(1), WriteRequest(author=Author("me")))
    assert ids(table) == [9]
    assert len(files(table)) == 1


@pytest.mark.parametrize("again", [None, SCHEMA.remove(0), SCHEMA], ids=["dropped", "other columns", "the same"])
def test_a_table_that_was_dropped_meanwhile_takes_no_rows(again):
    warehouse = api.Warehouse(MemoryStorage())
    table = new_table(warehouse)
    table.write(rows(1))

    def dropping():
        warehouse.drop_table("db.t")
        if again is not None:
            time_ms = warehouse.create_table("db.t", again).schema.time_ms
            assert time_ms > table.schema.time_ms
        yield from rows(2).to_batches()

    with pytest.raises(ConflictError, match="dropped"):
        table.write(dropping())
    left = [name for name in names_in(table.root.storage) if not name.startswith("schema/")]
    assert left == []
    if again is not None:
        assert ids(table) == []
