import datetime as dt
import uuid
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from golden_iceberg import local
from iceberg_files import by_spec, golden_metadata, lists
from polynya.errors import UnsupportedError
from polynya.iceberg import partition_spec
from polynya.iceberg.partition_values import column_name

HASHES = [
    (34, pa.int32(), 2017239379),
    (34, pa.int64(), 2017239379),
    (Decimal("14.20"), pa.decimal128(9, 2), -500754589),
    (dt.date(2017, 11, 16), pa.date32(), -653330422),
    (dt.time(22, 31, 8), pa.time64("us"), -662762989),
    (dt.datetime(2017, 11, 16, 22, 31, 8), pa.timestamp("us"), -2047944441),
    (dt.datetime(2017, 11, 16, 22, 31, 8, 1), pa.timestamp("ns"), -1207196810),
    ("iceberg", pa.string(), 1210000089),
    (uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, pa.binary(16), 1488055340),
    (b"\x00\x01\x02\x03", pa.binary(), -188683207),
]


@pytest.mark.parametrize(("value", "type", "hash"), HASHES)
def test_buckets_come_from_the_hash_of_the_format(value, type, hash):
    found = partition_spec.apply("bucket[1000000]", pa.array([value, None], type))
    assert found.to_pylist() == [(hash & 0x7FFFFFFF) % 1000000, None]


def test_truncation_goes_down_and_counts_code_points():
    assert partition_spec.apply("truncate[10]", pa.array([1, -1, None], pa.int32())).to_pylist() == [0, -10, None]
    decimals = pa.array([Decimal("10.65"), Decimal("-10.65")], pa.decimal128(9, 2))
    assert partition_spec.apply("truncate[50]", decimals).to_pylist() == [Decimal("10.50"), Decimal("-11.00")]
    assert partition_spec.apply("truncate[2]", pa.array(["a😀b"])).to_pylist() == ["a😀"]


@pytest.mark.parametrize(("transform", "values"), [("year", [-1, 54]), ("month", [-1, 648])])
def test_years_and_months_are_counted_from_1970(transform, values):
    assert (
        partition_spec.apply(transform, pa.array([-1, 19723]).cast(pa.int32()).cast(pa.date32())).to_pylist() == values
    )


def test_hours_before_1970_are_negative():
    assert partition_spec.apply("hour", pa.array([-1]).cast(pa.timestamp("us"))).to_pylist() == [-1]


def test_an_unknown_transform_is_kept_and_not_computed():
    assert partition_spec.result_type("spiral[3]", pa.string()) == pa.string()
    with pytest.raises(UnsupportedError, match="spiral"):
        partition_spec.apply("spiral[3]", pa.array(["a"]))


@pytest.mark.parametrize("name", ["part_bucket", "part_truncate", "part_time", "part_identity", "spec_evolution"])
def test_transforms_give_the_partitions_that_java_wrote(name):
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = golden_metadata(name)
    names = {field["id"]: field["name"] for field in table.schema.json}
    compared = 0
    for metas in lists(table).values():
        for columns, own, entries in by_spec(table, metas):
            spec = next(one for one in table.partition_specs if one.spec_id == own["partition_spec_id"][0].as_py())
            data = entries.filter(pc.equal(entries["content"], 0))
            for row in data.to_pylist():
                file = local(row["file_path"])
                if not file.exists() or not row["file_path"].endswith(".parquet"):
                    continue
                stored = pq.read_table(file)
                for field, column in zip(spec.fields, columns, strict=True):
                    values = stored[names[field.source_id]].combine_chunks()
                    if pa.types.is_decimal(values.type) or pa.types.is_floating(values.type):
                        values = values.drop_null().slice(0, 1) if not values.null_count else values.slice(0, 1)
                    found = partition_spec.apply(field.transform, values)[0].as_py()
                    assert _same(found, row[column_name(column.field_id)]), (field, row["file_path"])
                    compared += 1
    assert compared


def _same(one, other):
    return one == other or (one != one and other != other)
