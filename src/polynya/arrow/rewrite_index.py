"""Giving data files that exist the indexes that the options ask for now, in one COMPACT commit.

A data file stays as it is. What its index lacks is built from its rows, all of them in order, and joins what is there
already; what is not asked for is left out then. The entry of the file is replaced by one with the new index.

A snapshot is all entries that were added less all that were deleted, so an entry that was deleted once must never come
again: it would be gone with its rows. An index is part of what an entry is. Hence a file whose entry was replaced
before always gets an index beside it, under a number that it never had; and where no index is asked for it stays.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import file_rows
from polynya.arrow.file_rows import DataFile
from polynya.arrow.read import Reader
from polynya.arrow.row_changes import ATTEMPTS_MAX
from polynya.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    ConflictError,
    PolynyaError,
    StorageError,
    UnsupportedError,
)
from polynya.model import types as t
from polynya.model.options_data import FILE_INDEX_IN_MANIFEST_THRESHOLD
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import Schema
from polynya.paimon import file_index, layout, manifest
from polynya.paimon.file_index import ColumnIndex
from polynya.storage.protocol import Storage
from polynya.table import commit as commits
from polynya.table import entries, history, scan
from polynya.table.commit import Commit, Target
from polynya.table.edit import Change, Edit
from polynya.table.entries import ADD, DELETE, with_kind
from polynya.table.paths import bucket_folder

NUMBER = "index_number"  # of an index beside the file, the least that may be used; null where nothing was replaced yet
_FILE_COLUMNS = tuple(name for name in DataFile.__dataclass_fields__ if name in manifest.SCHEMA.names)


@dataclass(frozen=True)
class IndexWork:
    """What a worker must know; plain data but for the store. `rebuilds`: also what is there is built anew."""

    storage: Storage
    schema: Schema
    file_schemas: Mapping[int, Schema]
    rebuilds: bool = False


Spread = Callable[[IndexWork, pa.Table], pa.Table]  # does the work on all entries, by whomever


def rewrite_file_index(
    target: Target, predicate: Predicate, *, rebuilds: bool = False, spread: Spread | None = None
) -> Commit:
    """Bring the indexes of the files in the partitions that match up to date.

    Files that somebody else replaces meanwhile are looked at again; ConflictError when that does not end.
    """
    file_index.index_options(target.schema.options, target.schema.fields)  # refuses what makes no sense
    for attempt in range(ATTEMPTS_MAX):
        found = _entries(target, predicate)
        if found.num_rows == 0:
            return Commit()
        schema_of = history.schemas_by_id(target.root, target.schema)
        schemas = {id: schema_of(id) for id in found["schema_id"].unique().to_pylist()}
        work = IndexWork(target.root.storage, target.schema, schemas, rebuilds)
        new = (spread or reindexed)(work, found)
        try:
            return commits.commit(target, Change(compact=_edit(found, new)), commits.new_author(target))
        except CommitUnknownError:
            raise  # the indexes may be in the table
        except ConflictError:
            delete_indexes(work, new)
            if attempt == ATTEMPTS_MAX - 1:
                raise
        except PolynyaError:
            delete_indexes(work, new)
            raise
    raise AssertionError("the last attempt answers or raises")


def reindexed(work: IndexWork, found: pa.Table) -> pa.Table:
    """The new entries of those files whose index changes; what is too large for a manifest is written beside them."""
    rows: list[dict[str, Any]] = found.drop_columns(NUMBER).to_pylist()
    new: list[dict[str, Any]] = []
    try:
        for row, number in zip(rows, found[NUMBER].to_pylist(), strict=True):
            changed = _reindexed(work, _file_of(row), row["embedded_file_index"], number)
            if changed is not None:
                new.append(row | changed)
    except BaseException:
        delete_indexes(work, pa.Table.from_pylist(new, schema=manifest.SCHEMA))
        raise
    return pa.Table.from_pylist(new, schema=manifest.SCHEMA)


def delete_indexes(work: IndexWork, new: pa.Table) -> None:
    """Delete the indexes that stand beside the files of these entries; only for entries that no commit refers to."""
    columns = ("partition", "bucket", "extra_files")
    names = [
        f"{bucket_folder(partition, bucket, work.schema)}/{name}"
        for partition, bucket, extra in zip(*(new[column].to_pylist() for column in columns), strict=True)
        for name in extra
        if name.endswith(layout.INDEX_SUFFIX)
    ]
    try:
        work.storage.delete(names)
    except StorageError:
        return  # nothing refers to these files; orphan cleaning finds them


def _entries(target: Target, predicate: Predicate) -> pa.Table:
    """The live files of the partitions that match, with the number of their next index."""
    snapshot = history.find_latest(target.root)
    if snapshot is None:
        return manifest.empty()
    every = entries.read_entries(target.root, entries.read_metas(target.root, snapshot))
    live = entries.fold(every)
    live = live.filter(pa.array(scan.partitions_match(live["partition"], predicate, target.schema)))
    replaced = every.filter(pc.equal(every["kind"], DELETE))
    replaced = replaced.filter(pc.is_in(replaced["file_name"], live["file_name"].combine_chunks()))
    numbers: dict[str, int] = {}
    for name, extra in zip(replaced["file_name"].to_pylist(), replaced["extra_files"].to_pylist(), strict=True):
        numbers[name] = max(numbers.get(name, 1), _next_number(name, extra))
    return live.append_column(
        NUMBER, pa.array([numbers.get(name) for name in live["file_name"].to_pylist()], pa.int32())
    )


def _next_number(file_name: str, extra_files: Iterable[str]) -> int:
    """The number behind that of the index beside the file; 0 where there is none."""
    numbers = [0]
    for name in extra_files:
        found = re.fullmatch(r"(?:-(\d+))?", name.removeprefix(file_name).removesuffix(layout.INDEX_SUFFIX))
        if found is not None:
            numbers.append(int(found[1] or 0) + 1)
    return max(numbers)


def _edit(found: pa.Table, new: pa.Table) -> Edit:
    old = found.filter(pc.is_in(found["file_name"], new["file_name"].combine_chunks())).drop_columns(NUMBER)
    return Edit(pa.concat_tables([with_kind(old, DELETE), with_kind(new, ADD)]))


def _file_of(row: Mapping[str, Any]) -> DataFile:
    values: dict[str, Any] = {name: row[name] for name in _FILE_COLUMNS}
    for name in ("write_cols", "extra_files"):
        values[name] = tuple(values[name]) if values[name] is not None else DataFile.__dataclass_fields__[name].default
    return DataFile(**values)


def _reindexed(work: IndexWork, file: DataFile, embedded: bytes | None, number: int | None) -> dict[str, object] | None:
    """What changes in the entry of a file; None where its index is as it should be."""
    written = work.file_schemas[file.schema_id]
    source = Reader(work.storage, replace(written, options=work.schema.options), {file.schema_id: written}, ())
    with file_rows.naming_file(source, file):
        held = _held(source, file, embedded)
        wanted = _wanted(work.schema, file_rows.stored_fields(source, file))
        asked = {(one.name, one.kind) for one in wanted}
        kept = set(held) & asked if not work.rebuilds else set()
        if not asked or (set(held) == asked and len(kept) == len(asked)):
            return None
        built = _built(source, file, [one for one in wanted if (one.name, one.kind) not in kept])
        bodies: dict[str, dict[str, bytes | None]] = {}
        for name, kind in sorted(asked):
            bodies.setdefault(name, {})[kind] = held[name, kind] if (name, kind) in kept else built[name][kind]
        data = file_index.encode(bodies)
        return _placed(work, file, data, number) if data != embedded else None


def _held(source: Reader, file: DataFile, embedded: bytes | None) -> dict[tuple[str, str], bytes | None]:
    """The bodies of the index that the file has, by column and kind."""
    data = embedded if embedded is not None else file_rows.read_index(source, file)
    if data is None:
        return {}
    found = file_index.decode(data, f"index of {file.file_name}")
    return {(column, kind): found.body(column, kind) for column in found.slots for kind in found.types(column)}


def _wanted(schema: Schema, stored: tuple[t.Field, ...]) -> list[ColumnIndex]:
    """The indexes that the options ask for, of the columns that the file has, under its names and types."""
    by_id = {field.id: field for field in stored}
    wanted = []
    for index in file_index.index_options(schema.options, schema.fields):
        field = by_id.get(schema.column(index.column).id)
        if field is None:
            continue  # the column is younger than the file
        type = field.type.value if index.map_key is not None and isinstance(field.type, t.Map) else field.type
        if file_index.KINDS[index.kind].accepts(type):  # of an older type the kind may know nothing
            wanted.append(replace(index, column=field.name, type=type))
    return wanted


def _built(source: Reader, file: DataFile, plan: list[ColumnIndex]) -> Mapping[str, Mapping[str, bytes | None]]:
    """The bodies of indexes over all rows of the file, deleted ones too."""
    if not plan:
        return {}
    writer = file_index.IndexWriter(plan)
    fields = tuple(field for field in source.schema.fields if field.name in {one.column for one in plan})
    for _, batch in file_rows.read_positions(source, file, fields, AlwaysTrue()):
        writer.add(batch)
    return writer.bodies()


def _placed(work: IndexWork, file: DataFile, data: bytes, number: int | None) -> dict[str, object]:
    """The columns of an entry that say where its index is, once it is there."""
    others = [name for name in file.extra_files if not name.endswith(layout.INDEX_SUFFIX)]
    if number is None and len(data) <= FILE_INDEX_IN_MANIFEST_THRESHOLD.of(work.schema.options):
        return {"embedded_file_index": data, "extra_files": others}
    if file.external_path is not None:
        raise UnsupportedError(f"data file {file.file_name} is outside of the table: its index cannot be written")
    first = max(number or 0, _next_number(file.file_name, file.extra_files))
    return {"embedded_file_index": None, "extra_files": [*others, _put(work, file, data, first)]}


def _put(work: IndexWork, file: DataFile, data: bytes, first: int) -> str:
    """The name of a new index file: nobody else has it, not even one who does the same at this moment."""
    folder = bucket_folder(file.partition, file.bucket, work.schema)
    for number in itertools.count(first):
        name = layout.file_index_name(file.file_name, number)
        try:
            work.storage.put_new(f"{folder}/{name}", data)
        except AlreadyExistsError:
            continue
        return name
    raise AssertionError("numbers do not end")
