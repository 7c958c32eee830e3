"""Partitions and buckets of rows: where Paimon put the rows of the golden tables, and the pinned examples."""

from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_data import golden_expected, golden_names, golden_table
from golden_metadata import added_entries, arrow_type
from polynya.arrow.route import bucket_ids, partition_rows, route
from polynya.codec.binary_row import encode_row
from polynya.errors import InvalidInputError, UnsupportedError


def arrow_value(value: object, type: pa.DataType) -> object:
    """A value of `expected` as Arrow takes it."""
    if value is None:
        return None
    if pa.types.is_decimal(type):
        return Decimal(value)
    if type == pa.date32():
        return date.fromisoformat(value)
    if type == pa.time32("ms"):
        return time.fromisoformat(value)
    if pa.types.is_timestamp(type):
        return pa.scalar(value.rstrip("Z")).cast(pa.timestamp(type.unit)).value
    return bytes.fromhex(value) if type == pa.binary() else value


def expected_columns(table: str, names: list[str]) -> list[pa.Array]:
    """Columns of the rows that Paimon reads."""
    expected = golden_expected(table)
    all_names = [name for name, _ in expected["columns"]]
    types = [arrow_type(dict(expected["columns"])[name]) for name in names]
    return [
        pa.array([arrow_value(row[all_names.index(name)], type) for row in expected["rows"]], type)
        for name, type in zip(names, types, strict=True)
    ]


PARTITIONED = [
    "append_partitioned",
    "part_types",
    "part_types_new_names",
    "pk_partitioned",
    "dv_append_64",
    "tz_kolkata_parquet",
    "dyn_bucket_partitioned",
    "row_tracking_partitioned",
]


@pytest.mark.parametrize("table", PARTITIONED)
def test_partition_bytes_are_those_of_the_golden_manifests(table):
    columns = expected_columns(table, golden_expected(table)["partitionKeys"])
    rows = partition_rows(columns, len(columns[0]))
    stored = {entry["_PARTITION"] for entry in added_entries(table)}
    assert set(rows.to_pylist()) <= stored
    assert len(set(rows.to_pylist())) > 0


BUCKETED = [
    "append_bucketed",
    "append_bucket_mod",
    "append_bucket_hive",
    "append_bucket_null_keys",
    "pk_bucket_types",
    "pk_bucket_key",
    "pk_partitioned",
    "pk_uncompacted",
    "pk_rescaled",
    "dv_append_bucketed",
]


@pytest.mark.parametrize("table", BUCKETED)
def test_rows_of_golden_files_belong_to_their_buckets(table):
    assert table in golden_names()
    expected = golden_expected(table)
    options, types = expected["options"], dict(expected["columns"])
    trimmed = [key for key in expected["primaryKeys"] if key not in expected["partitionKeys"]]
    keys = options["bucket-key"].split(",") if "bucket-key" in options else trimmed
    files = {path.name: path for path in golden_table(table).rglob("*.parquet")}
    entries = [entry for entry in added_entries(table) if entry["_FILE"]["_FILE_NAME"] in files]
    assert entries
    for entry in entries:
        rows = pq.ParquetFile(files[entry["_FILE"]["_FILE_NAME"]]).read()
        columns = [rows[key].cast(arrow_type(types[key])) for key in keys]
        buckets = bucket_ids(columns, entry["_TOTAL_BUCKETS"], options.get("bucket-function.type", "default"))
        assert set(buckets.to_pylist()) == {entry["_BUCKET"]}


@pytest.mark.parametrize(
    ("value", "type", "buckets"),
    [
        (0, pa.int32(), (3, 1, 9)),
        (-1, pa.int32(), (3, 6, 7)),
        (None, pa.int32(), (0, 3, 4)),
        (-5, pa.int64(), (2, 5, 4)),
        ("hello world", pa.string(), (2, 4, 4)),
        (date(2024, 1, 1), pa.date32(), (1, 6, 5)),
        (Decimal("12.34"), pa.decimal128(10, 2), (1, 3, 3)),
        (datetime(2024, 1, 1, 0, 0, 0, 123456), pa.timestamp("us"), (1, 6, 7)),
    ],
)
def test_default_bucket_is_the_pinned_one(value, type, buckets):
    for bucket_count, expected in zip((4, 7, 10), buckets, strict=True):
        assert bucket_ids([pa.array([value], type)], bucket_count, "default").to_pylist() == [expected]


def test_mod_bucket_is_never_negative_and_null_counts_as_0():
    assert bucket_ids([pa.array([1, -1, 7, -7, 42, None], pa.int32())], 5, "mod").to_pylist() == [1, 4, 2, 3, 2, 0]
    assert bucket_ids([pa.array([5_000_000_000, -(2**40)])], 5, "mod").to_pylist() == [0, 4]


