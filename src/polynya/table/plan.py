"""What a scan will read: pure data, made by `table.scan`, carried out by `arrow.read` or `spark.scan`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model import projection
from polynya.model.predicate import Predicate
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER, Schema
from polynya.model.types import Field


class PlannedSnapshot(Protocol):
    """What a plan tells of the snapshot that it reads."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def commit_kind(self) -> str:
        """What its commit did."""


@dataclass(frozen=True)
class Split:
    """Files of one bucket that are read together; not raw: its sections are merged."""

    index: int
    partition: bytes
    bucket: int
    raw: bool
    files: pa.Table

    @property
    def file_count(self) -> int:
        """How many files."""
        return int(self.files.num_rows)

    @property
    def row_count(self) -> int:
        """Rows stored in the files, before deletes and merging."""
        return int(pc.sum(self.files["row_count"]).as_py() or 0)

    @property
    def size_bytes(self) -> int:
        """Bytes of the files."""
        return int(pc.sum(self.files["file_size"]).as_py() or 0)


class Splits(Sequence[Split]):
    """The splits of a plan, made one by one when they are looked at."""

    def __init__(self, files: pa.Table) -> None:
        self._files = files
        self._starts = np.flatnonzero(np.diff(files["split"].to_numpy(), prepend=-1))

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Split: ...
    @overload
    def __getitem__(self, index: slice) -> list[Split]: ...
    def __getitem__(self, index: int | slice) -> Split | list[Split]:
        if isinstance(index, slice):
            return [self._split(one) for one in range(len(self))[index]]
        return self._split(range(len(self))[index])

    def __iter__(self) -> Iterator[Split]:
        return (self._split(index) for index in range(len(self)))

    def _split(self, index: int) -> Split:
        start = int(self._starts[index])
        end = int(self._starts[index + 1]) if index + 1 < len(self) else self._files.num_rows
        files = self._files.slice(start, end - start)
        first = files.slice(0, 1)
        return Split(index, first["partition"][0].as_py(), first["bucket"][0].as_py(), first["raw"][0].as_py(), files)


@dataclass(frozen=True)
class Pruned:
    """What was skipped, and by what."""

    manifest_count: int = 0
    manifests_skipped: int = 0
    entry_count: int = 0
    live_file_count: int = 0
    files_skipped: dict[str, int] = field(default_factory=dict)
    step_ms: dict[str, float] = field(default_factory=dict)

    @property
    def manifests_read(self) -> int:
        """Manifests that were decoded."""
        return self.manifest_count - self.manifests_skipped


@dataclass(frozen=True)
class Plan:
    """The files to read, cut into splits, and the filter that is still to be applied to their rows."""

    location: str
    snapshot: PlannedSnapshot | None
    schema: Schema
    columns: tuple[str, ...]
    predicate: Predicate | None
    files: pa.Table
    pruned: Pruned
    limit: int | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that a read gives, nested ones with only the members asked for."""
        known = (*self.schema.fields, ROW_ID, SEQUENCE_NUMBER)
        return projection.narrow(known, [projection.path_of(name, known) for name in self.columns])

    @cached_property
    def splits(self) -> Splits:
        """The units of reading."""
        return Splits(self.files)

    @property
    def file_count(self) -> int:
        """How many data files will be read."""
        return int(self.files.num_rows)

    @property
    def size_bytes(self) -> int:
        """How many bytes they have."""
        return int(pc.sum(self.files["file_size"]).as_py() or 0)

    @property
    def row_count(self) -> int:
        """Rows in the files less those that deletion vectors mark; merging and filtering may leave fewer."""
        rows = pc.sum(self.files["row_count"]).as_py() or 0
        deleted = pc.sum(self.files["dv_cardinality"]).as_py() or 0
        return int(rows - deleted)

    @property
    def exact_row_count(self) -> int | None:
        """The number of rows that a read gives, where the metadata tells it: no filter, no merge, vectors counted."""
        if self.predicate is not None or not pc.all(self.files["raw"], min_count=0).as_py():
            return None
        counted = pc.or_(pc.is_null(self.files["dv_file"]), pc.is_valid(self.files["dv_cardinality"]))
        if not pc.all(counted, min_count=0).as_py():
            return None
        return self.row_count if self.limit is None else min(self.limit, self.row_count)

    def explain(self) -> str:
        """The funnel from the snapshot to the splits, in plain text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        pruned = self.pruned
        what = f"snapshot {self.snapshot.id} ({self.snapshot.commit_kind})" if self.snapshot else "no snapshot"
        yield f"table      {self.location}"
        yield f"reading    {what}, schema {self.schema.id}, columns {', '.join(self.columns)}"
        yield f"filter     {self.predicate if self.predicate is not None else 'none'}"
        read, skipped = pruned.manifests_read, pruned.manifests_skipped
        yield f"manifests  {pruned.manifest_count} in all, {skipped} skipped, {read} read"
        yield f"entries    {pruned.entry_count} read, {pruned.live_file_count} live files"
        for reason, count in pruned.files_skipped.items():
            if count:
                yield f"skipped    {count} files by {reason}"
        raw = sum(1 for split in self._split_raw if split)
        yield f"splits     {len(self._split_raw)}: {raw} raw, {len(self._split_raw) - raw} merged"
        yield f"reads      {self.file_count} files, {_size(self.size_bytes)}, {self.row_count} rows{self._finer}"
        steps = ", ".join(f"{name} {ms:.1f} ms" for name, ms in pruned.step_ms.items())
        yield f"time       {sum(pruned.step_ms.values()):.1f} ms ({steps})"

    @property
    def _finer(self) -> str:
        """What reading skips inside of the files."""
        if self.predicate is None or not pc.any(pc.ends_with(self.files["file_name"], ".parquet")).as_py():
            return ""
        return " at most; Parquet row groups and pages that cannot match are skipped"

    @property
    def _split_raw(self) -> list[bool]:
        starts = np.flatnonzero(np.diff(self.files["split"].to_numpy(), prepend=-1))
        flags: list[bool] = self.files["raw"].take(pa.array(starts)).to_pylist()
        return flags


def _size(size_bytes: int) -> str:
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
