"""Whether a table is sound: every file that its metadata names is there, and every number adds up.

The table is listed once; names and sizes are then compared column by column. Looked at are all snapshots and tags of
the branch: what any of them needs must be there. A file is live in some snapshot when it is live in the earliest one or
a later one adds it, so every delta is read once and no snapshot is folded but the first and the last. Not looked at:
files outside of the table, changelog files that share one file, and (deep) formats that cannot be opened.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import CorruptFileError, NotFoundError, PolynyaError, UnsupportedError
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options_data import INDEX_FILE_IN_DATA_FILE_DIR
from polynya.model.options_keys import PK_CLUSTERING_OVERRIDE
from polynya.model.schema import Schema
from polynya.paimon import hint, index_manifest, layout, manifest, manifest_list
from polynya.paimon.snapshot import Snapshot
from polynya.table import conflict, damage, entries, history
from polynya.table.edit import DELETION_VECTORS, rows_of
from polynya.table.history import TableRoot
from polynya.table.paths import data_paths

RESTORE = "restore the file from a copy, or roll back to a snapshot that does not need it"
COLUMNS = (
    *("total_buckets", "file_size", "row_count", "schema_id", "min_key", "max_key"),
    *("kind", *entries.IDENTITY),
)
SHARED_CHANGELOG_MARK = ".cc-"  # in the name of a changelog that is a range of another file
PROBLEMS_MAX = 100  # of one sort; more would say nothing new

RowCounter = Callable[[str], int]
T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: what, where (the file's name under the table), and how to repair it."""

    what: str
    where: str
    repair: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.repair}"


@dataclass(frozen=True)
class Report:
    """What a check found."""

    problems: tuple[Problem, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems)) or "sound"


def check(root: TableRoot, schema: Schema, snapshot: Snapshot | None, count_rows: RowCounter | None = None) -> Report:
    """Check the branch, and `snapshot` in depth; `count_rows` opens a data file and counts, for a deep check."""
    # Others may be writing: whatever names files is read before these are listed.
    hints = _read_hints(root)
    ids, tag_names = history.snapshot_ids(root), history.tag_names(root)
    listing = _list(root)
    problems = [*_hint_problems(root, hints, ids), *_schema_problems(root, listing)]
    snapshot_readers = {layout.snapshot_name(id, root.branch): partial(history.read_snapshot, root, id) for id in ids}
    tag_readers = {layout.tag_name(name, root.branch): partial(history.read_tag, root, name) for name in tag_names}
    kept, tags = _readable(snapshot_readers, problems), _readable(tag_readers, problems)
    problems += _gap_problems(root, kept)
    view = [] if snapshot is None else [snapshot]
    every = [*kept, *tags, *view]
    problems += _schema_id_problems(root, listing, (one.schema_id for one in every))
    lists = _check_lists(listing, every, problems)
    if problems:
        return Report(tuple(problems[:PROBLEMS_MAX]))  # what hangs on a missing list cannot be looked at
    metas = _read_lists(root, lists, problems)
    metas = metas.take(_first_of_each(metas["file_name"].combine_chunks()))
    problems += listing.compare(_manifest_paths(metas), metas["file_size"], "manifest")
    if problems:
        return Report(tuple(problems[:PROBLEMS_MAX]))
    try:
        problems += _content_problems(_Content(root, schema, listing), kept, [*tags, *view])
        if snapshot is not None and count_rows is not None and not problems:
            problems += _row_problems(root, schema, snapshot, count_rows)
    except (CorruptFileError, NotFoundError) as error:
        problems.append(_damage_problem(error, root, snapshot or (kept[-1] if kept else None)))
    return Report(tuple(problems))


def _damage_problem(error: PolynyaError, root: TableRoot, snapshot: Snapshot | None) -> Problem:
    """The problem of a manifest that cannot be read, with the file's name where the error knows it."""
    if isinstance(error, CorruptFileError):
        error = damage.name_manifest(error, root, snapshot, partial(history.read_schema, root))
    name = re.search(rf"{layout.MANIFEST_FOLDER}/[^/:, ]+", str(error))
    return Problem(str(error), name[0] if name else layout.MANIFEST_FOLDER, RESTORE)


