"""What a filter implies of partition values holds for every row that it asks for."""

import itertools

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from iceberg_rows import open_golden
from polynya.iceberg import partition_spec
from polynya.iceberg.partition_spec import PartitionField, PartitionSpec
from polynya.iceberg.partition_values import column_name
from polynya.model import evaluate
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import bind
from polynya.model.predicate import Compare, Op
from polynya.table import iceberg_prune


@pytest.mark.parametrize("transform", ["truncate[1]", "truncate[7]", "truncate[10]"])
@pytest.mark.parametrize("type", [t.Int, t.BigInt])
def test_numbers_at_the_ends_of_their_type_are_found_among_those_cut_down(transform, type):
    root = open_golden("part_truncate").iceberg
    field = next(one for one in root.fields_by_id.values() if isinstance(one.type, type))
    spec = PartitionSpec(0, (PartitionField((field.id,), 1000, "p", transform),))
    arrow = to_arrow_type(field.type)
    end = 2 ** (arrow.bit_width - 1)
    numbers = pa.array([-end, -end + 1, -end + 9, -11, -1, 0, 1, 10, end - 9, end - 2, end - 1], arrow)
    rows = pa.table({field.name: numbers, column_name(1000): partition_spec.apply(transform, numbers)})
    for op, value in itertools.product(Op, numbers.to_pylist()):
        wanted = bind(Compare(op, (field.name,), value), [field])
        projected = iceberg_prune.project(root, iceberg_prune.filter_of(wanted, [field]), spec)
        matching = rows.filter(evaluate.mask(wanted, rows))
        assert pc.all(evaluate.mask(projected, matching), min_count=0).as_py(), (op, value)
