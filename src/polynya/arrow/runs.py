"""The sorted runs of a section: files put one behind the other where their key ranges allow it."""

import heapq
from dataclasses import dataclass

import pyarrow as pa

from polynya.model.arrow_types import to_arrow_type
from polynya.model.schema import Schema
from polynya.table.conflict import key_ranks


@dataclass(frozen=True)
class Run:
    """Files in key order whose ranges do not overlap, all of one level."""

    level: int
    files: pa.Table


def section_runs(files: pa.Table, schema: Schema) -> list[Run]:
    """As few runs as possible: a file joins the run of its level that ends first, if it begins behind that end."""
    low, high = key_ranks(files, [to_arrow_type(field.type) for field in schema.key_fields])
    levels: list[int] = files["level"].to_pylist()
    ends: dict[int, list[tuple[int, int]]] = {}
    members: list[tuple[int, list[int]]] = []
    for index in sorted(range(files.num_rows), key=lambda file: (int(low[file]), int(high[file]))):
        heap = ends.setdefault(levels[index], [])
        if heap and heap[0][0] < low[index]:
            _, run = heapq.heappop(heap)
        else:
            run = len(members)
            members.append((levels[index], []))
        members[run][1].append(index)
        heapq.heappush(heap, (int(high[index]), run))
    return [Run(level, files.take(pa.array(indexes))) for level, indexes in members]