@dataclass(frozen=True)
class _Listing:
    """The names and sizes of everything under the table."""

    names: pa.Array
    sizes: pa.Array

    def compare(self, names: pa.Array, sizes: pa.Array | pa.ChunkedArray, what: str) -> list[Problem]:
        """A problem for each name that is not listed, or listed with another size; a null size fits any."""
        places = pc.index_in(names, self.names)
        found = self.sizes.take(places)
        missing = names.filter(pc.is_null(places))
        table = pa.table({"name": names, "found": found, "size": sizes})
        wrong = table.filter(pc.not_equal(table["found"], table["size"]))
        problems = [Problem(f"{what} is missing", name, RESTORE) for name in missing[:PROBLEMS_MAX].to_pylist()]
        for row in wrong.slice(0, PROBLEMS_MAX).to_pylist():
            text = f"{what} has {row['found']} bytes, expected {row['size']}"
            problems.append(Problem(text, row["name"], RESTORE))
        return problems

    def numbered(self, folder: str, prefix: str) -> list[int]:
        inside = self.names.filter(pc.starts_with(self.names, f"{folder}/{prefix}"))
        return layout.numbered(inside.to_pylist(), prefix)


@dataclass(frozen=True)
class _Content:
    """What the checks of entries look at."""

    root: TableRoot
    schema: Schema
    listing: _Listing


def _list(root: TableRoot) -> _Listing:
    blobs = [blob for page in root.storage.list("", recursive=True) for blob in page.blobs]
    names = pa.array([blob.name for blob in blobs], pa.string())
    return _Listing(names, pa.array([blob.size_bytes for blob in blobs], pa.int64()))


def _folder(root: TableRoot, folder: str) -> str:
    return layout.branch_prefix(root.branch) + folder


def _readable(readers: Mapping[str, Callable[[], T]], problems: list[Problem]) -> list[T]:
    """What can be read of the files; damaged ones become problems, and one that has gone since was expired."""
    good = []
    for path, read in readers.items():
        try:
            good.append(read())
        except CorruptFileError as error:
            problems.append(Problem(f"cannot be read: {error}", path, RESTORE))
        except NotFoundError:
            continue
    return good


def _read_hints(root: TableRoot) -> dict[str, int | None]:
    """What the hints that are there say; None for what is no number."""
    hints = {}
    for name in (layout.LATEST, layout.EARLIEST):
        with suppress(NotFoundError):
            hints[name] = hint.decode(root.storage.read(layout.snapshot_hint_name(name, root.branch)))
    return hints


def _hint_problems(root: TableRoot, hints: Mapping[str, int | None], ids: list[int]) -> Iterator[Problem]:
    """A LATEST that names no snapshot misleads other readers; one that lags behind does not."""
    for name, found in hints.items():
        right, expected = (ids, f"one of snapshots {ids[0]} to {ids[-1]}") if ids else ([], "no hint")
        if name == layout.EARLIEST and ids:
            right, expected = ids[:1], f"snapshot {ids[0]}"
        if found not in right:
            repair = "delete the hint: the next commit or expiry writes it again"
            where = layout.snapshot_hint_name(name, root.branch)
            yield Problem(f"hint says {found}, expected {expected}", where, repair)


def _gap_problems(root: TableRoot, kept: list[Snapshot]) -> Iterator[Problem]:
    for one, following in itertools.pairwise(kept):
        if following.id != one.id + 1:
            where = layout.snapshot_name(one.id + 1, root.branch)
            yield Problem(f"snapshots {one.id + 1} to {following.id - 1} are missing", where, RESTORE)


def _schema_problems(root: TableRoot, listing: _Listing) -> Iterator[Problem]:
    ids = listing.numbered(_folder(root, layout.SCHEMA_FOLDER), layout.SCHEMA_PREFIX)
    for id in ids:
        try:
            history.read_schema(root, id)
        except PolynyaError as error:
            yield Problem(f"cannot be read: {error}", layout.schema_name(id, root.branch), RESTORE)


