import io
import json
import os
import signal

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codec.avro_samples import COLUMNS, RANGE, SCHEMA_TEXT, TABLE_SCHEMA, assert_named, sample_table, tables
from polynya.codec import avro_columns, avro_datafusion, avro_records
from polynya.codec.avro import (
    AvroSource,
    Block,
    Column,
    decode_columns,
    decode_container,
    encode_container,
    encode_file,
)
from polynya.codec.avro_columns import Chunk, decode_by_column, decode_by_record
from polynya.codec.avro_schema import parse_schema
from polynya.errors import CorruptFileError, InvalidInputError


def chunk_of(data):
    container = decode_container(AvroSource("some-file", data=data))
    schema = parse_schema(container.schema_text, "some-file")
    return Chunk(schema, tuple((container, block) for block in container.blocks))


def by_datafusion(chunk, columns=COLUMNS):
    """What DataFusion makes of the chunk, None where it gives up."""
    blocks = [(block.count, container.records(block)) for container, block in chunk.parts]
    return avro_datafusion.decode_chunk(chunk.schema, blocks, columns)


def container_of(schema, records):
    stream = io.BytesIO()
    fastavro.writer(stream, schema, records)
    return stream.getvalue()


@settings(max_examples=50)
@given(tables.filter(len))
def test_both_ways_to_decode_agree(table):
    chunk = chunk_of(encode_file(SCHEMA_TEXT, table, COLUMNS))
    batch = by_datafusion(chunk)
    assert batch.equals(decode_by_record(chunk, COLUMNS))
    assert pa.Table.from_batches([batch]).equals(table)


@given(tables)
def test_both_ways_to_encode_agree(table):
    schema = parse_schema(SCHEMA_TEXT, "schema")
    by_column = avro_records._encode_by_column(schema, table, COLUMNS)
    assert by_column.to_pylist() == avro_records._encode_by_record(schema, table, COLUMNS).to_pylist()


def test_fastavro_reads_what_we_write():
    table = sample_table(300)
    records = list(fastavro.reader(io.BytesIO(encode_file(SCHEMA_TEXT, table, COLUMNS, "deflate"))))
    assert [record["INNER"]["NUMBERS"] for record in records] == table["numbers"].to_pylist()
    assert [record["RANGES"] for record in records] == table["ranges"].to_pylist()
    assert [record["NAME"] for record in records] == table["name"].to_pylist()


def test_many_files_of_several_schemas_come_out_in_order():
    old = json.loads(SCHEMA_TEXT)
    old["fields"] = old["fields"][:2]
    old_file = container_of(old, [{"ID": -1, "NAME": "old"}, {"ID": -2, "NAME": "older"}])
    new_file = encode_file(SCHEMA_TEXT, sample_table(30_000), COLUMNS)
    columns = [Column("id", ("ID",), pa.int64()), Column("raw", ("INNER", "RAW"), pa.binary(), required=False)]
    sources = [AvroSource("a", new_file), AvroSource("b", old_file), AvroSource("c", new_file)]
    decoded = decode_columns(sources, columns)
    ids = [*range(30_000), -1, -2, *range(30_000)]
    assert decoded.table["id"].to_pylist() == ids
    assert decoded.table["raw"].null_count == 2 * 10_000 + 2
    assert [decoded.name_of(row) for row in (0, 29_999, 30_000, 30_001, 30_002)] == ["a", "a", "b", "b", "c"]


def test_many_records_go_through_datafusion_and_are_the_same(monkeypatch):
    file = AvroSource("a", encode_file(SCHEMA_TEXT, sample_table(25_000), COLUMNS))
    large = decode_columns([file], COLUMNS).table
    monkeypatch.setattr(avro_columns, "_FEW_RECORDS_COLD", 10**9)
    monkeypatch.setattr(avro_columns, "_FEW_RECORDS_WARM", 10**9)
    assert large.equals(decode_columns([file], COLUMNS).table)
    assert large.equals(sample_table(25_000))


def test_datafusion_does_the_decoding_of_a_sound_chunk():
    assert by_datafusion(chunk_of(encode_file(SCHEMA_TEXT, sample_table(500), COLUMNS))).num_rows == 500


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_every_codec_decodes_both_ways(codec):
    chunk = chunk_of(encode_file(SCHEMA_TEXT, sample_table(500), COLUMNS, codec))
    assert by_datafusion(chunk).equals(decode_by_record(chunk, COLUMNS))


