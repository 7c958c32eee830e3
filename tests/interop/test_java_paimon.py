"""The runner itself: every command of the Java server does what the suites rely on."""

import json
import shutil

import pytest

from golden_data import golden_expected, golden_root, golden_table
from interop.java_paimon import JavaTable
from interop.line_server import OtherError
from rows import sorted_rows

COLUMNS = (("k", "INT"), ("v", "STRING"))


@pytest.fixture
def append(java, tmp_path) -> JavaTable:
    return java.table(tmp_path / "db.db" / "a").create(COLUMNS)


@pytest.fixture
def keyed(java, tmp_path) -> JavaTable:
    return java.table(tmp_path / "db.db" / "t").create(COLUMNS, primary_key=["k"], options={"bucket": "2"})


def ids(table: JavaTable) -> list[int]:
    return [row[0] for row in table.rows("snapshots", columns=["snapshot_id"])]


# agg_sketch and friends are plain reads as well; these show every kind of value, many kinds of table
@pytest.mark.parametrize(
    "name", ["types_append", "types_pk", "variant_type", "vector_type", "pk_levels", "dv_append", "se_nested"]
)
def test_rows_are_those_of_the_golden_expectations(java, name):
    found = java.table(golden_table(name)).read()
    assert found["columns"] == golden_expected(name)["columns"]
    assert sorted_rows(found["rows"]) == sorted_rows(golden_expected(name)["rows"])


@pytest.mark.parametrize("name", ["types_append", "variant_type"])
def test_written_values_come_back_as_they_were(java, tmp_path, name):
    fields = [(field["name"], field["type"]) for field in schema_file(name)["fields"]]
    rows = sorted_rows(golden_expected(name)["rows"])
    table = java.table(tmp_path / "db.db" / "copy").create(fields)
    table.write(rows)
    assert table.rows() == rows


def schema_file(name: str) -> dict:
    return json.loads((golden_table(name) / "schema" / "schema-0").read_text())


def test_a_write_is_one_commit_with_the_kinds_given(keyed):
    assert keyed.write([[1, "a"], [2, "b"]]) == [[1, "APPEND"]]
    assert keyed.write([["+U", 1, "x"], ["-D", 2, "b"]], kind=None, user="me", identifier=7) == [[2, "APPEND"]]
    assert keyed.rows() == [[1, "x"]]
    assert keyed.at(1) == [[1, "a"], [2, "b"]]
    assert keyed.rows("snapshots", columns=["commit_user", "commit_identifier"])[-1] == ["me", 7]


def test_an_overwrite_replaces_the_rows(append):
    append.write([[1, "a"]])
    assert append.write([[2, "b"]], overwrite={}) == [[2, "OVERWRITE"]]
    assert append.rows() == [[2, "b"]]


def test_dynamic_buckets_find_the_key_again(java, tmp_path):
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "2"}
    table = java.table(tmp_path / "db.db" / "d").create(COLUMNS, primary_key=["k"], options=options)
    table.write([[k, "old"] for k in range(6)])
    table.write([[k, "new"] for k in range(3)])
    assert table.rows() == sorted_rows([[k, "new" if k < 3 else "old"] for k in range(6)])
    assert len(table.rows("buckets")) == 3


@pytest.mark.parametrize("kind", ["append", "keyed"])
def test_a_compaction_leaves_fewer_files(request, kind):
    table = request.getfixturevalue(kind)
    for k in range(6):
        table.write([[k, "a"]])
    assert table.ask("compact", full=True) == [[7, "COMPACT"]]
    assert len(table.rows("files")) <= 2
    assert len(table.rows()) == 6


def test_a_compaction_can_be_of_one_bucket(keyed):
    keyed.write([[k, "a"] for k in range(10)])
    keyed.write([[k, "b"] for k in range(10)])
    keyed.ask("compact", full=True, buckets=[1])
    levels = {tuple(row) for row in keyed.rows("files", columns=["bucket", "level"])}
    assert levels == {(0, 0), (1, 5)}


def test_a_filter_and_a_projection_are_applied(keyed):
    keyed.write([[1, "a"], [2, "b"], [3, "c"]])
    assert keyed.rows(columns=["v"], where=[[">", "k", 1], ["in", "v", "a", "b"]]) == [["b"]]


def test_a_plan_names_its_files(append):
    append.write([[1, "a"]])
    append.write([[9, "z"]])
    (split,) = append.ask("plan", where=[["=", "k", 9]])
    assert len(split["files"]) == 1
    assert split["raw"] is True


