"""stat-<uuid>-<n>: what ANALYZE found out about a snapshot, as JSON.

| key | what |
|---|---|
| snapshotId, schemaId | what was analysed |
| mergedRecordCount, mergedRecordSize | rows and bytes after merging; -1 or left out when unknown |
| colStats | column to {colId, distinctCount, min, max, nullCount, avgLen, maxLen}, all but the first optional |

Bounds are text: numbers and booleans plain, dates and times as integers, timestamps `yyyy-MM-dd HH:mm:ss.fff`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from polynya.codec import json_text
from polynya.codec.json_text import INT_MAX, Json, JsonObject


@dataclass(frozen=True)
class ColumnStatistics:
    """What is known about one column."""

    column_id: int
    distinct_count: int | None = None
    min: str | None = None
    max: str | None = None
    null_count: int | None = None
    length_average: int | None = None
    length_max: int | None = None


@dataclass(frozen=True)
class Statistics:
    """What is known about a snapshot; `columns` by name."""

    snapshot_id: int
    schema_id: int
    merged_record_count: int | None = None
    merged_record_size: int | None = None
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)


def decode(data: bytes, *, name: str) -> Statistics:
    """The statistics that the file holds."""
    found = json_text.decode(data, name=name)
    columns = found.object("colStats")
    return Statistics(
        found.integer("snapshotId"),
        found.integer("schemaId"),
        found.find_int("mergedRecordCount"),
        found.find_int("mergedRecordSize"),
        {column: _column(columns.object(column)) for column in columns.members},
    )


def encode(statistics: Statistics) -> bytes:
    """The file of the statistics."""
    return json_text.encode(
        {
            "snapshotId": statistics.snapshot_id,
            "schemaId": statistics.schema_id,
            "mergedRecordCount": statistics.merged_record_count,
            "mergedRecordSize": statistics.merged_record_size,
            "colStats": {column: column_json(known) for column, known in statistics.columns.items()},
        }
    )


def column_json(known: ColumnStatistics) -> dict[str, Json]:
    """The members of one column's object in order."""
    return {
        "colId": known.column_id,
        "distinctCount": known.distinct_count,
        "min": known.min,
        "max": known.max,
        "nullCount": known.null_count,
        "avgLen": known.length_average,
        "maxLen": known.length_max,
    }


def _column(found: JsonObject) -> ColumnStatistics:
    return ColumnStatistics(
        found.integer("colId", highest=INT_MAX),
        found.find_int("distinctCount"),
        found.find_text("min"),
        found.find_text("max"),
        found.find_int("nullCount"),
        found.find_int("avgLen"),
        found.find_int("maxLen"),
    )
