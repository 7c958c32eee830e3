"""The metadata tables of the golden Iceberg tables are those of Java Iceberg."""

import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest

import polynya
from golden_iceberg import iceberg_expected, iceberg_names
from iceberg_rows import open_golden

TABLES = ("snapshots", "history", "refs", "metadata_log_entries", "manifests", "entries", "files", "partitions")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def plain(array: pa.Array) -> list[object]:
    """The values as the expectations have them."""
    type = array.type
    if pa.types.is_map(type):
        return [pairs(value) if value.is_valid else None for value in array]
    if pa.types.is_struct(type):
        columns = [plain(column) for column in array.flatten()]
        rows = zip(*columns, strict=True) if columns else [()] * len(array)
        return [dict(zip([field.name for field in type], row, strict=True)) for row in rows]
    if pa.types.is_list(type):
        return [None if not value.is_valid else plain(value.values) for value in array]
    if pa.types.is_timestamp(type):
        return [None if one is None else moment(one, type) for one in moments(array, type.unit)]
    if pa.types.is_time64(type):
        return [None if one is None else str(one).partition("T")[2] for one in moments(array, "us")]
    if pa.types.is_date32(type):
        return [None if one is None else str(np.datetime64(one, "D")) for one in array.cast(pa.int32()).to_pylist()]
    return [simple(value, type) for value in array.to_pylist()]


def pairs(scalar: pa.MapScalar) -> list[list[object]]:
    keys, values = (plain(scalar.values.field(index)) for index in (0, 1))
    return sorted([key, value] for key, value in zip(keys, values, strict=True))


def moments(array: pa.Array, unit: str) -> list[np.datetime64 | None]:
    return [None if one is None else np.datetime64(one, unit) for one in array.cast(pa.int64()).to_pylist()]


def moment(value: np.datetime64, type: pa.DataType) -> str:
    return str(value).replace("T", " ") + ("Z" if type.tz else "")


def simple(value: object, type: pa.DataType) -> object:
    match value:
        case bytes():
            return value.hex()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case float() if pa.types.is_float32(type):
            return float(str(np.float32(value)))
        case _ if pa.types.is_decimal(type) and value is not None:
            return format(value, "f")
        case _:
            return value


def without_uuids(value: object) -> object:
    """A UUID is sixteen bytes to us."""
    match value:
        case str() if UUID.fullmatch(value):
            return value.replace("-", "")
        case list():
            return [without_uuids(one) for one in value]
        case dict():
            return {key: without_uuids(one) for key, one in value.items() if not is_variant(one)}
        case _:
            return value


def is_variant(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("lower_bound"), dict)


def rows_of(table: pa.Table) -> list[object]:
    columns = [plain(column.combine_chunks()) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def in_order(rows: list[object]) -> list[str]:
    return sorted(json.dumps(without_uuids(row), sort_keys=True) for row in rows)


@pytest.mark.parametrize("name", iceberg_names())
@pytest.mark.parametrize("system", TABLES)
def test_a_metadata_table_is_that_of_java(name, system):
    expected = iceberg_expected(name)["system"][system]
    found = open_golden(name).system(system)
    if system == "entries":
        found = found.drop_columns(["readable_metrics"])
    assert in_order(rows_of(found)) == in_order(expected)


@pytest.mark.parametrize("name", iceberg_names())
def test_tables_of_all_snapshots_have_as_many_rows_as_in_java(name):
    table, counts = open_golden(name), iceberg_expected(name)["system"]["counts"]
    assert {system: table.system(system).num_rows for system in counts} == counts


def test_a_metadata_table_is_that_of_the_snapshot_looked_at():
    table = open_golden("v2_plain")
    first = iceberg_expected("v2_plain")["snapshots"][0]
    assert table.at(snapshot_id=first["id"]).system("files").num_rows == 1
    assert table.system("files").num_rows == 3


def test_an_unknown_metadata_table_is_refused_with_the_names_there_are():
    with pytest.raises(polynya.InvalidInputError, match=r"'buckets' does not exist.*all_data_files"):
        open_golden("v2_plain").system("buckets")
