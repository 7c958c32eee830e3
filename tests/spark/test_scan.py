"""Tables as DataFrames: the rows that Arrow reads, by plans that Spark can work with."""

import contextlib
import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

import polynya
from golden_data import golden_table
from polynya.errors import StorageError, UnsupportedError
from polynya.model import bind, evaluate
from polynya.spark.file_log import open_files
from polynya.spark.filters import to_column
from polynya.spark.types import transfer_schema
from polynya.table import history
from predicate_cases import FIELDS, columns_of, predicates
from rows import render_rows

pytestmark = pytest.mark.spark

TABLES = (
    "append_empty",
    "append_partitioned",
    "part_types_new_names",
    "se_append",
    "se_nested",
    "fi_bloom_types",
    "dv_append",
    "dv_pk",
    "pk_uncompacted",
    "pk_partitioned",
    "agg_all",
    "comp_mixed",
    "fmt_orc",
    "types_append_avro",
    "data_evolution",
    "row_tracking",
)


def spark_rows(frame, fields):
    return render_rows(_in_our_types(frame.toArrow(), fields), fields)


def _in_our_types(table, fields):
    """Spark's Arrow types are not ours: times of day in nanoseconds, a variant with its own tag."""
    arrays = []
    for field in fields:
        column = table[field.name]
        arrays.append(column.cast(pa.time32("ms")) if pa.types.is_time(column.type) else column)
    return pa.table(arrays, [field.name for field in fields])


def explained(frame):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        frame.explain()
    return text.getvalue()


@pytest.mark.parametrize("name", TABLES)
def test_a_golden_table_has_the_rows_that_arrow_reads(golden_lake, name):
    table = polynya.open_table(golden_table(name))
    frame = golden_lake.table(f"golden.{name}").read()
    assert frame.columns == list(table.schema.names)
    assert spark_rows(frame, table.schema.fields) == render_rows(table.scan().to_arrow(), table.schema.fields)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("append_partitioned", "hr is null or dt = '2024-01-02'"),
        ("part_types_new_names", "p_date = date '2024-02-29'"),
        ("dv_append", "id > 3"),
        ("pk_uncompacted", "k <> 2"),
        ("se_append", "id in (1, 2, 3) and d > 2.5"),
    ],
)
def test_a_filter_leaves_the_rows_that_arrow_keeps(golden_lake, name, where):
    table = polynya.open_table(golden_table(name))
    frame = golden_lake.table(f"golden.{name}").read(where=where)
    assert spark_rows(frame, table.schema.fields) == render_rows(table.scan(where).to_arrow(), table.schema.fields)


def test_the_past_is_read_in_the_schema_of_its_time(golden_lake):
    table = polynya.open_table(golden_table("tags"))
    tag = history.tag_names(table.root)[0]
    frame = golden_lake.table("golden.tags").read(tag=tag)
    then = table.at(tag=tag)
    assert spark_rows(frame, then.schema.fields) == render_rows(then.scan().to_arrow(), then.schema.fields)


@pytest.fixture
def orders(lake):
    """A raw table of three days, four files each."""
    rows = lake.spark.range(0, 600, 1, 4).selectExpr(
        "id", "date_add(date'2026-11-01', cast(id % 3 as int)) as day", "id * 0.5D as amount", "concat('n', id) as note"
    )
    table = lake.create_table("db.orders", rows.schema, partition_by=["day"])
    table.write(rows)
    return table


def test_files_that_spark_does_not_find_are_an_error_each_time(lake):
    files = pa.table({"folder": ["/nowhere/plain"], "file_name": ["a.parquet"], "file_size": pa.array([9], pa.int64())})
    schema = StructType([StructField("id", LongType()), StructField("day", StringType())])
    for _ in range(2):
        with pytest.raises(StorageError, match="0 of 1 files"):
            open_files(lake.spark, files, schema, format="parquet", partitioned=True)


def test_spark_prunes_columns_and_partitions_and_pushes_filters(orders):
    text = explained(orders.read().where("day = date'2026-11-02' and amount < 7.5").select("id"))
    assert "FileScan parquet" in text
    assert "MetadataLogFileIndex" in text
    assert "LessThan(amount,7.5)" in text
    assert "ReadSchema: struct<id:bigint,amount:double>" in text
    assert "PartitionFilters: [isnotnull(day" in text
    assert "MapInArrow" not in text


def test_a_filter_of_ours_is_pushed_down_like_one_of_sparks(orders):
    text = explained(orders.read(where="id >= 590", columns=["note"]))
    assert "GreaterThanOrEqual(id,590)" in text
    assert orders.read(where="id >= 590", columns=["note"]).count() == 10


@pytest.mark.parametrize("format", ["parquet", "avro"])
def test_members_of_nested_columns_come_alone_by_either_way(lake, format):
    rows = lake.spark.range(20).selectExpr(
        "id",
        'from_json(if(id % 5 = 0, null, format_string(\'{"age":%d,"home":{"zip":%d,"city":"c"}}\', id, id)),'
        " 'age bigint, home struct<city: string, zip: bigint>') as who",
        "from_json(format_string('[{\"sku\":%d}, null]', id), 'array<struct<sku: bigint, price: double>>') as items",
    )
    table = lake.create_table("db.people", rows.schema, options={"file.format": format})
    table.write(rows)
    asked = {"where": "who.age > 3", "columns": ["who.home.zip", "id", "items.element.sku"]}
    frame, reader = table.read(**asked), polynya.open_table(table.table.location).scan(**asked)
    assert frame.toArrow().sort_by("id").to_pylist() == reader.to_arrow().sort_by("id").to_pylist()
    assert frame.schema["who"].dataType.simpleString() == "struct<home:struct<zip:bigint>>"
    assert ("MapInArrow" in explained(frame)) == (format == "avro")