@pytest.mark.parametrize(
    ("values", "type", "expected"),
    [
        ([1, -1, 7, -7, 42], pa.int32(), [1, 2, 2, 1, 2]),
        ([-1, 2**40, -(2**40)], pa.int64(), [0, 1, 2]),
        (["a", "hello world", "1234567", "é", "", None], pa.string(), [2, 2, 4, 0, 0, 0]),
    ],
)
def test_hive_bucket_is_the_pinned_one(values, type, expected):
    assert bucket_ids([pa.array(values, type)], 5, "hive").to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "type", "hash"),
    [
        ("12.30", pa.decimal128(10, 2), 31 * 123 + 1),
        ("-100", pa.decimal128(20, 2), 31 * -100),  # zeros before the point stay
        ("0", pa.decimal128(20, 2), 0),
        ("4294967296", pa.decimal128(38, 10), 31 * 31),
        ("0.0000000001", pa.decimal128(38, 10), 31 + 10),
    ],
)
def test_hive_drops_only_the_zeros_of_a_fraction(text, type, hash):
    buckets = bucket_ids([pa.array([Decimal(text)], type)], 32767, "hive")
    assert buckets.to_pylist() == [(hash & 0x7FFFFFFF) % 32767]


def test_hive_knows_one_zero_and_one_nan():
    for type in (pa.float32(), pa.float64()):
        buckets = bucket_ids([pa.array([-0.0, 0.0, None], type)], 32767, "hive")
        assert buckets.to_pylist() == [0, 0, 0]
    odd_nan = np.array([0x7FC00000, 0xFFC00001], dtype=np.uint32).view(np.float32)
    assert len(set(bucket_ids([pa.array(odd_nan)], 32767, "hive").to_pylist())) == 1


@given(st.lists(st.one_of(st.none(), st.text(max_size=20)), max_size=20))
def test_hive_text_is_the_polynomial_of_signed_bytes(texts):
    def polynomial(text: str | None) -> int:
        result = 0
        for byte in (text or "").encode():
            result = (31 * result + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
        return result

    two = [pa.array(texts, pa.string()), pa.array(texts, pa.string())]
    expected = [(polynomial(text) * 32 & 0x7FFFFFFF) % 32767 for text in texts]
    assert bucket_ids(two, 32767, "hive").to_pylist() == expected


def test_bucket_count_may_differ_by_row():
    keys = pa.array(range(100), pa.int32())
    counts = np.where(np.arange(100) % 2, 4, 7)
    for function in ("default", "mod", "hive"):
        fours, sevens = (bucket_ids([keys], count, function).to_numpy() for count in (4, 7))
        assert bucket_ids([keys], counts, function).to_pylist() == np.where(counts == 4, fours, sevens).tolist()


def test_keys_that_a_function_does_not_take_are_refused():
    with pytest.raises(UnsupportedError, match="timestamp"):
        bucket_ids([pa.array([1], pa.timestamp("us"))], 4, "hive")
    with pytest.raises(InvalidInputError, match="mod"):
        bucket_ids([pa.array(["a"])], 4, "mod")
    with pytest.raises(InvalidInputError, match="bucket count"):
        bucket_ids([pa.array([1])], 0, "default")
    with pytest.raises(InvalidInputError, match="bucket key"):
        bucket_ids([], 4, "default")
    with pytest.raises(UnsupportedError, match="bucket-function"):
        bucket_ids([pa.array([1])], 4, "other")


@given(st.lists(st.tuples(st.one_of(st.none(), st.text("ab", max_size=9)), st.integers(-2, 5)), max_size=40))
def test_route_groups_every_row_once_in_order(rows):
    partitions = partition_rows([pa.array([text for text, _ in rows], pa.string())], len(rows))
    routes = route(partitions, pa.array([bucket for _, bucket in rows], pa.int32()))
    groups: dict[tuple[bytes, int], list[int]] = {}
    for index, (text, bucket) in enumerate(rows):
        groups.setdefault((encode_row([text], [pa.string()]), bucket), []).append(index)
    found = [
        ((routes.partitions[group].as_py(), routes.buckets[group].as_py()), routes.rows(group).to_pylist())
        for group in range(len(routes))
    ]
    assert found == sorted(groups.items())


def test_route_of_many_groups_is_the_same_as_of_few():
    count = 70_000
    buckets = pa.array(np.arange(count)[::-1] % 32_767, pa.int32())
    routes = route(partition_rows([pa.array(np.arange(count) % 3)], count), buckets)
    assert sorted(routes.order.to_pylist()) == list(range(count))
    assert buckets.take(routes.rows(5)).unique().to_pylist() == [routes.buckets[5].as_py()]


def test_table_without_partitions_has_one_empty_partition():
    assert partition_rows([], 2).to_pylist() == [bytes(12)] * 2


@given(st.lists(st.integers(-2, 3), max_size=20))
def test_rows_without_partitions_are_routed_by_bucket(buckets):
    routes = route(partition_rows([], len(buckets)), pa.array(buckets, pa.int32()))
    assert routes.partitions.to_pylist() == [bytes(12)] * len(routes)
    found = [(routes.buckets[group].as_py(), routes.rows(group).to_pylist()) for group in range(len(routes))]
    assert found == [
        (bucket, [row for row, other in enumerate(buckets) if other == bucket]) for bucket in sorted(set(buckets))
    ]
