"""The verbs that deal with rows."""

import datetime
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

import polynya
from golden_data import golden_table
from polynya.cli.main import app


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


def json_lines(*arguments):
    return [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]


@pytest.fixture
def orders(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("shop")
    columns = pa.schema([("id", pa.int64()), ("name", pa.string()), ("day", pa.date32())])
    return warehouse.create_table("shop.orders", columns, primary_key=["id"], options={"bucket": "1"})


def test_read_filters_selects_and_limits():
    table = golden_table("pk_partitioned")
    assert json_lines("read", table, "--where", "dt = 'd1'", "--columns", "v,k") == [
        {"v": "A", "k": 1},
        {"v": "b", "k": 2},
    ]
    assert len(json_lines("read", table, "--limit", 2)) == 2
    assert json_lines("read", table, "--limit", 0) == []


def test_read_travels_in_time():
    table = golden_table("tags")
    assert json_lines("read", table, "--tag", "first") == json_lines("read", table, "--tag", "first", "--limit", 99)
    assert len(json_lines("read", table, "--tag", "first")) == 2


def test_every_type_is_json_and_fits_the_terminal():
    rows = json_lines("read", golden_table("types_append"))
    assert {row["id"] for row in rows} == {1, 2, 3, 4, 5, 6}
    first = next(row for row in rows if row["id"] == 1)
    assert first["f_bin"] == "01020304"
    assert first["f_nested"] == [{"a": 1, "m": [["k", [1.5, 2.5]]]}]
    assert first["f_ts9"] == "2024-01-02 03:04:05.678901234"
    assert {"NaN", "-Infinity"} <= {row["f_double"] for row in rows}
    printed = run("read", golden_table("types_append")).stdout
    assert max(map(cell_len, printed.splitlines())) <= 80


def test_more_rows_than_are_shown_are_mentioned():
    printed = run("read", golden_table("multi_file")).stdout
    assert "there are more" in printed
    assert len(printed.splitlines()) == 52


def test_an_empty_result_says_so():
    assert run("read", golden_table("append_empty")).stdout == "nothing to show\n"


def test_a_wrong_condition_is_one_line():
    result = run("read", golden_table("tags"), "--where", "nope = 1", code=1)
    assert len(result.stderr.splitlines()) == 1
    assert "nope" in result.stderr


def test_explain_tells_what_is_skipped():
    table = golden_table("pk_partitioned")
    assert "files by partition" in run("explain", table, "--where", "dt = 'd1'").stdout
    plan = json.loads(run("explain", table, "--where", "dt = 'd1'", "--json").stdout)
    assert plan["live_file_count"] == plan["file_count"] + sum(plan["files_skipped"].values())


def test_check_of_a_sound_table():
    assert run("check", golden_table("pk_partitioned"), "--deep").stdout == "sound: no problem found\n"


def test_check_of_a_damaged_table_names_the_problem(tmp_path):
    table = shutil.copytree(golden_table("append_unaware"), tmp_path / "t")
    lost = next(table.glob("bucket-0/*.parquet"))
    lost.unlink()
    report = json.loads(run("check", table, "--json", code=1).stdout)
    assert not report["sound"]
    assert any(lost.name in json.dumps(problem) for problem in report["problems"])
    assert "repair" in run("check", table, code=1).stdout


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_write_takes_files(ending, orders, tmp_path):
    source = tmp_path / f"new.{ending}"
    if ending == "parquet":
        day = pa.array([datetime.date(2026, 11, 1), None])
        pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"], "day": day}), source)
    elif ending == "csv":
        source.write_text("id,name,day\n1,a,2026-11-01\n2,b,\n")
    else:
        source.write_text('{"id": 1, "name": "a", "day": "2026-11-01"}\n{"id": 2, "name": "b"}\n')
    commit = json.loads(run("write", orders.location, source, "--json").stdout)
    assert (commit["snapshot_id"], commit["record_count"]) == (1, 2)
    assert json_lines("read", orders.location) == [
        {"id": 1, "name": "a", "day": "2026-11-01"},
        {"id": 2, "name": "b", "day": None},
    ]


def test_write_takes_kinds_of_rows(orders, tmp_path):
    (tmp_path / "new.csv").write_text("id,name,day,kind\n1,a,,+I\n2,b,,+I\n")
    (tmp_path / "gone.csv").write_text("id,name,day,kind\n1,a,,-D\n")
    for name in ("new.csv", "gone.csv"):
        run("write", orders.location, tmp_path / name, "--rowkind", "kind")
    assert [row["id"] for row in json_lines("read", orders.location)] == [2]
    assert "1 file added" in run("compact", orders.location, "--full").stdout
    assert "COMPACT" in run("snapshots", orders.location).stdout


def test_write_refuses_what_it_cannot_read(orders, tmp_path):
    (tmp_path / "bad.csv").write_text("id,name,day\nx,a,\n")
    (tmp_path / "bad.xml").write_text("<a/>")
    for name, words in (("bad.csv", "cannot be read"), ("bad.xml", "expected a name"), ("none.csv", "does not exist")):
        result = run("write", orders.location, tmp_path / name, code=1)
        assert len(result.stderr.splitlines()) == 1
        assert words in result.stderr
    run("write", orders.location, tmp_path / "bad.csv", "--mode", "upsert", code=2)


def test_compact_can_be_tried_first(orders, tmp_path):
    (tmp_path / "new.csv").write_text("id,name,day\n1,a,\n")
    run("write", orders.location, tmp_path / "new.csv")
    assert "compactions of" in run("compact", orders.location, "--full", "--dry-run").stdout
    assert json.loads(run("compact", orders.location, "--dry-run", "--json").stdout)["file_count"] >= 0
    assert orders.refresh().snapshot.id == 1
