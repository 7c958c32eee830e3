"""System tables say what Java says of every golden table, with the same columns."""

import json
import re
import time
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import polynya
from golden_data import REFUSED, golden_expected, golden_names, golden_root, golden_table
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER
from polynya.model.types import Field
from polynya.paimon.type_text import parse_sql
from polynya.table import system, system_files, system_text
from polynya.table.system_columns import COLUMNS
from rows import render_rows, rows_digest, sorted_rows

WITH_ROWS = ("ro", "row_tracking", "audit_log")
JAVA_BYTES = re.compile(r"\[B@[0-9a-f]+")  # Java prints where an array of bytes is, not what it holds
JAVA_FLOATS = {"1.17549435E-38": "1.1754944E-38"}  # Java 17 prints a digit more than it needs
UNORDERED = {"agg_all", "agg_nested", "agg_retract"}  # columns whose element order is Java's hash order


def fields_of(columns):
    return tuple(Field(id, name, parse_sql(type)) for id, (name, type) in enumerate(columns))


def pattern(text):
    """What our text has to look like, given Java's."""
    for java, ours in JAVA_FLOATS.items():
        text = text.replace(java, ours)
    return "[0-9a-f]*".join(map(re.escape, JAVA_BYTES.split(text)))


def agrees(found, expected):
    if isinstance(expected, str) and isinstance(found, str):
        return re.fullmatch(pattern(expected), found, re.DOTALL) is not None
    return found == expected


def shown(table, name, expected):
    """Our rows and Java's in one order, without what differs from place to place."""
    columns = list(table.column_names)
    found, theirs = render_rows(table, fields_of(expected["columns"])), sorted_rows(expected["rows"])
    if "file_path" in columns:
        at = columns.index("file_path")
        for row in found:
            row[at] = row[at].removeprefix(str(golden_root())).removeprefix("file:/polynya")
        found.sort(key=lambda row: row[at])
        theirs.sort(key=lambda row: row[at])
    if name == "branches":  # the pack of golden tables keeps no file times
        return [row[0] for row in found], [row[0] for row in theirs]
    return found, theirs


@pytest.fixture(autouse=True)
def zone(request, monkeypatch):
    name = request.node.callspec.params.get("table_name", "") if hasattr(request.node, "callspec") else ""
    monkeypatch.setenv("TZ", "Asia/Kolkata" if "kolkata" in name else "UTC")


@pytest.mark.parametrize("table_name", golden_names())
def test_system_tables_hold_what_java_reports(table_name):
    table = polynya.open_table(golden_table(table_name))
    for name, expected in golden_expected(table_name)["system"].items():
        if name in WITH_ROWS or name.endswith("_error"):
            continue
        made = table.system(name)
        assert made.schema == to_arrow_schema(fields_of(expected["columns"])), name
        found, theirs = shown(made, name, expected)
        assert len(found) == len(theirs), name
        for ours, java in zip(found, theirs, strict=True):
            assert all(map(agrees, ours, java)), f"{name}:\n{ours}\n{java}"


@pytest.mark.parametrize("system_name", ["ro", "row_tracking"])
def test_row_tables_hold_what_java_reads(system_name):
    for name in golden_names():
        expected = golden_expected(name)["system"].get(system_name)
        if expected is None or name in REFUSED or name in UNORDERED:
            continue
        table = polynya.open_table(golden_table(name))
        extra = (ROW_ID, SEQUENCE_NUMBER) if system_name == "row_tracking" else ()
        found = render_rows(table.system(system_name), (*table.schema.fields, *extra))
        if "rows" in expected:
            assert json.dumps(found) == json.dumps(sorted_rows(expected["rows"])), name
        else:
            assert (len(found), rows_digest(found)) == (expected["rowCount"], expected["rowsSha256"]), name


@pytest.mark.parametrize("table_name", ["append_empty", "analyzed", "branches", "global_index", "postpone_before"])
def test_every_system_table_can_be_made_of_every_table(table_name):
    table = polynya.open_table(golden_table(table_name))
    for name, columns in COLUMNS.items():
        made = table.system(name)
        made.validate(full=True)
        assert made.column_names == list(columns)


