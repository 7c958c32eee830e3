"""Every golden Iceberg table reads, row for row, as Java Iceberg reads it."""

from typing import Any

import pytest

from golden_iceberg import iceberg_expected, iceberg_names
from iceberg_rows import expected_rows, open_golden, rows_of
from polynya.api.iceberg import IcebergTable
from rows import rows_digest, sorted_rows

NAMES = iceberg_names()


def assert_reads(table: IcebergTable, expected: dict[str, Any], columns: list[list[Any]]) -> None:
    found = rows_of(table)
    assert len(found) == expected.get("rowCount", len(found))
    if "rows" in expected:
        assert found == expected_rows(expected["rows"], columns)
    else:
        assert rows_digest(found) == expected["rowsSha256"]


@pytest.mark.parametrize("name", NAMES)
def test_the_latest_rows_are_those_of_java(name):
    expected = iceberg_expected(name)
    assert_reads(open_golden(name), expected, expected["columns"])


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_every_snapshot_are_those_of_java(name):
    expected, table = iceberg_expected(name), open_golden(name)
    for snapshot in expected["snapshots"]:
        columns = snapshot.get("columns", expected["columns"])
        assert_reads(table.at(snapshot_id=snapshot["id"]), snapshot, columns)


@pytest.mark.parametrize("name", NAMES)
def test_tags_and_branches_read_as_in_java(name):
    expected, table = iceberg_expected(name), open_golden(name)
    by_id = {one["id"]: one for one in expected["snapshots"]}
    for ref, told in expected["refs"].items():
        snapshot = by_id[told["snapshotId"]]
        if told["type"].lower() == "tag":
            assert_reads(table.at(tag=ref), snapshot, snapshot.get("columns", expected["columns"]))
        elif "rows" in told:
            assert_reads(table.branch(ref), {"rows": told["rows"]}, expected["columns"])


@pytest.mark.parametrize("name", [name for name in NAMES if "rowLineage" in iceberg_expected(name)])
def test_row_lineage_is_that_of_java(name):
    told = iceberg_expected(name)["rowLineage"]
    assert rows_of(open_golden(name), columns=told["columns"]) == sorted_rows(told["rows"])
