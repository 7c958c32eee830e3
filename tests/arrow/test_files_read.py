"""Data files that Java wrote give the rows Java reads; damaged and strange ones give an error that names them."""

import contextlib
import io
import random
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrow.golden_files import data_files, expected_rows, file_fields, read_all, schemas, storage
from golden_data import golden_expected, golden_table
from polynya.arrow import files
from polynya.errors import CorruptFileError, NotFoundError, UnsupportedError
from polynya.model import bind
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.predicate import col
from polynya.storage.memory import MemoryStorage
from rows import render_rows, sorted_rows

ID = t.Field(0, "id", t.Int())


def read_bytes(data, name, columns, file_columns=None, **arguments):
    store = MemoryStorage()
    store.put(name, data)
    batches = files.read(
        store, name, format=files.format_of(name), file_fields=file_columns or columns, columns=columns, **arguments
    )
    return list(batches)


@pytest.mark.parametrize(
    "table",
    [
        "types_append",
        "types_append_avro",
        "types_append_orc",
        "comp_mixed",
        "comp_snappy",
        "tz_kolkata_parquet",
        "tz_kolkata_avro",
        "tz_kolkata_orc_new",
        "variant_type",
        "variant_infer_mixed",
        "vector_type",
        "multi_file",
    ],
)
def test_files_of_an_append_table_hold_the_rows_that_java_reads(table):
    (schema,) = schemas(table).values()
    tables = [read_all(table, name, schema.fields, options=schema.options) for name in data_files(table)]
    result = pa.concat_tables(tables)
    result.validate(full=True)
    if "rowCount" in golden_expected(table)["snapshots"][-1]:
        assert result.num_rows == golden_expected(table)["snapshots"][-1]["rowCount"]
    else:
        assert render_rows(result, schema.fields) == expected_rows(table, schema.fields)


@pytest.mark.parametrize("table", ["types_pk", "fmt_orc", "fmt_avro", "fmt_per_level", "thin_mode"])
def test_files_of_a_key_table_have_their_system_columns(table):
    (schema,) = schemas(table).values()
    for name in data_files(table):
        rows = read_all(table, name, file_fields(schema), options=schema.options)
        rows.validate(full=True)
        assert rows["_SEQUENCE_NUMBER"].null_count == 0
        assert rows["_VALUE_KIND"].null_count == 0
        assert rows.num_rows == files.row_count(storage(table), name, format=files.format_of(name))


def test_orc_local_timestamps_are_shifted_by_the_zone_of_the_process(monkeypatch):
    (schema,) = schemas("tz_kolkata_orc").values()
    (name,) = data_files("tz_kolkata_orc")
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    rows = read_all("tz_kolkata_orc", name, schema.fields, options=schema.options)
    assert render_rows(rows, schema.fields) == sorted_rows(golden_expected("tz_kolkata_orc")["rows"])


def test_char_of_orc_loses_its_padding():
    (schema,) = schemas("types_append_orc").values()
    (name,) = data_files("types_append_orc")
    rows = read_all("types_append_orc", name, schema.fields, schema.select(["f_char"]))
    assert rows["f_char"].to_pylist() == ["abc", "x", "日本", None, None, "zz"]


@pytest.mark.parametrize("table", ["types_append", "types_append_avro", "fmt_orc"])
def test_a_column_the_file_lacks_is_null(table):
    first = schemas(table)[0].fields[0]
    columns = (t.Field(90, "new", t.Array(t.Int())), first)
    for name in data_files(table):
        rows = read_all(table, name, schemas(table)[0].fields, columns)
        assert rows["new"].null_count == rows.num_rows > 0
        assert rows.schema == to_arrow_schema(columns)


@pytest.mark.parametrize("table", ["types_append", "types_append_avro", "fmt_orc"])
def test_reading_no_columns_counts_the_rows(table):
    name = data_files(table)[0]
    batches = files.read(
        storage(table), name, format=files.format_of(name), file_fields=schemas(table)[0].fields, columns=()
    )
    expected = files.row_count(storage(table), name, format=files.format_of(name))
    assert sum(batch.num_rows for _, batch in batches) == expected > 0


def test_members_of_a_row_are_read_alone():
    (schema,) = schemas("types_append").values()
    whole = schema.column("f_nested")
    member = whole.type.element.fields[1]
    pruned = t.Field(whole.id, whole.name, t.Array(t.Row((member,))))
    values = [
        read_all("types_append", name, schema.fields, (pruned,))["f_nested"].to_pylist()
        for name in data_files("types_append")
    ]
    assert [[{"m": [("k", [1.5, 2.5])]}]] in values


