"""Rows of the golden Iceberg tables, as polynya reads them and as their expectations have them."""

import uuid
from typing import Any

import polynya
from golden_iceberg import iceberg_table
from polynya.api.iceberg import IcebergTable
from rows import render_rows, sorted_rows


def open_golden(name: str) -> IcebergTable:
    table = polynya.open_table(iceberg_table(name))
    assert isinstance(table, IcebergTable)
    return table


def rows_of(table: IcebergTable, **scan: Any) -> list[list[Any]]:
    found = table.scan(**scan)
    return render_rows(found.to_arrow(), found.plan().fields)


def expected_rows(rows: list[list[Any]], columns: list[list[Any]]) -> list[list[Any]]:
    """The rows as the model has them, in which a UUID is sixteen bytes."""
    places = [index for index, (_, type, *_) in enumerate(columns) if type == "uuid"]
    plain = [list(row) for row in rows]
    for row in plain:
        for place in places:
            row[place] = row[place] and uuid.UUID(row[place]).hex
    return sorted_rows(plain)