@pytest.mark.parametrize("extra", [b"\x00", bytes(30), bytes(10_000)])
def test_bytes_after_the_last_record_are_corrupt_and_hang_nothing(extra):
    container = decode_container(AvroSource("f", encode_file(SCHEMA_TEXT, sample_table(20), COLUMNS, "null")))
    block = Block(20, bytes(container.blocks[0].data) + extra)
    chunk = chunk_of(encode_container(SCHEMA_TEXT, "null", [block]))
    assert by_datafusion(chunk) is None
    with pytest.raises(CorruptFileError, match=r"'some-file'.*left after the 20 records"):
        decode_by_column(chunk, COLUMNS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # to fork with threads is what is asked about here
def test_a_forked_process_decodes_without_the_threads_of_its_parent():
    chunk = chunk_of(encode_file(SCHEMA_TEXT, sample_table(20), COLUMNS, "null"))
    assert decode_by_column(chunk, COLUMNS).num_rows == 20
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends the child that waits all the same
        os._exit(decode_by_column(chunk, COLUMNS).num_rows)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 20


def test_the_damaged_one_of_many_files_is_named():
    good = encode_file(SCHEMA_TEXT, sample_table(20), COLUMNS, "null")
    bad = good.replace(b"name-7", b"name-\xff")
    assert bad != good
    parts = [part for data in (good, bad, good) for part in chunk_of(data).parts]
    container, block = parts[1]
    named = type(container)("bad-file", container.schema_text, container.codec, container.blocks)
    chunk = Chunk(parse_schema(SCHEMA_TEXT, "x"), (parts[0], (named, block), parts[2]))
    with pytest.raises(CorruptFileError, match="'bad-file'"):
        decode_by_column(chunk, COLUMNS)


@pytest.mark.parametrize("size", [2**62, -1, "9", None])
def test_a_schema_with_an_absurd_fixed_size_is_corrupt(size):
    schema = json.loads(SCHEMA_TEXT)
    schema["fields"].append({"name": "F", "type": {"type": "fixed", "name": "f", "size": size}})
    with pytest.raises(CorruptFileError, match=r"'some-file': avro.schema .*expected a size of at most"):
        parse_schema(json.dumps(schema), "some-file")


@settings(max_examples=60)
@given(st.data())
def test_damaged_records_raise_corrupt_file_from_both_ways(data):
    sound = decode_container(AvroSource("f", encode_file(SCHEMA_TEXT, sample_table(12), COLUMNS, "null")))
    raw = bytearray(sound.blocks[0].data)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 10))
        raw[at : at + 9] = data.draw(st.sampled_from([b"\xff" * 9, b"\x80", b"\xff", bytes(9)]))
    chunk = chunk_of(encode_container(SCHEMA_TEXT, "null", [Block(12, bytes(raw))]))
    for decode in (decode_by_record, decode_by_column):
        assert_named("some-file", lambda decode=decode: decode(chunk, COLUMNS))


def test_array_items_may_be_nullable_or_bare_records():
    bare = json.loads(SCHEMA_TEXT)
    bare["fields"][3]["type"]["items"] = bare["fields"][3]["type"]["items"][1]
    record = {"ID": 1, "NAME": "", "INNER": {}, "RANGES": [{"at": 5, "of": "x"}]}
    columns = [Column("ranges", ("RANGES",), pa.list_(RANGE))]
    for schema in (json.loads(SCHEMA_TEXT), bare):
        chunk = chunk_of(container_of(schema, [record]))
        assert by_datafusion(chunk, columns).to_pylist() == [{"ranges": [{"at": 5, "of": "x"}]}]
        assert decode_by_record(chunk, columns).to_pylist() == [{"ranges": [{"at": 5, "of": "x"}]}]


def test_struct_members_that_a_file_lacks_are_null_and_others_are_skipped():
    wanted = pa.struct([("of", pa.string()), ("new", pa.int64())])
    chunk = chunk_of(encode_file(SCHEMA_TEXT, sample_table(10), COLUMNS))
    columns = [Column("ranges", ("RANGES",), pa.list_(wanted))]
    assert by_datafusion(chunk, columns).equals(decode_by_record(chunk, columns))
    assert by_datafusion(chunk, columns).to_pylist()[0] == {"ranges": [None, {"of": "", "new": None}]}


