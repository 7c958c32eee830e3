"""Types of Paimon and of Spark."""

import pyarrow as pa
import pytest
from pyspark.sql import types as s

from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.spark.types import (
    from_spark_schema,
    incoming_schema,
    require_known,
    to_spark_schema,
    to_transfer,
    transfer_schema,
)

PLAIN = {
    "boolean": t.Boolean(),
    "tinyint": t.TinyInt(),
    "smallint": t.SmallInt(),
    "int": t.Int(),
    "bigint": t.BigInt(),
    "float": t.Float(),
    "double": t.Double(),
    "decimal(12,3)": t.Decimal(12, 3),
    "string": t.VarChar(),
    "binary": t.VarBinary(),
    "date": t.Date(),
    "timestamp": t.LocalTimestamp(6),
    "timestamp_ntz": t.Timestamp(6),
    "variant": t.Variant(),
    "array<int>": t.Array(t.Int()),
    "map<string,bigint>": t.Map(t.VarChar(nullable=False), t.BigInt()),
    "struct<a:int,b:string>": t.Row((t.Field(-1, "a", t.Int()), t.Field(-1, "b", t.VarChar()))),
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_type_of_spark_comes_back_as_it_went(text):
    schema = to_spark_schema([t.Field(0, "c", PLAIN[text])])
    assert schema["c"].dataType.simpleString() == text
    assert from_spark_schema(schema)[0].type == PLAIN[text]


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (t.Char(3), "string"),
        (t.VarChar(9), "string"),
        (t.Binary(4), "binary"),
        (t.Timestamp(9), "timestamp_ntz"),
        (t.LocalTimestamp(3), "timestamp"),
        (t.Multiset(t.VarChar()), "map<string,int>"),
        (t.Vector(t.Float(), 3), "array<float>"),
        (t.Time(3), "time(6)"),
    ],
)
def test_what_spark_has_no_type_for_becomes_the_next_wider_one(type, text):
    assert to_spark_schema([t.Field(0, "c", type)])["c"].dataType.simpleString() == text


def test_lengths_of_texts_are_kept_when_a_table_is_created():
    schema = s.StructType([s.StructField("c", s.CharType(3)), s.StructField("v", s.VarcharType(5), nullable=False)])
    assert [field.type for field in from_spark_schema(schema)] == [t.Char(3), t.VarChar(5, nullable=False)]


def test_a_type_without_counterpart_is_refused_by_column():
    with pytest.raises(UnsupportedError, match="column 'b': BLOB has no counterpart"):
        to_spark_schema([t.Field(0, "b", t.Blob())])
    with pytest.raises(UnsupportedError, match="column 'i': Spark's interval day to second"):
        from_spark_schema(s.StructType([s.StructField("i", s.DayTimeIntervalType())]))


def test_a_time_inside_a_row_needs_a_session_that_has_times():
    field = t.Field(0, "r", t.Row((t.Field(1, "at", t.Array(t.Time(3))),)))
    require_known([field], has_time=True)
    with pytest.raises(UnsupportedError, match=r"column 'r': TIME needs .*timeType"):
        require_known([field], has_time=False)


def test_times_go_to_spark_in_microseconds_or_are_refused():
    fields = [t.Field(0, "n", t.Timestamp(9)), t.Field(1, "ms", t.LocalTimestamp(3)), t.Field(2, "t", t.Time(3))]
    schema = transfer_schema(fields)
    assert [str(type) for type in schema.types] == ["timestamp[us]", "timestamp[us, tz=UTC]", "time64[ns]"]
    types = [pa.timestamp("ns"), pa.timestamp("ms", "UTC"), pa.time32("ms")]
    batch = pa.RecordBatch.from_arrays([pa.array([5000], type) for type in types], ["n", "ms", "t"])
    assert to_transfer(batch, schema)["n"].cast(pa.int64()).to_pylist() == [5]
    fine = pa.RecordBatch.from_arrays([pa.array([5001], type) for type in types], ["n", "ms", "t"])
    with pytest.raises(UnsupportedError, match=r"column 'n': .* finer"):
        to_transfer(fine, schema)


def test_a_column_of_nulls_has_the_arrow_type_null():
    schema = s.StructType([s.StructField("a", s.NullType()), s.StructField("b", s.LongType())])
    assert incoming_schema(schema).types == [pa.null(), pa.int64()]
