"""Tables that PyIceberg wrote, read row for row as PyIceberg reads them, and with filters.

POLYNYA_HISTORIES is the number of tables of each format version, POLYNYA_SEED the first seed.
"""

import os
import random

import pytest

import polynya
from iceberg_twin import rows_of
from polynya.model import evaluate
from polynya.model.bind import bind
from row_predicates import paths_of, predicate

COUNT = int(os.environ.get("POLYNYA_HISTORIES", "2"))
FIRST = int(os.environ.get("POLYNYA_SEED", "1"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("version", ["1", "2"])
def test_every_snapshot_tag_and_branch_has_the_rows_that_pyiceberg_reads(pyiceberg, tmp_path, version, seed):
    written = pyiceberg.write(tmp_path / "t", seed=2 * seed + int(version), version=version)
    table = polynya.open_table(written.metadata)
    for id, rows in written.snapshots.items():
        assert_rows(table.at(snapshot_id=id), rows, written)
    for name, rows in written.tags.items():
        assert_rows(table.at(tag=name), rows, written)
    for name, rows in written.branches.items():
        branch = table.branch(name)  # in the table's schema; PyIceberg takes that of the snapshot
        assert branch.scan().count() == rows.num_rows
        assert_rows(table.at(snapshot_id=branch.snapshot.id), rows, written)
    by_folder = polynya.open_table(written.location)
    assert rows_of(by_folder.scan().to_arrow()) == rows_of(table.scan().to_arrow())
    draw = random.Random(seed)
    for id in draw.sample(list(written.snapshots), min(4, len(written.snapshots))):
        assert_filters(table.at(snapshot_id=id), draw)


def assert_rows(table, rows, written):
    found = table.scan().to_arrow()
    assert found.column_names == rows.column_names, written.steps
    assert rows_of(found) == rows_of(rows), written.steps


def assert_filters(table, draw):
    everything = table.scan().to_arrow()
    paths = list(paths_of(table.schema.fields))
    for _ in range(8):
        wanted = predicate(draw, everything, paths)
        left = everything.filter(evaluate.mask(bind(wanted, table.schema.fields), everything))
        assert rows_of(table.scan(where=wanted).to_arrow()) == rows_of(left), str(wanted)
