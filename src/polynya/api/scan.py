"""Rows that are about to be read, as people ask for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from polynya.api import arguments
from polynya.api.later import Later
from polynya.errors import InvalidInputError
from polynya.model.predicate import TRUE, Predicate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polynya.api.table import Table
    from polynya.arrow import read
    from polynya.table.plan import Plan
    from polynya.table.scan import ScanRequest
else:
    read = Later("polynya.arrow.read")


@dataclass(frozen=True)
class Scan:
    """Rows of a table that are about to be read."""

    table: Table
    request: ScanRequest

    @cached_property
    def _plan(self) -> Plan:
        return self.table._plan(self.request)

    def plan(self) -> Plan:
        """The files that will be read, and what was skipped."""
        return self._plan

    def to_batches(self, memory_budget_bytes: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as a stream of batches, read ahead within a budget of Arrow memory.

        Whatever the table's size, Arrow memory stays below the budget and the pages at hand of the files that are open:
        one of every column that is read, in one file of each sorted run that is merged, for each core. The default is
        a quarter of the machine's memory, at most 512 MiB. `polynya.arrow.budget` tells more.
        """
        if memory_budget_bytes is not None and arguments.whole_number(memory_budget_bytes, "memory_budget_bytes") < 1:
            raise InvalidInputError(f"memory_budget_bytes must be 1 or more, got {memory_budget_bytes}")
        return self.table._naming_manifest(read.read_plan(self._reader(memory_budget_bytes), self._plan))

    def to_arrow(self) -> pa.Table:
        """The rows as one table."""
        reader = self._reader(None)
        batches = self.table._naming_manifest(read.read_plan(reader, self._plan))
        return pa.Table.from_batches(batches, reader.arrow_schema)

    def count(self) -> int:
        """The number of rows; from the metadata alone where that is exact."""
        exact = self._plan.exact_row_count
        if exact is not None:
            return exact
        reader = self._reader(None)
        reader = replace(reader, columns=reader.columns[:1])  # one is enough, with what filter and merge look at
        batches = self.table._naming_manifest(read.read_plan(reader, self._plan))
        return sum(batch.num_rows for batch in batches)

    def _reader(self, budget_bytes: int | None) -> read.Reader:
        return self.table._reader(self._plan, budget_bytes)


def parse_predicate(where: str | Predicate | None) -> Predicate:
    """The predicate that `where` means."""
    if where is None:
        return TRUE
    if isinstance(where, Predicate):
        return where
    if not isinstance(where, str):
        raise InvalidInputError(f"where: expected an SQL condition or a predicate, found {where!r}")
    from polynya.model.predicate_parser import parse  # noqa: PLC0415 - the SQL parser costs a fifth of a second to load

    return parse(where)
