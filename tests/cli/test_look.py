"""The verbs that look: what they print, how wide, and what they say when there is nothing to look at."""

import json
import shutil

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from golden_data import golden_expected, golden_names, golden_root, golden_table
from polynya.cli.main import app
from polynya.table.system_columns import COLUMNS

LISTINGS = ("snapshots", "files", "manifests", "partitions")
SAMPLES = ("append_empty", "append_partitioned", "branches", "many_commits", "part_types", "pk_levels", "types_pk")


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TZ", "UTC")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


def json_lines(*arguments):
    return [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]


@pytest.mark.parametrize("verb", ["show", "schema"])
def test_a_comment_cannot_steer_the_terminal(verb, tmp_path):
    table = shutil.copytree(golden_table("append_empty"), tmp_path / "t")
    path = table / "schema" / "schema-0"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"comment": "red\x1b[31m\nsecond line\r"}))
    printed = run(verb, table).stdout
    assert "\x1b" not in printed
    assert "red [31m second line" in printed


@pytest.mark.parametrize("verb", ["show", "schema", *LISTINGS])
def test_output_fits_into_80_columns_and_is_plain_text(verb):
    for name in SAMPLES:
        printed = run(verb, golden_table(name)).stdout
        assert printed
        assert "\x1b" not in printed
        assert max(cell_len(line) for line in printed.splitlines()) <= 80, name


@pytest.mark.parametrize("verb", LISTINGS)
def test_json_lines_hold_the_whole_system_table(verb):
    for name in ("append_partitioned", "pk_partitioned"):
        rows = json_lines(verb, golden_table(name))
        assert rows
        assert all(list(row) == list(COLUMNS[verb]) for row in rows)


def test_show_tells_what_the_table_is():
    printed = run("show", golden_table("pk_partitioned")).stdout
    for words in ("primary key (k, dt)", "4 APPEND at 2026-11-15", "8 files in 5 partitions, 6 buckets", "9 rows"):
        assert words in printed
    assert "key, partition" in printed
    assert "bucket  2" in printed


@pytest.mark.parametrize("name", golden_names())
def test_show_answers_on_every_table(name):
    facts = json.loads(run("show", golden_table(name), "--json").stdout)
    expected = golden_expected(name)
    assert facts["primary_key"] == expected["primaryKeys"]
    assert facts["partition_by"] == expected["partitionKeys"]
    assert facts["schema"]["options"].items() <= {**expected["options"], **facts["schema"]["options"]}.items()
    latest = expected["snapshots"][-1]["id"] if expected["snapshots"] else None
    assert (facts["snapshot"] or {}).get("id") == latest


def test_show_of_a_past_snapshot_and_of_a_branch():
    old = json.loads(run("show", golden_table("pk_compacted"), "--snapshot", 2, "--json").stdout)
    assert old["snapshot"]["id"] == 2
    branch = json.loads(run("show", golden_table("branches"), "--branch", "b_tag", "--json").stdout)
    assert branch["name"] == "branches"


def test_tags_and_branches_are_shown():
    assert "first, new name, retained" in run("show", golden_table("tags")).stdout
    assert "b_empty, b_tag" in run("show", golden_table("branches")).stdout


def test_tables_lists_a_warehouse():
    rows = json_lines("tables", golden_root())
    assert [row["table"] for row in rows] == [f"golden.{name}" for name in golden_names()]
    printed = run("tables", golden_root()).stdout
    assert max(map(cell_len, printed.splitlines())) <= 80


def test_a_damaged_table_does_not_hide_the_others(tmp_path):
    for name in ("tags", "consumers"):
        shutil.copytree(golden_table(name), tmp_path / "golden.db" / name)
    for path in (tmp_path / "golden.db" / "tags" / "snapshot").glob("snapshot-*"):
        path.write_bytes(b"{")
    rows = {row["table"]: row for row in json_lines("tables", tmp_path)}
    assert rows["golden.consumers"]["kind"] == "append"
    assert rows["golden.tags"]["kind"] == "unreadable"
    assert "snapshot-" in rows["golden.tags"]["error"]


def test_schema_shows_an_older_version():
    printed = run("schema", golden_table("se_append"), "--id", 0).stdout
    assert "DECIMAL(5, 2)" in printed
    document = json.loads(run("schema", golden_table("se_append"), "--json").stdout)
    assert document["id"] == 12
    missing = run("schema", golden_table("se_append"), "--id", 99, code=1)
    assert "schema 99" in missing.stderr


def test_a_limit_cuts_and_says_so():
    printed = run("snapshots", golden_table("many_commits_default"), "--limit", 3).stdout
    assert len(printed.splitlines()) == 5
    assert "147 more of 150" in printed
    assert len(json_lines("snapshots", golden_table("many_commits_default"), "--limit", 3)) == 3
    assert len(json_lines("snapshots", golden_table("many_commits_default"))) == 150


@pytest.mark.parametrize("verb", ["show", "schema", *LISTINGS, "read", "explain", "check"])
def test_a_wrong_path_is_one_line_on_stderr(verb, tmp_path):
    result = run(verb, tmp_path / "nothing here", code=1)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "is not a Paimon table" in result.stderr


def test_a_folder_without_databases_is_no_warehouse(tmp_path):
    result = run("tables", tmp_path, code=1)
    assert "is not a warehouse" in result.stderr


@pytest.mark.parametrize("verb", ["show", *LISTINGS, "read"])
def test_damage_is_one_line_that_names_the_file(verb, tmp_path):
    table = shutil.copytree(golden_table("append_unaware"), tmp_path / "t")
    for path in [*(table / "manifest").iterdir(), *(table / "snapshot").glob("snapshot-*")]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    result = run(verb, table, code=1)
    assert len(result.stderr.splitlines()) == 1
    assert "snapshot-" in result.stderr


def test_usage_errors_exit_with_2():
    run("show", code=2)
    run("nonsense", code=2)
    run("files", golden_table("tags"), "--limit", "many", code=2)
    run("files", golden_table("tags"), "--nonsense", code=2)


@pytest.mark.parametrize(
    "verb", ["tables", "show", *LISTINGS, "schema", "read", "explain", "check", "write", "compact"]
)
def test_every_verb_has_help_with_examples(verb):
    printed = run(verb, "--help").stdout
    assert f"polynya {verb} " in printed.partition("Examples:")[2]
    assert "--json" in printed