@pytest.mark.parametrize("bits", ["32", "64"])
@pytest.mark.parametrize("bucket", ["-1", "2"])
def test_deleted_rows_are_marked_in_vectors(java, tmp_path, bits, bucket):
    options = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": str(bits == "64").lower()}
    options |= {"bucket": bucket} | ({"bucket-key": "k"} if bucket == "2" else {})
    table = java.table(tmp_path / "db.db" / "v").create(COLUMNS, options=options)
    table.write([[k, "a"] for k in range(10)])
    table.ask("delete", where=[["<", "k", 3]])
    table.ask("delete", where=[["=", "k", 5]])
    assert [row[0] for row in table.rows()] == [4, 3, *range(6, 10)] or sorted(row[0] for row in table.rows()) == [
        3,
        4,
        6,
        7,
        8,
        9,
    ]
    assert sum(deleted for split in table.ask("plan") for deleted in split["vectors"]) == 4


def test_tags_branches_and_rollback(java, append, tmp_path):
    append.write([[1, "a"]])
    append.ask("tag", name="one")
    append.write([[2, "b"]])
    assert append.at_tag("one") == [[1, "a"]]
    append.ask("branch", name="side", tag="one")
    side = java.table(tmp_path / "db.db" / "a", branch="side")
    side.write([[3, "c"]])
    assert side.rows() == [[1, "a"], [3, "c"]]
    append.ask("rollback", snapshot=1)
    assert append.rows() == [[1, "a"]]


def test_expired_snapshots_are_gone(append):
    for k in range(5):
        append.write([[k, "a"]])
    assert append.ask("expire", retain_max=2, retain_min=1) == 3
    assert ids(append) == [4, 5]


def test_a_schema_can_change(append):
    append.write([[1, "a"]])
    append.ask("alter", changes=[["add", "n", "BIGINT"], ["rename", "v", "w"], ["type", "k", "BIGINT"]])
    append.write([[2, "b", 5]])
    found = append.read()
    assert found["columns"] == [["k", "BIGINT"], ["w", "STRING"], ["n", "BIGINT"]]
    assert sorted_rows(found["rows"]) == [[1, "a", None], [2, "b", 5]]
    append.ask("alter", changes=[["drop", "n"], ["set", "num-sorted-run.stop-trigger", "9"]])
    assert append.rows() == [[1, "a"], [2, "b"]]


def test_manifests_can_be_compacted_and_a_table_emptied(append):
    append.write([[1, "a"]])
    append.ask("truncate")
    assert append.rows() == []
    append.ask("compact_manifests")
    append.write([[2, "b"]])
    assert append.rows() == [[2, "b"]]


def test_a_stream_shows_each_change_with_its_kind(java, tmp_path):
    table = java.table(tmp_path / "db.db" / "c").create(
        COLUMNS, primary_key=["k"], options={"bucket": "1", "changelog-producer": "input"}
    )
    table.write([[1, "a"]])
    table.write([["-U", 1, "a"], ["+U", 1, "b"]], kind=None)
    steps = table.ask("stream", snapshot=1)
    assert [step["rows"] for step in steps] == [[["+I", 1, "a"]], [["-U", 1, "a"], ["+U", 1, "b"]]]
    changes = table.rows("audit_log", options={"incremental-between": "1,2"})
    assert changes == [["+U", 1, "b"], ["-U", 1, "a"]]


def test_sql_reaches_the_same_table(java, append, tmp_path):
    append.write([[1, "a"]])
    java.sql(tmp_path, "INSERT INTO db.a VALUES (2, 'b')")
    assert append.rows() == [[1, "a"], [2, "b"]]
    assert java.sql(tmp_path, "SELECT max(k), avg(k) FROM db.a") == [["+I", 2, 1]]


def test_another_warehouse_is_another_catalog(java, tmp_path):
    copy = tmp_path / "golden.db" / "pk_compacted"
    shutil.copytree(golden_table("pk_compacted"), copy)
    (count,) = java.sql(tmp_path, "SELECT count(*) FROM golden.pk_compacted")
    assert count == ["+I", len(golden_expected("pk_compacted")["rows"])]
    assert ["+I", "golden"] in java.sql(golden_root(), "SHOW DATABASES")


def test_an_error_names_its_class_and_keeps_the_server_up(java, append):
    with pytest.raises(OtherError, match=r"ColumnNotExistException"):
        append.ask("alter", changes=[["drop", "absent"]])
    with pytest.raises(OtherError, match="expected a row kind and 2 values"):
        append.write([[1]])
    assert java.ask("ping") == "pong"
