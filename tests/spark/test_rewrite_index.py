"""Indexes of existing files as a Spark job."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from polynya.errors import CorruptFileError
from polynya.paimon import layout, schema_file
from polynya.spark import tasks
from polynya.table import entries

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
OPTIONS = {"file-index.bitmap.columns": "name", "file-index.in-manifest-threshold": "10 b"}


@pytest.fixture
def table(lake, monkeypatch):
    monkeypatch.setattr(tasks, "TASK_BYTES_MIN", 1)
    made = lake.create_table("db.t", SCHEMA)
    for start in (0, 40, 80):
        made.table.write(
            pa.table([range(start, start + 40), [f"n{n}" for n in range(start, start + 40)]], schema=SCHEMA)
        )
    new = replace(made.table.schema, id=1, options=OPTIONS)
    made.table.root.storage.put_new(layout.schema_name(1), schema_file.encode(new))
    return made


def indexes(table):
    return sorted(path.name for path in Path(table.table.location).rglob("*.index"))


def test_every_file_gets_its_index_in_one_commit(table):
    made = table.rewrite_file_index()
    assert (made.commit_kind, made.added_files, made.deleted_files) == ("COMPACT", 3, 3)
    live = entries.read_live(table.table.root, table.table.refresh().snapshot)
    assert sorted(name for names in live["extra_files"].to_pylist() for name in names) == indexes(table)
    assert table.read(where="name = 'n50'").collect() == [(50, "n50")]
    assert not table.table.refresh().check(deep=True).problems
    assert table.rewrite_file_index().snapshot_id is None
    assert table.rewrite_file_index(rebuild=True).added_files == 3


def test_what_other_tasks_wrote_is_deleted_when_one_is_refused(table):
    broken = next(Path(table.table.location).rglob("data-*.parquet"))
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(CorruptFileError, match=broken.name):
        table.rewrite_file_index()
    assert indexes(table) == []
    assert table.table.refresh().snapshot.id == 3