def test_a_required_field_that_the_schema_lacks_is_corrupt():
    file = AvroSource("f", encode_file(SCHEMA_TEXT, sample_table(1), COLUMNS))
    with pytest.raises(CorruptFileError, match=r"'f'.*INNER\.NOPE"):
        decode_columns([file], [Column("x", ("INNER", "NOPE"), pa.int64())])


def test_a_required_field_that_is_null_is_corrupt():
    files = [
        AvroSource(name, encode_file(SCHEMA_TEXT, sample_table(2).slice(at, 1), COLUMNS))
        for at, name in ((1, "a"), (0, "b"))
    ]
    with pytest.raises(CorruptFileError, match=r"'b': INNER\.RAW is missing"):
        decode_columns(files, [Column("x", ("INNER", "RAW"), pa.binary())])


def test_a_value_that_does_not_fit_the_type_is_corrupt():
    file = AvroSource("f", encode_file(SCHEMA_TEXT, sample_table(600), COLUMNS))
    for few in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(avro_columns, "_FEW_RECORDS_WARM", few)
            patch.setattr(avro_columns, "_FEW_RECORDS_COLD", few)
            with pytest.raises(CorruptFileError, match="'f': ID: expected int8"):
                decode_columns([file], [Column("x", ("ID",), pa.int8())])


def test_no_files_and_empty_files_are_no_rows():
    empty = encode_file(SCHEMA_TEXT, sample_table(0), COLUMNS)
    for sources in ([], [AvroSource("f", empty)]):
        assert decode_columns(sources, COLUMNS).table.equals(TABLE_SCHEMA.empty_table())


def test_a_type_may_be_used_again_by_name():
    inner = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "int"}]}
    schema = {
        "type": "record",
        "name": "outer",
        "namespace": "some.where",
        "fields": [
            {"name": "a", "type": inner},
            {"name": "b", "type": "some.where.inner"},
            {"name": "c", "type": "int"},
        ],
    }
    chunk = chunk_of(container_of(schema, [{"a": {"x": 1}, "b": {"x": 2}, "c": 3}]))
    columns = [Column("b", ("b", "x"), pa.int32()), Column("c", ("c",), pa.int32())]
    assert by_datafusion(chunk, columns).equals(decode_by_record(chunk, columns))
    assert by_datafusion(chunk, columns).to_pylist() == [{"b": 2, "c": 3}]


def _doubling_records():
    fields = [{"name": "t0", "type": {"type": "record", "name": "t0", "fields": [{"name": "x", "type": "null"}]}}]
    for level in range(1, 31):
        twice = [{"name": side, "type": f"t{level - 1}"} for side in "ab"]
        fields.append({"name": f"t{level}", "type": {"type": "record", "name": f"t{level}", "fields": twice}})
    return {"type": "record", "name": "r", "fields": fields}


@pytest.mark.parametrize(
    "schema",
    [
        "[]",
        "null",
        '"int"',
        "{",
        '{"type": "record", "name": "r"}',
        '{"type": "record", "name": "r", "fields": [{"name": "x"}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "x", "type": "r"}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "x", "type": ["null", "nobody"]}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "x", "type": {"type": "array", "items": "null"}}]}',
        json.dumps(_doubling_records()),
        "[" * 100_000,
        '{"type": "record", "name": "r", "fields": [{"name": "x", "type": ' + "[" * 500 + "]" * 500 + "}]}",
    ],
)
def test_a_schema_of_the_wrong_shape_is_corrupt(schema):
    file = AvroSource("some-file", encode_container(schema, "null", [Block(1, b"\x02" * 9)]))
    with pytest.raises(CorruptFileError, match=r"'some-file': avro\.schema"):
        decode_columns([file], [Column("x", ("x",), pa.int32(), required=False)])


def test_a_null_in_a_required_column_is_refused_on_writing():
    for count in (1, 1000):
        table = sample_table(count).set_column(1, "name", pa.nulls(count, pa.string()))
        with pytest.raises(InvalidInputError, match="column 'name'"):
            encode_file(SCHEMA_TEXT, table, COLUMNS)
