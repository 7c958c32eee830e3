"""Tables of every kind that polynya writes, as the real Java reads, compares and changes them."""

from pathlib import Path

import pytest

import polynya
from interop import twins
from interop.java_paimon import JavaTable
from interop.table_cases import CASES, UNLIKE
from interop.twins import rows_of


@pytest.fixture(scope="module", params=list(CASES))
def case(request) -> twins.Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def warehouse(case, tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="module")
def ours(case, warehouse) -> polynya.Table:
    table = twins.create_ours(warehouse, case)
    twins.write_ours(table, case)
    return table.refresh()


@pytest.fixture(scope="module")
def theirs(java, ours, warehouse) -> JavaTable:
    return java.table(warehouse / "ours.db" / "t")


@pytest.fixture(scope="module")
def twin(java, case, warehouse) -> polynya.Table:
    twins.write_twin(twins.create_twin(java, warehouse, case), case)
    return polynya.open_table(warehouse / "java.db" / "t")


def test_java_reads_the_rows_of_every_snapshot(ours, theirs):
    for id in range(1, ours.snapshot.id + 1):
        assert theirs.at(id) == rows_of(ours.at(snapshot_id=id))


def test_the_rows_are_those_of_the_twin(ours, twin):
    assert rows_of(ours) == rows_of(twin)


def test_files_have_the_statistics_of_the_twin(request, ours, twin):
    if request.node.callspec.id in UNLIKE:
        pytest.skip(UNLIKE[request.node.callspec.id])
    for id in range(1, ours.snapshot.id + 1):
        for own, other in zip(
            twins.entries_of(ours.at(snapshot_id=id)), twins.entries_of(twin.at(snapshot_id=id)), strict=True
        ):
            assert own == other


def test_manifest_lists_say_what_the_twin_s_say(ours, twin):
    assert twins.manifests_of(ours).to_pylist() == twins.manifests_of(twin).to_pylist()


def test_schema_and_snapshot_files_are_those_of_the_twin(ours, twin, warehouse):
    own, other = warehouse / "ours.db" / "t", warehouse / "java.db" / "t"
    assert twins.schema_facts(own) == twins.schema_facts(other)
    for id in range(1, ours.snapshot.id + 1):
        assert twins.snapshot_facts(own, id) == twins.snapshot_facts(other, id)


def test_parquet_files_have_the_columns_of_the_twin(ours, twin, warehouse):
    assert twins.parquet_columns(warehouse / "ours.db" / "t") == twins.parquet_columns(warehouse / "java.db" / "t")


def test_data_files_lie_where_those_of_the_twin_lie(ours, twin, warehouse):
    assert twins.data_paths(warehouse / "ours.db" / "t") == twins.data_paths(warehouse / "java.db" / "t")
