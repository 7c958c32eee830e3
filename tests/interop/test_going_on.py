"""Tables that polynya began, as other clients go on with them."""

import pyarrow as pa
import pytest

import polynya
from interop import twins
from interop.arrow_rows import arrow_rows
from interop.java_paimon import JavaTable
from interop.table_cases import CASES, GOING_ON, PLAIN, SHOWN
from interop.twins import Case, rows_of
from polynya.model import types as t
from polynya.paimon import type_text
from rows import render_rows, sorted_rows

SYSTEM_TABLES = ("files", "manifests", "partitions", "buckets", "snapshots", "schemas", "options", "ro")

MANY = 17000  # more than polynya writes between two looks at the size of a file
MANY_KEYS = {
    "STRING": [chr(1 + number % 0xD000) + chr(0xE000 + number) * (number % 2) for number in range(MANY)],
    "DOUBLE": [*((number - MANY // 2) * 1.5 for number in range(MANY)), "NaN", -0.0, "Infinity", "-Infinity"],
    "DECIMAL(25, 3)": [f"{number - MANY // 2}{'0' * 18}.125" for number in range(MANY)],
}


@pytest.fixture(params=GOING_ON)
def case(request) -> Case:
    return CASES[request.param]


@pytest.fixture
def ours(case, tmp_path) -> polynya.Table:
    table = twins.create_ours(tmp_path, case)
    twins.write_ours(table, case)
    return table.refresh()


@pytest.fixture
def theirs(java, ours, tmp_path) -> JavaTable:
    return java.table(tmp_path / "ours.db" / "t")


def agree(ours: polynya.Table, theirs: JavaTable) -> None:
    assert theirs.rows() == rows_of(ours.refresh())


def rows_with_kinds(case: Case) -> list:
    return [row if case.kinds else ["+I", *row] for row in case.commits[0]]


def test_java_writes_and_compacts_and_polynya_writes_again(case, ours, theirs):
    theirs.write(rows_with_kinds(case), kind=None)
    agree(ours, theirs)
    theirs.ask("compact", full=True)
    agree(ours, theirs)
    twins.write_ours(ours, case)
    agree(ours, theirs)
    ours.compact(full=True)
    agree(ours, theirs)
    theirs.write(rows_with_kinds(case), kind=None)
    agree(ours, theirs)
    assert ours.refresh().check(deep=True).is_sound


def test_polynya_follows_java_s_new_schemas(case, ours, theirs):
    theirs.ask("alter", changes=[["add", "added", "BIGINT"]])
    agree(ours, theirs)
    theirs.write([[*row, 7] for row in rows_with_kinds(case)], kind=None)
    agree(ours, theirs)
    twins.write_kinds(ours, [[*row, 8] for row in rows_with_kinds(case)]) if case.primary_key else ours.write(
        arrow_rows(case.commits[0], case.fields)
    )
    agree(ours, theirs)
    theirs.ask("alter", changes=[["rename", "added", "renamed"], ["type", "renamed", "STRING"]])
    agree(ours, theirs)
    ours.compact(full=True)
    agree(ours, theirs)
    theirs.ask("alter", changes=[["drop", "renamed"]])
    agree(ours, theirs)


def test_tags_stay_when_java_expires_what_polynya_wrote(case, ours, theirs):
    before = rows_of(ours)
    theirs.ask("tag", name="first")
    theirs.write(rows_with_kinds(case), kind=None)
    ours.compact(full=True)
    twins.write_ours(ours, case)
    theirs.ask("expire", retain_max=1, retain_min=1)
    agree(ours, theirs)
    assert theirs.at_tag("first") == rows_of(ours.at(tag="first")) == before
    theirs.ask("rollback", tag="first")
    agree(ours, theirs)


@pytest.mark.parametrize("type", list(MANY_KEYS))
def test_levels_of_many_files_are_in_java_s_key_order(java, tmp_path, type):
    options = {"bucket": "1", "target-file-size": "4 kb", "num-sorted-run.compaction-trigger": "3"}
    case = Case({"k": type, "v": "STRING"}, [], primary_key=["k"], options=options)
    ours, theirs = twins.create_ours(tmp_path, case), java.table(tmp_path / "ours.db" / "t")
    rows = [[key, str(number) * 20] for number, key in enumerate(MANY_KEYS[type])]
    ours.write(arrow_rows(rows, case.fields))
    ours.compact(full=True)
    assert len(theirs.rows("files")) > 1
    theirs.write([[key, "java"] for key, _ in rows[::31]])  # Java refuses levels whose files overlap
    theirs.ask("compact", full=True)
    agree(ours, theirs)
    ours.write(arrow_rows([[key, "ours"] for key, _ in rows[::37]], case.fields))
    ours.compact(full=True)
    theirs.write([[rows[0][0], "last"]])
    agree(ours, theirs)
    assert len(theirs.rows()) == len({str(key) for key, _ in rows})


@pytest.mark.parametrize("name", SHOWN)
def test_system_tables_are_java_s(java, tmp_path, name):
    table = twins.create_ours(tmp_path, CASES[name])
    twins.write_ours(table, CASES[name])
    theirs = java.table(tmp_path / "ours.db" / "t")
    for system in SYSTEM_TABLES:
        found = theirs.read(system)
        fields = [t.Field(-1, column, type_text.parse_sql(type)) for column, type in found["columns"]]
        assert render_rows(table.refresh().system(system), fields) == _without_scheme(found), system


def _without_scheme(found: dict) -> list:
    paths = [at for at, (column, _) in enumerate(found["columns"]) if column == "file_path"]
    return sorted_rows(
        [value.removeprefix("file:") if at in paths else value for at, value in enumerate(row)] for row in found["rows"]
    )


@pytest.mark.parametrize("name", PLAIN)
def test_pypaimon_reads_the_rows(pypaimon, tmp_path, name):
    case = CASES[name]
    table = twins.create_ours(tmp_path, case)
    twins.write_ours(table, case)
    found = pypaimon.read(tmp_path / "ours.db" / "t")
    assert render_rows(pa.table(found), table.schema.fields) == rows_of(table.refresh())
