"""Batches of fields, also of none: a batch without columns still has a number of rows."""

from collections.abc import Sequence

import pyarrow as pa

from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema


def make_batch(arrays: Sequence[pa.Array], fields: tuple[t.Field, ...], row_count: int) -> pa.RecordBatch:
    """The arrays as a batch with the Arrow schema of the fields."""
    if arrays:
        return pa.RecordBatch.from_arrays(list(arrays), schema=to_arrow_schema(fields))
    empty = pa.StructArray.from_buffers(pa.struct([]), row_count, [None], children=[])
    return pa.RecordBatch.from_struct_array(empty)
