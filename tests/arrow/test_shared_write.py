"""Small appends share data files: each caller gets its own answer, and one does not fail the others."""

import dataclasses
import threading

import pyarrow as pa
import pytest

import polynya
from commit_cases import names_in
from fault_storage import GateStorage
from polynya import api
from polynya.arrow import shared_write
from polynya.errors import CommitUnknownError, InvalidInputError, PolynyaError, StorageError
from polynya.paimon import schema_file
from polynya.storage import MemoryStorage
from polynya.table.commit import Author
from polynya.table.history import TableRoot

SCHEMA = pa.schema([("p", pa.string()), pa.field("id", pa.int64(), nullable=False)])


def rows(*ids, p="a"):
    return pa.table({"p": [p] * len(ids), "id": pa.array(ids, pa.int64())})


def new_table(warehouse=None, partition_by=(), **options):
    warehouse = warehouse or api.Warehouse(MemoryStorage())
    warehouse.create_database("db", exist_ok=True)
    table = warehouse.create_table("db.t", SCHEMA, partition_by=partition_by, options=options)
    return dataclasses.replace(table, root=TableRoot(GateStorage(table.root.storage)))


def write_in_threads(table, data):
    """Write all data at once, the first alone and the others behind it; return their answers or errors."""
    answers = [None] * len(data)

    def work(index):
        try:
            answers[index] = table.write(data[index])
        except PolynyaError as error:
            answers[index] = error

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(data))]
    threads[0].start()
    gate = table.root.storage
    assert gate.reached.wait(20)
    turns = shared_write.TURNS.of(table.root)
    for thread in threads[1:]:
        before = turns.waiting_count
        thread.start()
        while turns.waiting_count == before and thread.is_alive():
            threading.Event().wait(0.001)
    gate.open.set()
    for thread in threads:
        thread.join(30)
    return answers


def ids(table):
    return table.refresh().scan(columns=["id"]).to_arrow()["id"].to_pylist()


def files(table):
    return sorted(name for name in names_in(table.root.storage) if "bucket-0/data-" in name)


def test_the_rows_of_63_threads_are_one_file_in_the_order_they_came():
    table = new_table()
    answers = write_in_threads(table, [rows(*range(10 * n, 10 * n + n % 3 + 1)) for n in range(64)])
    assert [one.snapshot_id for one in answers] == [1] + [2] * 63
    assert [one.record_count for one in answers] == [n % 3 + 1 for n in range(64)]
    assert {(one.added_files, one.deleted_files) for one in answers} == {(1, 0)}
    assert len(files(table)) == 2
    assert ids(table) == [10 * n + m for n in range(64) for m in range(n % 3 + 1)]
    assert table.refresh().check(deep=True).is_sound


def test_a_caller_is_told_of_the_files_that_hold_its_rows():
    table = new_table(partition_by=["p"])
    both = pa.concat_tables([rows(3, p="a"), rows(4, p="b"), rows(5, p="a")])
    answers = write_in_threads(table, [rows(1), rows(2, p="b"), both])
    assert [(one.added_files, one.record_count) for one in answers] == [(1, 1), (1, 1), (2, 3)]
    assert len(files(table)) == 3
    assert table.refresh().scan(where="p = 'b'", columns=["id"]).to_arrow()["id"].to_pylist() == [2, 4]


def test_what_is_wrong_is_told_to_its_caller_alone():
    table = new_table()
    bad = [pa.table({"p": ["a"], "id": pa.array([None], pa.int64())}), pa.table({"p": ["a"], "idd": [1]})]
    answers = write_in_threads(table, [rows(1), rows(2), *bad, rows(3)])
    assert [type(one) for one in answers[2:4]] == [InvalidInputError] * 2
    assert [one.snapshot_id for one in (answers[1], answers[4])] == [2, 2]
    assert ids(table) == [1, 2, 3]


def test_rows_whose_file_cannot_be_written_do_not_fail_the_others(tmp_path):
    table = new_table(polynya.open_warehouse(tmp_path), partition_by=["p"])
    answers = write_in_threads(table, [rows(1), rows(2), rows(9, p="x" * 300), rows(3)])
    assert isinstance(answers[2], StorageError)
    assert [one.record_count for one in (answers[1], answers[3])] == [1, 1]
    assert sorted(ids(table)) == [1, 2, 3]
    assert len(files(table)) == 3


def test_an_unknown_outcome_is_told_to_everybody_and_nothing_is_deleted():
    table = new_table()
    table.root.storage.fault = StorageError("no answer")
    answers = write_in_threads(table, [rows(n) for n in range(4)])
    assert [type(one) for one in answers] == [CommitUnknownError] * 4
    assert len(files(table)) == 2


def test_a_commit_that_fails_leaves_no_file_and_fails_for_everybody(tmp_path):
    table = new_table(polynya.open_warehouse(tmp_path))
    table.root.storage.fault = StorageError("no space left")
    answers = write_in_threads(table, [rows(n) for n in range(4)])
    assert [type(one) for one in answers] == [StorageError] * 4
    assert not files(table)
    assert table.refresh().snapshot is None


def test_an_interrupted_leader_leaves_the_others_unknown_and_the_table_free():
    table = new_table()
    table.root.storage.fault = KeyboardInterrupt()
    table.root.storage.open.set()
    with pytest.raises(KeyboardInterrupt):
        table.write(rows(1))
    table.root.storage.fault = None
    assert table.write(rows(2)).snapshot_id == 1
    assert ids(table) == [2]


def test_rows_under_different_schemas_are_written_apart():
    table = new_table()
    storage = table.root.storage
    evolved = dataclasses.replace(table.schema, id=1)

    def evolve():
        storage.put("schema/schema-1", schema_file.encode(evolved))
        return rows(3)

    class Evolving:
        """Data whose second writer finds a new schema."""

        def __init__(self, *data):
            self.data = data

        def __len__(self):
            return len(self.data)

        def __getitem__(self, index):
            return evolve() if index == 2 else self.data[index]

    answers = write_in_threads(table, Evolving(rows(1), rows(2), None, rows(4)))
    assert [one.record_count for one in answers] == [1] * 4
    assert len({one.snapshot_id for one in answers}) == 3
    assert answers[2].snapshot_id == answers[3].snapshot_id
    assert ids(table) == [1, 2, 3, 4]


ALONE = {
    "buckets": {"bucket": "2", "bucket-key": "id"},
    "small files": {"target-file-size": "1 kb"},
    "few rows a file": {"target-file-row-num": "10"},
}


@pytest.mark.parametrize("case", ALONE)
def test_tables_whose_rows_depend_on_their_file_do_not_share(case):
    assert not shared_write.can_share(new_table(**ALONE[case]).schema)


def test_many_rows_large_rows_and_authors_are_written_alone(monkeypatch):
    table = new_table()
    table.root.storage.open.set()
    monkeypatch.setattr(shared_write, "write", None)
    table.write(rows(*range(shared_write.SMALL_ROWS + 1)))
    table.write(rows(1, p="x" * shared_write.SMALL_BYTES))
    table.write(rows(2), author=Author("me"))
    table.write(iter(rows(3).to_batches()))
    assert len(ids(table)) == shared_write.SMALL_ROWS + 4
