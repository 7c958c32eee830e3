"""Which files Spark reads itself, and why not the others."""

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pyarrow as pa
import pytest

import polynya
from golden_data import golden_names, golden_table
from polynya.model import types as t
from polynya.spark.file_log import log_lines, write_log
from polynya.spark.lake import plan_read
from polynya.spark.scan import ways_of
from polynya.spark.ways import casts_alike, is_alike

UNREADABLE = ("agg_sketch", "external_paths")


def ways(name, **asked):
    return ways_of(*plan_read(polynya.open_table(golden_table(name)), asked.get("where"), asked.get("columns")))


@pytest.mark.parametrize("name", [name for name in golden_names() if name not in UNREADABLE])
def test_every_file_goes_one_way(name):
    reader, plan = plan_read(polynya.open_table(golden_table(name)), None, None)
    chosen = ways_of(reader, plan)
    names = [file for group in chosen.native for file in group.files["file_name"].to_pylist()]
    names += chosen.python["file_name"].to_pylist()
    assert sorted(names) == sorted(plan.files["file_name"].to_pylist())
    assert sum(chosen.reasons.values()) == chosen.python.num_rows


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pk_uncompacted", "overlapping files must be merged"),
        ("data_evolution", "columns of a row in several files"),
        ("types_append_avro", "Spark has no avro reader"),
        ("se_to_string", "column 'bo' was BOOLEAN"),
        ("types_append", "column 'f_time' of TIME in parquet"),
    ],
)
def test_python_reads_with_a_reason(name, reason):
    assert reason in ways(name).reasons


def test_a_column_that_is_not_asked_for_keeps_nothing_from_being_native():
    assert ways("types_append", columns=["f_int", "f_string"]).python.num_rows == 0


def test_files_that_store_row_ids_are_native():
    assert ways("row_tracking").python.num_rows == 0
    assert ways("row_tracking", columns=["id", "_ROW_ID"]).native == ()


def test_a_filter_on_a_column_counts_like_reading_it():
    assert ways("types_append", columns=["f_int"], where="f_ts9 is not null").native == ()


def test_partitions_that_folders_tell_share_a_scan_and_those_they_hide_have_their_own():
    groups = ways("append_partitioned").native
    assert [bool(group.partition) for group in groups].count(False) == 1
    own = [{value.as_py() for value in group.partition.values()} for group in groups if group.partition]
    assert all(values & {None, "", " ", "__DEFAULT_PARTITION__"} for values in own)


def test_partition_columns_that_nobody_asked_for_need_no_scan_of_their_own():
    assert len(ways("append_partitioned", columns=["id"]).native) == 1


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        (t.Int(), t.BigInt(), True),
        (t.BigInt(), t.Int(), False),
        (t.Int(), t.Double(), True),
        (t.BigInt(), t.Double(), True),
        (t.Int(), t.Float(), False),
        (t.Float(), t.Double(), True),
        (t.Int(), t.Decimal(12, 2), True),
        (t.BigInt(), t.Decimal(12, 2), False),
        (t.Decimal(5, 2), t.Decimal(6, 3), True),
        (t.Decimal(5, 2), t.Decimal(6, 1), False),
        (t.Int(), t.VarChar(), False),
        (t.VarChar(3), t.VarChar(9), True),
        (t.VarChar(9), t.VarChar(3), False),
        (t.Timestamp(3), t.Timestamp(6), True),
        (t.Timestamp(6), t.Timestamp(3), False),
        (t.Timestamp(6), t.LocalTimestamp(6), False),
        (t.Int(nullable=False), t.Int(), True),
    ],
)
def test_only_casts_that_cannot_differ_are_left_to_spark(old, new, alike):
    assert casts_alike(old, new) is alike


def test_orc_keeps_days_times_floats_and_padded_texts_to_itself():
    kinds = (t.Date(), t.Timestamp(6), t.Char(3), t.Array(t.Date()), t.Float(), t.Double())
    assert [is_alike(kind, "orc") for kind in kinds] == [False] * len(kinds)
    assert [is_alike(kind, "parquet") for kind in kinds] == [True] * len(kinds)


def test_a_log_holds_exact_sizes_and_encoded_paths(tmp_path):
    folder = str(tmp_path / "a b" / "day=x%3Ay" / "ü")
    files = pa.table({"folder": [folder] * 2, "file_name": ["f-1.parquet", "g h.parquet"], "file_size": [7, 9]})
    lines = [json.loads(line) for line in log_lines(files).to_pylist()]
    assert [unquote(line["path"]) for line in lines] == [f"file://{folder}/f-1.parquet", f"file://{folder}/g h.parquet"]
    assert all(" " not in line["path"] and "%25" in line["path"] for line in lines)
    assert [line["size"] for line in lines] == [7, 9]


def test_the_same_list_has_the_same_log(tmp_path):
    files = pa.table({"folder": ["/x"], "file_name": ["a"], "file_size": [1]})
    log = write_log(tmp_path, files)
    assert write_log(tmp_path, files) == log
    assert (log / "_spark_metadata" / "0").read_text().startswith("v1\n{")
    assert write_log(tmp_path, files.set_column(2, "file_size", pa.array([2]))) != log


def test_threads_that_list_the_same_files_at_once_do_not_disturb_each_other(tmp_path):
    files = pa.table({"folder": ["/x"] * 50000, "file_name": ["a" * 200] * 50000, "file_size": [1] * 50000})
    with ThreadPoolExecutor(8) as threads:
        (log,) = set(threads.map(lambda _: write_log(tmp_path, files), range(8)))
    assert len((log / "_spark_metadata" / "0").read_text().splitlines()) == 50001
    assert len(list(log.rglob("*"))) == 2
