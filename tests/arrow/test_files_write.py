"""What we write we read back, in the layout of Java; options are honoured or refused."""

import io
import json
from decimal import Decimal

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from arrow.golden_files import data_files, file_fields, read_all, schemas
from golden_data import golden_table
from polynya.arrow import files
from polynya.codec.avro_container import AvroSource, decode_container
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema
from polynya.storage.memory import MemoryStorage
from rows import render_rows

NOT_IN_ORC = ("f_ts3", "f_ts6", "f_ts9", "f_ltz3", "f_ltz6", "f_ltz9")  # fractions before 1970
NOT_IN_AVRO = ("f_ts9", "f_ltz9")


def golden_rows(format):
    names = {"parquet": (), "orc": NOT_IN_ORC, "avro": NOT_IN_AVRO}[format]
    fields = tuple(field for field in schemas("types_append")[0].fields if field.name not in names)
    return fields, pa.concat_tables(read_all("types_append", name, fields) for name in data_files("types_append"))


def write(format, fields, table, **arguments):
    stream = io.BytesIO()
    writer = files.open_writer(stream, format=format, fields=fields, **arguments)
    for batch in table.to_batches():
        writer.write(batch)
    written = writer.close()
    assert writer.row_count == written.row_count == table.num_rows
    assert writer.written_bytes == len(stream.getvalue())
    return stream.getvalue()


def read(format, fields, data):
    store = MemoryStorage()
    store.put(f"x.{format}", data)
    found = files.read(store, f"x.{format}", format=format, file_fields=fields, columns=fields)
    return pa.Table.from_batches([batch for _, batch in found], to_arrow_schema(fields))


def codec_of(format, data):
    if format == "parquet":
        return pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(0).compression
    if format == "orc":
        return orc.ORCFile(io.BytesIO(data)).compression
    return decode_container(AvroSource("x", data=data)).codec


@pytest.mark.parametrize("format", files.FORMATS)
def test_all_types_come_back(format):
    fields, table = golden_rows(format)
    result = read(format, fields, write(format, fields, table))
    result.validate(full=True)
    if format == "orc":  # CHAR is read without the blanks at its end
        index = table.schema.get_field_index("f_char")
        trimmed = pa.compute.utf8_rtrim(table["f_char"], " ")
        table = table.set_column(index, table.schema.field(index), trimmed)
    assert render_rows(result, fields) == render_rows(table, fields)


@pytest.mark.parametrize("format", files.FORMATS)
def test_a_file_of_no_rows_is_a_file(format):
    fields, table = golden_rows(format)
    assert read(format, fields, write(format, fields, table.slice(0, 0))).num_rows == 0


@pytest.mark.parametrize("table", ["types_append", "types_pk", "se_nested", "variant_type"])
def test_the_parquet_schema_is_that_of_java_with_nanoseconds_for_int96(table):
    schema = max(schemas(table).values(), key=lambda found: found.id)
    fields = file_fields(schema)
    data = write("parquet", fields, to_arrow_schema(fields).empty_table())
    java = pq.ParquetFile(golden_table(table) / data_files(table)[-1]).schema
    ours = pq.ParquetFile(io.BytesIO(data)).schema
    if table != "se_nested":
        assert len(ours) == len(java)
    java_columns = {java.column(i).path: java.column(i) for i in range(len(java))}
    for i in range(len(ours)):
        column = ours.column(i)
        if column.path in java_columns and java_columns[column.path].physical_type != "INT96":
            expected = java_columns[column.path]
            assert (column.physical_type, column.logical_type.to_json(), column.max_definition_level) == (
                expected.physical_type,
                expected.logical_type.to_json(),
                expected.max_definition_level,
            )


def ids(schema_text):
    marked = (line.split("field_id=")[1] for line in str(schema_text).splitlines() if "field_id=" in line)
    return [line.split(" ")[:2] for line in marked if not line.startswith("-1 ")]


@pytest.mark.parametrize("table", ["types_append", "types_pk", "variant_type"])
def test_field_ids_are_those_of_java_at_every_level(table):
    (schema,) = schemas(table).values()
    fields = file_fields(schema)
    data = write("parquet", fields, to_arrow_schema(fields).empty_table())
    java = pq.ParquetFile(golden_table(table) / data_files(table)[0]).schema
    assert [one[0] for one in ids(pq.ParquetFile(io.BytesIO(data)).schema)] == [one[0] for one in ids(java)]


