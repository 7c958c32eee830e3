"""aggregation: every column is folded by its function; a -D takes values back, or removes the row where set so."""

import numpy as np
import pyarrow as pa

from polynya.arrow.merge.aggregates import fold
from polynya.arrow.merge.events import ADD, BASE, RETRACT, Events
from polynya.arrow.merge.folding import DELETE, Folded, forget, merged, records
from polynya.arrow.merge.order import Groups, to_array
from polynya.model.merge_spec import MergeSpec
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND


def merge_groups(rows: pa.Table, groups: Groups, spec: MergeSpec) -> pa.Table:
    """One row per key: a single record as it is, several folded column by column."""
    row, group, group_count = records(groups)
    kind = np.asarray(to_array(rows.column(VALUE_KIND.name)))[row]
    op = np.where(kind & 1, RETRACT, ADD).astype(np.uint8)
    last = np.append(group[1:] != group[:-1], True)[: len(group)]
    deleted = np.zeros(group_count, bool)
    events = Events(row, group, op, group_count)
    if spec.remove_on_delete:
        op[kind == DELETE] = BASE
        deleted = (kind == DELETE)[last]
        events = forget(events)
    folded: dict[str, Folded] = {
        name: fold(spec.functions[name], name, rows.column(name), events)
        for name in rows.column_names
        if name in spec.functions
    }
    folded[SEQUENCE_NUMBER.name] = row[last]
    return merged(rows, groups, folded, deleted)
