import datetime as dt
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polynya.errors import CorruptFileError
from polynya.iceberg import bounds

KNOWN = [
    (34, pa.int32(), "22000000"),
    (-1, pa.int32(), "ffffffff"),
    (dt.date(2024, 1, 1), pa.date32(), "0b4d0000"),
    (34, pa.int64(), "2200000000000000"),
    (-2, pa.int64(), "feffffffffffffff"),
    (dt.time(22, 31, 8), pa.time64("us"), "008307e012000000"),
    (dt.datetime(2017, 11, 16, 22, 31, 8, 1), pa.timestamp("us"), "01c3262d215e0500"),
    (1510871468000001001, pa.timestamp("ns"), "e9bb695f98b1f714"),
    (1.0, pa.float32(), "0000803f"),
    (-0.0, pa.float32(), "00000080"),
    (6.0, pa.float64(), "0000000000001840"),
    ("ü€😀", pa.string(), "c3bce282acf09f9880"),
    ("", pa.string(), ""),
    (uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, pa.binary(16), "f79c3e09677c4bbda4793f349cb785e7"),
    (True, pa.bool_(), "01"),
    (Decimal("14.20"), pa.decimal128(9, 2), "058c"),
    (Decimal("-14.20"), pa.decimal128(9, 2), "fa74"),
    (Decimal("1.28"), pa.decimal128(9, 2), "0080"),
    (Decimal("-1.28"), pa.decimal128(9, 2), "80"),
    (Decimal("12345678901234567890.1234567890"), pa.decimal128(38, 10), "018ee90ff6c373e0ee4e3f0ad2"),
]


@pytest.mark.parametrize(("value", "type", "stored"), KNOWN)
def test_values_have_the_bytes_of_the_format(value, type, stored):
    values = pa.array([value, None], type)
    assert bounds.encode(values).to_pylist() == [bytes.fromhex(stored), None]
    assert bounds.decode(bounds.encode(values), type, name="m").equals(values)


@given(st.lists(st.none() | st.decimals(min_value=-(10**28), max_value=10**28, places=9)))
def test_decimals_come_back(values):
    array = pa.array(values, pa.decimal128(38, 9))
    assert bounds.decode(bounds.encode(array), array.type, name="m").equals(array)


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [(pa.int32(), pa.int64(), -7), (pa.float32(), pa.float64(), 1.5), (pa.date32(), pa.timestamp("us"), 3)],
)
def test_a_bound_from_before_a_promotion_is_widened(old, new, value):
    stored = bounds.encode(pa.array([value, None], pa.int32() if old == pa.date32() else old).cast(old))
    found = bounds.decode(stored, new, name="m")
    expected = pa.array([value, None], old if old != pa.date32() else pa.int32()).cast(old).cast(new)
    assert found.equals(expected)


@pytest.mark.parametrize("type", [pa.int32(), pa.int64(), pa.bool_(), pa.float64(), pa.decimal128(4, 2), pa.binary(16)])
def test_a_bound_of_another_length_is_corrupt(type):
    with pytest.raises(CorruptFileError, match="'m'"):
        bounds.decode(pa.array([bytes(17)], pa.binary()), type, name="m")


def test_nan_is_no_extreme_and_zeros_have_signs():
    low, high = bounds.extremes(pa.array([0.0, float("nan"), -0.0, None]))
    assert (str(low[0].as_py()), str(high[0].as_py())) == ("-0.0", "0.0")
    assert bounds.extremes(pa.array([float("nan"), None]))[0].null_count == 1