def test_orc_carries_the_ids_that_java_writes():
    fields, table = golden_rows("orc")
    ours = orc.ORCFile(io.BytesIO(write("orc", fields, table))).schema
    java = orc.ORCFile(golden_table("types_append_orc") / data_files("types_append_orc")[0]).schema
    for field in ours:
        assert field.metadata == java.field(field.name).metadata
    assert ours.field("f_arr").type.value_field.metadata == java.field("f_arr").type.value_field.metadata
    assert ours.field("f_row").type[0].metadata == java.field("f_row").type[0].metadata


def test_the_avro_schema_is_that_of_java():
    (schema,) = schemas("types_append_avro").values()
    (name,) = data_files("types_append_avro")
    java = decode_container(AvroSource("java", path=str(golden_table("types_append_avro") / name)))
    ours = decode_container(AvroSource("ours", data=write("avro", schema.fields, schema.arrow.empty_table())))
    ours_schema, java_schema = (
        fastavro.parse_schema(json.loads(container.schema_text), _write_hint=False) for container in (ours, java)
    )
    assert {**ours_schema, "__named_schemas": 0} == {**java_schema, "__named_schemas": 0}
    assert ours.codec == java.codec == "zstandard"


@pytest.mark.parametrize(
    ("format", "compression", "codec"),
    [
        ("parquet", "zstd", "ZSTD"),
        ("parquet", "none", "UNCOMPRESSED"),
        ("parquet", "snappy", "SNAPPY"),
        ("parquet", "gzip", "GZIP"),
        ("parquet", "lz4", "LZ4"),
        ("orc", "zstd", "ZSTD"),
        ("orc", "none", "UNCOMPRESSED"),
        ("orc", "lz4", "LZ4"),
        ("avro", "zstd", "zstandard"),
        ("avro", "none", "null"),
        ("avro", "snappy", "snappy"),
        ("avro", "deflate", "deflate"),
    ],
)
def test_the_compression_is_honoured(format, compression, codec):
    fields = (t.Field(0, "id", t.Int()),)
    table = pa.table({"id": pa.array(range(1000), pa.int32())})
    data = write(format, fields, table, compression=compression)
    assert codec_of(format, data) == codec
    assert read(format, fields, data).equals(table)


@pytest.mark.parametrize("format", files.FORMATS)
def test_an_unknown_compression_is_refused_by_name(format):
    with pytest.raises(UnsupportedError, match="'lzo'"):
        files.open_writer(io.BytesIO(), format=format, fields=(t.Field(0, "id", t.Int()),), compression="lzo")


def test_unwritable_formats_and_columns_are_refused_by_name():
    with pytest.raises(UnsupportedError, match="'csv'"):
        files.open_writer(io.BytesIO(), format="csv", fields=(t.Field(0, "id", t.Int()),))
    with pytest.raises(UnsupportedError, match="'late'"):
        files.open_writer(io.BytesIO(), format="avro", fields=(t.Field(0, "late", t.Timestamp(9)),))
    with pytest.raises(UnsupportedError, match="'v'"):
        files.open_writer(io.BytesIO(), format="orc", fields=(t.Field(0, "v", t.Variant()),))
    with pytest.raises(InvalidInputError, match="column"):
        files.open_writer(io.BytesIO(), format="parquet", fields=())


def test_parquet_options_reach_the_file():
    fields = (t.Field(0, "a", t.Int()), t.Field(1, "b", t.Array(t.Int())))
    table = pa.table({"a": pa.array(range(5000), pa.int32()), "b": [[i] for i in range(5000)]}).cast(
        to_arrow_schema(fields)
    )
    data = write("parquet", fields, table, options={"parquet.enable.dictionary": "false", "file.block-size": "10 kb"})
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    assert "RLE_DICTIONARY" not in metadata.row_group(0).column(0).encodings
    assert "RLE_DICTIONARY" not in metadata.row_group(0).column(1).encodings
    assert read("parquet", fields, data).equals(table)