def _schema_id_problems(root: TableRoot, listing: _Listing, used: Iterable[int]) -> list[Problem]:
    ids = set(listing.numbered(_folder(root, layout.SCHEMA_FOLDER), layout.SCHEMA_PREFIX))
    missing = sorted(set(used) - ids)
    return [Problem("schema is in use and missing", layout.schema_name(id, root.branch), RESTORE) for id in missing]


def _check_lists(listing: _Listing, snapshots: list[Snapshot], problems: list[Problem]) -> list[str]:
    """The manifest lists of the snapshots; missing ones, and ones of a wrong size, become problems."""
    lists: dict[str, int | None] = {}
    others: set[str] = set()
    for one in snapshots:
        lists[one.base_manifest_list] = one.base_manifest_list_size
        lists[one.delta_manifest_list] = one.delta_manifest_list_size
        if one.changelog_manifest_list is not None:
            lists[one.changelog_manifest_list] = one.changelog_manifest_list_size
        others |= {layout.manifest_path(one.index_manifest)} if one.index_manifest is not None else set()
        others |= {layout.statistics_path(one.statistics)} if one.statistics is not None else set()
    paths = pa.array([layout.manifest_path(name) for name in lists], pa.string())
    problems += listing.compare(paths, pa.array(lists.values(), pa.int64()), "manifest list")
    problems += listing.compare(pa.array(sorted(others), pa.string()), pa.nulls(len(others), pa.int64()), "file")
    return list(lists)


def _read_lists(root: TableRoot, lists: list[str], problems: list[Problem]) -> pa.Table:
    """What the lists say; damaged ones become problems."""
    try:
        return entries.read_lists(root, lists) if lists else manifest_list.empty()
    except CorruptFileError:  # one by one, to tell which
        readers = {layout.manifest_path(one): partial(entries.read_lists, root, [one]) for one in lists}
        return pa.concat_tables([manifest_list.empty(), *_readable(readers, problems)])


def _first_of_each(names: pa.Array) -> pa.Array:
    """Where each name stands first."""
    return pa.array(np.unique(names.dictionary_encode().indices, return_index=True)[1])


def _manifest_paths(metas: pa.Table) -> pa.Array:
    return pc.binary_join_element_wise(layout.MANIFEST_FOLDER, metas["file_name"].combine_chunks(), "/")


def _content_problems(content: _Content, kept: list[Snapshot], views: list[Snapshot]) -> Iterator[Problem]:
    """What is wrong with files and counts of all snapshots, once every manifest is there."""
    root, needed = content.root, []
    for index, one in enumerate(kept):
        delta = entries.read_entries(root, entries.read_delta_metas(root, one), COLUMNS)
        yield from _count_problems(root, one, kept[index - 1] if index else None, delta)
        needed.append(delta.filter(pc.equal(delta["kind"], manifest.ADD)))
        if one.changelog_manifest_list is not None:
            needed.append(_changelog_files(root, one))
    seen: set[int] = set()
    for one in [*kept[:1], *kept[-1:], *views]:
        if one.id not in seen:
            seen.add(one.id)
            live = entries.read_live(root, one, COLUMNS)
            needed.append(live)
            yield from _live_problems(content, one, live)
    yield from _index_problems(content, [*kept, *views])
    if needed:
        yield from _file_problems(content, pa.concat_tables([one.select(COLUMNS) for one in needed]))


def _changelog_files(root: TableRoot, one: Snapshot) -> pa.Table:
    assert one.changelog_manifest_list is not None
    found = entries.read_entries(root, entries.read_lists(root, [one.changelog_manifest_list]), COLUMNS)
    return found.filter(pc.invert(pc.match_substring(found["file_name"], SHARED_CHANGELOG_MARK)))


def _count_problems(root: TableRoot, one: Snapshot, previous: Snapshot | None, delta: pa.Table) -> Iterator[Problem]:
    where, repair = layout.snapshot_name(one.id, root.branch), "roll back to the snapshot before it, and report this"
    sign = np.where(delta["kind"].to_numpy() == manifest.ADD, 1, -1)
    rows = int((sign * delta["row_count"].to_numpy()).sum())
    if one.delta_record_count is not None and one.delta_record_count != rows:
        yield Problem(f"deltaRecordCount is {one.delta_record_count}, its files hold {rows} rows", where, repair)
    before = previous.total_record_count if previous is not None and previous.id + 1 == one.id else None
    if before is not None and one.total_record_count is not None and before + rows != one.total_record_count:
        text = (
            f"totalRecordCount is {one.total_record_count}, expected {before} of the snapshot before it and {rows} more"
        )
        yield Problem(text, where, repair)