def test_sums_over_files_partitions_and_buckets_agree():
    table = polynya.open_table(golden_table("pk_partitioned"))
    sums = {
        name: [pc.sum(table.system(name)[column]).as_py() for column in ("record_count", "file_size_in_bytes")]
        for name in ("files", "partitions", "buckets")
    }
    assert sums["files"] == sums["partitions"] == sums["buckets"]


def test_snapshots_lists_every_snapshot_of_the_table():
    for name in ("tags", "expired", "many_commits_default", "append_empty"):
        found = polynya.open_table(golden_table(name)).system("snapshots")
        expected = golden_expected(name)["snapshots"]
        assert found["snapshot_id"].to_pylist() == [one["id"] for one in expected]
        assert found["commit_kind"].to_pylist() == [one["kind"] for one in expected]


def test_options_are_the_options_of_the_schema():
    table = polynya.open_table(golden_table("agg_all"))
    found = table.system("options")
    assert dict(zip(found["key"].to_pylist(), found["value"].to_pylist(), strict=True)) == table.options


def test_a_past_view_shows_the_files_of_its_snapshot():
    table = polynya.open_table(golden_table("pk_compacted"))
    first = table.at(snapshot_id=table.system("snapshots")["snapshot_id"][0].as_py())
    assert first.system("files").num_rows < table.at(snapshot_id=first.snapshot.id + 2).system("files").num_rows


def test_partitions_of_timestamps_with_legacy_names_are_shown():
    found = polynya.open_table(golden_table("part_types")).system("partitions")["partition"].to_pylist()
    assert any("p_date=1969-12-31/p_time=00:00:00/p_ts0=1969-12-31 23:59:59/" in text for text in found)


def test_an_unknown_name_is_refused_with_a_suggestion():
    table = polynya.open_table(golden_table("tags"))
    with pytest.raises(polynya.InvalidInputError, match=r"did you mean 'snapshots'.*there are snapshots, schemas"):
        table.system("snapshot")
    with pytest.raises(polynya.InvalidInputError, match="does not exist; there are"):
        table.system("zzz")


@pytest.mark.parametrize("name", system.UNSUPPORTED)
def test_tables_of_changes_are_refused_by_name(name):
    with pytest.raises(polynya.UnsupportedError, match=name):
        polynya.open_table(golden_table("tags")).system(name)


def test_row_tracking_is_refused_without_row_ids():
    with pytest.raises(polynya.InvalidInputError, match="does not track its rows"):
        polynya.open_table(golden_table("tags")).system("row_tracking")


@pytest.mark.parametrize(
    ("nanos", "text"),
    [(0, "PT0S"), (5 * 10**9, "PT5S"), (5_500_000_000, "PT5.5S"), (3_660 * 10**9, "PT1H1M"), (10**7, "PT0.01S")],
)
def test_durations_are_iso_texts(nanos, text):
    assert system_text.duration_text(nanos) == text


def test_wall_clock_follows_the_zone():
    kolkata = ZoneInfo("Asia/Kolkata")
    assert system_text.wall_clock(0, kolkata) == 5 * 3_600_000 + 30 * 60_000
    assert system_text.wall_clock(2**63 - 1, kolkata) == 2**63 - 1


def test_statistics_texts_of_many_files_are_made_by_column():
    names = [f"c{index}" for index in range(4)]
    texts = {name: pa.array(range(200_000)).cast(pa.string()) for name in names}
    started = time.process_time()
    made = system_text.map_texts(texts, 200_000)
    assert made[7].as_py() == "{c0=7, c1=7, c2=7, c3=7}"
    assert time.process_time() - started < 1


def test_a_data_file_without_a_format_is_named():
    names = pa.chunked_array([["data-1.zst.parquet", "data-2.csv.gz", "data-3.parquet", "data-4"]])
    assert system_files._formats(names.slice(0, 3)).to_pylist() == ["parquet", "csv", "parquet"]
    with pytest.raises(polynya.CorruptFileError, match="data-4"):
        system_files._formats(names)