def test_names_with_dots_are_not_paths():
    fields = (t.Field(0, "a.b", t.Int()), t.Field(1, "a", t.Row((t.Field(2, "b", t.VarChar()),))))
    table = pa.table({"a.b": pa.array([1], pa.int32()), "a": [{"b": "x"}]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    (found,) = read_bytes(sink.getvalue(), "x.parquet", fields)
    assert found.batch.to_pylist() == [{"a.b": 1, "a": {"b": "x"}}]


def test_pruned_row_groups_keep_the_positions_of_the_others():
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array(range(100), pa.int32())}), sink, row_group_size=10)
    wanted = bind.bind(col("id").is_in([15, 55, 61]), (ID,))
    found = read_bytes(sink.getvalue(), "x.parquet", (ID,), predicate=wanted, size=files.BatchSize(rows=7))
    assert {first for first, _ in found} == {10, 17, 50, 57, 60, 67}
    for first, batch in found:
        assert batch["id"].to_pylist() == list(range(first, first + batch.num_rows))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_foreign_spellings_of_a_type_are_understood(unit):
    fields = (
        t.Field(0, "s", t.VarChar()),
        t.Field(1, "d", t.Decimal(12, 2)),
        t.Field(2, "ts", t.Timestamp(6)),
        t.Field(3, "b", t.VarBinary()),
    )
    arrays = [
        pa.array(["a", None]).dictionary_encode(),
        pa.array([Decimal("1.25"), None], pa.decimal128(12, 2)),
        pa.array([7, None], pa.timestamp(unit)),
        pa.array([b"xy", None], pa.binary(2)),
    ]
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays, names=[field.name for field in fields]), sink)
    (found,) = read_bytes(sink.getvalue(), "x.parquet", fields)
    assert found.batch.schema == to_arrow_schema(fields)
    per_unit = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}[unit]
    assert found.batch["ts"].view(pa.int64()).to_pylist() == [7 * per_unit, None]


def int96_file(year, store_schema):
    table = pa.table({"ts": pa.array([datetime(year, 1, 2, 3, 4, 5, 6)], pa.timestamp("us"))})
    sink = io.BytesIO()
    pq.write_table(table, sink, use_deprecated_int96_timestamps=True, store_schema=store_schema)
    return sink.getvalue()


@pytest.mark.parametrize("store_schema", [True, False])
@pytest.mark.parametrize("year", [1600, 2300, 2500, 9999])
def test_int96_beyond_nanoseconds_is_refused_by_name(year, store_schema):
    with pytest.raises(UnsupportedError, match=r"x\.parquet.*'ts'"):
        read_bytes(int96_file(year, store_schema), "x.parquet", (t.Field(0, "ts", t.Timestamp(9)),))


@pytest.mark.parametrize("store_schema", [True, False])
@pytest.mark.parametrize("year", [1600, 1950, 2026, 2300, 2500, 9999])
def test_int96_of_microseconds_is_read_in_every_year(year, store_schema):
    fields = (t.Field(0, "ts", t.Timestamp(6)),)
    (found,) = read_bytes(int96_file(year, store_schema), "x.parquet", fields)
    assert found.batch["ts"].to_pylist() == [datetime(year, 1, 2, 3, 4, 5, 6)]


@pytest.mark.parametrize(
    ("table", "column"),
    [("types_append", t.Field(13, "f_string", t.Int())), ("types_append_avro", t.Field(4, "f_int", t.VarChar()))],
)
def test_a_column_that_cannot_be_what_the_schema_says_is_a_damaged_file(table, column):
    with pytest.raises(CorruptFileError, match=f"{column.name}"):
        read_all(table, data_files(table)[0], (column,))


@pytest.mark.parametrize("table", ["types_append", "types_append_avro", "fmt_orc"])
def test_a_truncated_file_is_an_error_that_names_it(table):
    name = data_files(table)[0]
    data = (golden_table(table) / name).read_bytes()
    short = f"short.{files.format_of(name)}"
    for size in range(0, len(data) - 1, max(1, len(data) // 20)):
        with pytest.raises(CorruptFileError, match=rf"{short}"):
            read_bytes(data[:size], short, schemas(table)[0].fields)


@pytest.mark.parametrize("table", ["types_append", "types_append_avro", "types_append_orc"])
def test_flipped_bits_give_rows_or_an_error_of_ours(table):
    name = data_files(table)[0]
    data = (golden_table(table) / name).read_bytes()
    flips = random.Random(table)
    for _ in range(60):
        damaged = bytearray(data)
        damaged[flips.randrange(len(data))] ^= 1 << flips.randrange(8)
        with contextlib.suppress(CorruptFileError, UnsupportedError):
            read_bytes(bytes(damaged), f"flip.{files.format_of(name)}", schemas(table)[0].fields)


@pytest.mark.parametrize("format", files.FORMATS)
def test_a_missing_file_is_not_found(format, tmp_path):
    for store in (MemoryStorage(), storage("types_append")):
        with pytest.raises(NotFoundError, match="gone"):
            list(files.read(store, f"gone.{format}", format=format, file_fields=(ID,), columns=(ID,)))


@pytest.mark.parametrize("format", ["csv", "json", "text", "row", "lance", "blob"])
def test_other_formats_are_refused_by_name(format):
    with pytest.raises(UnsupportedError, match=f"x.{format}.*'{format}'"):
        files.read(MemoryStorage(), f"x.{format}", format=format, file_fields=(ID,), columns=(ID,))


def test_blobs_are_refused_by_name():
    column = t.Field(0, "picture", t.Blob())
    with pytest.raises(UnsupportedError, match="'picture'"):
        files.read(MemoryStorage(), "x.parquet", format="parquet", file_fields=(column,), columns=(column,))
