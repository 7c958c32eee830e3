"""Sums at the edges of their types."""

from decimal import Decimal

import pyarrow as pa
import pytest

from polynya.arrow.merge import merge, merge_spec
from polynya.errors import InvalidInputError
from polynya.model.schema import schema_of

AGG = {"merge-engine": "aggregation"}


def merged_sum(type: pa.DataType, *values: object) -> object:
    columns = pa.schema([("k", pa.int32()), ("v", type)])
    options = AGG | {"fields.v.aggregate-function": "sum"}
    rows = pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(range(len(values)), pa.int64()),
            "_VALUE_KIND": pa.array([0] * len(values), pa.int8()),
            "k": pa.array([1] * len(values), pa.int32()),
            "v": pa.array(values, type),
        }
    )
    return merge(rows, merge_spec(schema_of(columns, primary_key=["k"], options=options))).column("v")[0].as_py()


@pytest.mark.parametrize("type", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_a_sum_that_leaves_its_integer_type_is_an_error_even_if_it_comes_back(type):
    top = 2 ** (type.bit_width - 1) - 1
    assert merged_sum(type, top, -1, 1) == top
    with pytest.raises(InvalidInputError, match=r"'v'.*overflow"):
        merged_sum(type, top, 1, -1)


def test_a_narrow_decimal_sum_may_outgrow_its_precision():
    assert merged_sum(pa.decimal128(5, 2), Decimal("999.99"), Decimal("999.99")) == Decimal("1999.98")


def test_a_wide_decimal_sum_that_overflows_is_null_and_starts_anew():
    most = Decimal("999999999999999999.99")
    assert merged_sum(pa.decimal128(20, 2), most, most) is None
    assert merged_sum(pa.decimal128(20, 2), most, most, Decimal("1.00")) == Decimal("1.00")


def test_a_key_with_very_many_floats_is_added_in_order():
    values = [0.1, 1e16, -1e16, 0.3] * 50
    total = 0.0
    for value in values:
        total += value
    assert merged_sum(pa.float64(), *values) == total