def _live_problems(content: _Content, one: Snapshot, live: pa.Table) -> Iterator[Problem]:
    where = layout.snapshot_name(one.id, content.root.branch)
    if one.total_record_count is not None and one.total_record_count != rows_of(live):
        text = f"totalRecordCount is {one.total_record_count}, its live files hold {rows_of(live)} rows"
        yield Problem(text, where, "roll back to a snapshot before it, and report this")
    keys = [to_arrow_type(field.type) for field in content.schema.key_fields]
    upper = live.filter(pc.greater(live["level"], 0))
    ordered = bool(keys) and not PK_CLUSTERING_OVERRIDE.of(content.schema.options)
    clash = conflict.find_overlap(upper, keys) if ordered else None
    if clash is not None:
        path = data_paths(upper.slice(clash, 1), content.schema)[0].as_py()
        yield Problem(
            f"its keys overlap another file of level {upper['level'][clash]}", path, "compact the table fully"
        )
    index = entries.read_index(content.root, one)
    for row in conflict.stray_vectors(live, index).slice(0, PROBLEMS_MAX).to_pylist():
        text = f"deletion vector of data file {row['file_name']}, which is not live in snapshot {one.id}"
        yield Problem(text, layout.index_path(row["index_file"]), "compact the table fully")


def _index_problems(content: _Content, snapshots: list[Snapshot]) -> list[Problem]:
    """Index files that any of the snapshots needs, and that are missing or cut."""
    names = sorted({one.index_manifest for one in snapshots if one.index_manifest is not None})
    index = index_manifest.decode([entries.source_of(content.root.storage, name) for name in names])
    own = index.filter(pc.is_null(index["external_path"]))
    own = own.take(_first_of_each(own["file_name"].combine_chunks()))
    if INDEX_FILE_IN_DATA_FILE_DIR.of(content.schema.options):
        own = own.filter(pc.equal(own["index_type"], DELETION_VECTORS))
        paths = data_paths(own, content.schema)
    else:
        paths = pc.binary_join_element_wise(layout.INDEX_FOLDER, own["file_name"].combine_chunks(), "/")
    return content.listing.compare(paths, own["file_size"], "index file")


def _file_problems(content: _Content, files: pa.Table) -> Iterator[Problem]:
    """Data files, and the files beside them, that are missing or cut; files outside of the table are not looked at."""
    files = files.filter(pc.is_null(files["external_path"]))
    paths = data_paths(files, content.schema)
    first = _first_of_each(paths)
    files, paths = files.take(first), paths.take(first)
    yield from content.listing.compare(paths, files["file_size"], "data file")
    extra = files["extra_files"].combine_chunks()
    if pc.any(pc.greater(pc.list_value_length(extra), 0)).as_py():
        owners = pc.list_parent_indices(extra)
        folders = pc.replace_substring_regex(paths.take(owners), "[^/]*$", "")
        beside = pc.binary_join_element_wise(folders, pc.list_flatten(extra), "")
        yield from content.listing.compare(beside, pa.nulls(len(beside), pa.int64()), "file beside a data file")
    yield from _schema_id_problems(content.root, content.listing, pc.unique(files["schema_id"]).to_pylist())


def _row_problems(root: TableRoot, schema: Schema, snapshot: Snapshot, count_rows: RowCounter) -> Iterator[Problem]:
    live = entries.read_live(root, snapshot, COLUMNS)
    live = live.filter(pc.is_null(live["external_path"]))
    paths = data_paths(live, schema).to_pylist()
    for path, expected in zip(paths, live["row_count"].to_pylist(), strict=True):
        try:
            found = count_rows(path)
        except UnsupportedError:
            continue
        except PolynyaError as error:
            yield Problem(f"data file cannot be read: {error}", path, RESTORE)
            continue
        if found != expected:
            yield Problem(f"data file holds {found} rows, expected {expected}", path, RESTORE)