def test_only_parquet_columns_whose_values_come_again_have_a_dictionary():
    count = 30000
    columns = {
        "id": pa.array(range(count), pa.int64()),
        "kind": pa.array([index % 1000 for index in range(count)], pa.int64()),
        "text": pa.array([f"text {index}" for index in range(count)]),
        "day": pa.array([None if index % 3 == 0 else str(index % 8) for index in range(count)]),
        "none": pa.nulls(count, pa.float64()),
        "flag": pa.array([index % 2 == 0 for index in range(count)]),
        "list": pa.array([[index] for index in range(count)]),
    }
    types = (t.BigInt(), t.BigInt(), t.VarChar(), t.VarChar(), t.Double(), t.Boolean(), t.Array(t.BigInt()))
    fields = tuple(t.Field(number, name, types[number]) for number, name in enumerate(columns))
    table = pa.table(columns).cast(to_arrow_schema(fields))
    data = write("parquet", fields, table)
    group = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0)
    coded = {name for number, name in enumerate(columns) if "RLE_DICTIONARY" in group.column(number).encodings}
    assert coded == {"kind", "day", "none", "list"}
    assert read("parquet", fields, data).equals(table)


@pytest.mark.parametrize(
    ("last", "block_size", "told"),
    [(2.0, "1 mb", True), (float("nan"), "1 mb", False), (2.0, "1 kb", False), (None, "1 mb", True)],
)
def test_a_parquet_footer_tells_of_floats_only_where_the_file_surely_holds_no_nan(last, block_size, told):
    inside = t.Row((t.Field(1, "x", t.Float()),))
    fields = (t.Field(0, "d", t.Double()), t.Field(2, "n", inside), t.Field(3, "id", t.BigInt()))
    columns = {"d": [1.0] * 999 + [last], "n": [{"x": last}] * 1000, "id": range(1000)}
    table = pa.table({name: list(values) for name, values in columns.items()}).cast(to_arrow_schema(fields))
    data = write("parquet", fields, table, options={"file.block-size": block_size})
    group = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0)
    assert [group.column(number).is_stats_set for number in range(3)] == [told, False, True]


def test_row_groups_follow_the_block_size_and_the_estimate_the_file():
    fields = (t.Field(0, "id", t.BigInt()),)
    stream = io.BytesIO()
    writer = files.open_writer(stream, format="parquet", fields=fields, options={"parquet.block.size": "80000"})
    for start in range(0, 100_000, 10_000):
        writer.write(pa.record_batch({"id": pa.array(range(start, start + 10_000))}))
        assert writer.written_bytes >= len(stream.getvalue())
    writer.close()
    assert pq.ParquetFile(io.BytesIO(stream.getvalue())).metadata.num_row_groups == 10


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
            st.none() | st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=3),
            st.none() | st.integers(-(10**25), 10**25).map(lambda n: Decimal(n).scaleb(-3)),
        ),
        max_size=30,
    ),
    st.sampled_from(files.FORMATS),
)
def test_any_rows_come_back(rows, format):
    fields = (
        t.Field(0, "i", t.BigInt()),
        t.Field(1, "s", t.VarChar()),
        t.Field(2, "l", t.Array(t.Int())),
        t.Field(3, "d", t.Decimal(30, 3)),
    )
    schema = to_arrow_schema(fields)
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=schema)
    assert read(format, fields, write(format, fields, table)).equals(table)


def test_orc_refuses_fractions_before_1970_by_name():
    fields = (t.Field(0, "early", t.Timestamp(6)),)
    with pytest.raises(UnsupportedError, match="'early'"):
        write("orc", fields, pa.table({"early": pa.array([-1], pa.timestamp("us"))}))


def test_orc_keeps_years_beyond_nanoseconds():
    fields = (t.Field(0, "ts", t.Timestamp(6)), t.Field(1, "id", t.Int()))
    stamps = pa.array([253402300799_999999, None, -62135596800_000000], pa.timestamp("us"))
    table = pa.table({"ts": stamps, "id": pa.array([1, 2, 3], pa.int32())})
    assert read("orc", fields, write("orc", fields, table)).equals(table)


def test_orc_local_timestamps_come_back_in_any_zone(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    fields = (t.Field(0, "ts", t.LocalTimestamp(3)),)
    table = pa.table({"ts": pa.array([1_700_000_000_123, None], pa.timestamp("ms", "UTC"))})
    data = write("orc", fields, table)
    assert orc.read_table(io.BytesIO(data))["ts"][0].value == (1_700_000_000_123 - 19_800_000) * 1_000_000
    assert read("orc", fields, data).equals(table)