def test_partitions_are_pruned_before_spark_sees_them(orders):
    assert len(orders.read(where="day = date'2026-11-02'").inputFiles()) == 4


def test_deletion_vectors_leave_the_scan_native(golden_lake):
    text = explained(golden_lake.table("golden.dv_append").read())
    assert "FileScan parquet" in text
    assert "MapInArrow" not in text


def test_variants_arrive_as_they_are_stored(golden_lake):
    table = golden_lake.table("golden.variant_type")
    found = {row.id: row.v and (row.v.value, row.v.metadata) for row in table.read().collect()}
    stored = table.table.scan().to_arrow().to_pylist()
    assert found == {row["id"]: row["v"] and (row["v"]["value"], row["v"]["metadata"]) for row in stored}


def test_explain_says_which_way_and_why(golden_lake):
    text = golden_lake.table("golden.pk_uncompacted").explain()
    assert "native     1 parquet files of schema 0" in text
    assert "python     8 files: overlapping files must be merged" in text


def test_a_frame_stays_at_its_snapshot(orders):
    before = orders.read()
    orders.write(before.limit(5))
    assert (before.count(), orders.read().count()) == (600, 605)


def test_times_finer_than_a_microsecond_are_refused_by_column(golden_lake):
    with pytest.raises(Exception, match=r"column 'f_ts9': .* finer"):
        golden_lake.table("golden.types_append").read(columns=["f_ts9"]).toArrow()


def test_sql_is_refused_for_now(golden_lake):
    with pytest.raises(UnsupportedError, match="SQL is not supported yet"):
        golden_lake.sql("select 1")


@settings(max_examples=1, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_predicates_mean_in_spark_what_they_mean_in_arrow(spark, data):
    fields = tuple(field for field in FIELDS if field.name != "clock")
    rows = data.draw(columns_of({field.name for field in fields}, 30).filter(lambda table: table.num_rows > 5))
    wanted = [data.draw(predicates(floats=True)) for _ in range(60)]
    bound = [bind.bind(one, FIELDS) for one in wanted]
    bound = [one for one in bound if ("clock",) not in bind.columns(one)]
    frame = spark.createDataFrame(rows.cast(transfer_schema(fields)))
    counts = frame.select(*(F.count_if(to_column(one)).alias(f"c{index}") for index, one in enumerate(bound))).first()
    expected = [evaluate.mask(one, rows).true_count for one in bound]
    differ = [str(one) for one, found, right in zip(bound, counts, expected, strict=True) if found != right]
    assert differ == []


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize(
    "where", ["d = 0.0", "d = -0.0", "d >= 0.0", "d <= -0.0", "d in (0.0, 7.0)", "not (d <> -0.0)"]
)
def test_a_zero_is_found_whatever_its_sign(lake, format, where):
    table = lake.create_table("db.t", pa.schema([("d", pa.float64())]), options={"file.format": format})
    table.table.write(pa.table({"d": [0.0] * 3}))
    table.table.write(pa.table({"d": [-0.0] * 3}))
    assert ("python" in table.explain(where)) is (format == "orc")
    assert table.read(where).count() == 6


FLOATS = pa.schema([("d", pa.float64()), ("n", pa.struct([("x", pa.float32())]))])


def floats(*values):
    members = pa.array([{"x": value} for value in values], FLOATS.field("n").type)
    return pa.table([pa.array(values, pa.float64()), members], FLOATS)


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("where", ["d = 0", "d >= 0", "d in (-0.0, 7)", "n.x = 0"])
def test_filters_of_callers_find_both_zeros(lake, format, where):
    table = lake.create_table("db.t", FLOATS, options={"file.format": format})
    for zero in (0.0, -0.0):
        table.table.write(floats(zero))
    assert table.read().where(where).count() == 2


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("where", ["d > 5", "d >= 5", "d <> 1", "d = double('NaN')", "not (d < 5)", "n.x > 5"])
def test_filters_of_callers_find_nan_which_is_above_all_numbers(lake, format, where):
    table = lake.create_table("db.t", FLOATS, options={"file.format": format, "file.block-size": "1 kb"})
    table.table.write(floats(1.0, float("nan")))
    table.table.write(floats(*[1.0] * 1000, float("nan")))  # in the last of several row groups
    assert table.read().where(where).count() == 2


@pytest.mark.parametrize("damage", ["gone", "damaged"])
def test_a_file_that_cannot_be_read_fails_a_session_that_ignores_such_files(lake, damage):
    table = lake.create_table("db.t", pa.schema([("id", pa.int64())]))
    table.write(lake.spark.range(10))
    for path in Path(table.table.location).rglob("data-*"):
        path.unlink() if damage == "gone" else path.write_bytes(bytes(path.stat().st_size))
    key = f"spark.sql.files.ignore{'Missing' if damage == 'gone' else 'Corrupt'}Files"
    lake.spark.conf.set(key, "true")
    try:
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            table.read().collect()
    finally:
        lake.spark.conf.unset(key)
