"""Finding snapshots, schemas and tags of a table.

The hint files LATEST and EARLIEST only save a listing; what they say is checked. Snapshots are contiguous between the
earliest and the latest, so a step from a known one to the next is one look at the store, and a search by time or by
watermark takes a logarithmic number of them. Nothing is remembered here: a rollback may give an id a new meaning.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polynya.errors import ConflictError, CorruptFileError, NotFoundError, StorageError
from polynya.model.schema import Schema
from polynya.paimon import hint, layout, schema_file, snapshot, tag
from polynya.paimon.snapshot import Snapshot
from polynya.storage.protocol import Storage

FORWARD_STEPS = 16  # looks at the next id before a listing is cheaper


@dataclass(frozen=True)
class TableRoot:
    """Where a table's files are: its store, and the branch that is looked at."""

    storage: Storage
    branch: str = layout.MAIN_BRANCH


def find_latest_id(root: TableRoot, at_least: int = 0) -> int | None:
    """The id of the latest snapshot, or None; `at_least` is an id that was seen, for stores that list late."""
    known = _largest_that_is_there(root, (_read_hint(root, layout.LATEST), at_least))
    if known is None:
        known = max(snapshot_ids(root), default=None)
    while known is not None:
        for latest in range(known, known + FORWARD_STEPS):
            if not has_snapshot(root, latest + 1):
                return latest
        # So far behind, a listing is cheaper; one that is itself late must not take us back.
        known = max([known + FORWARD_STEPS, *snapshot_ids(root)])
    return None


def find_earliest_id(root: TableRoot) -> int | None:
    """The id of the earliest snapshot that is still there, or None."""
    hinted = _read_hint(root, layout.EARLIEST)
    if hinted and has_snapshot(root, hinted):
        return hinted
    return min(snapshot_ids(root), default=None)


def snapshot_ids(root: TableRoot) -> list[int]:
    """Every snapshot id, ascending, by listing."""
    return _numbered(root, layout.SNAPSHOT_FOLDER, layout.SNAPSHOT_PREFIX)


def has_snapshot(root: TableRoot, id: int) -> bool:
    """Whether the snapshot is there."""
    return _exists(root, layout.snapshot_name(id, root.branch))


def read_snapshot(root: TableRoot, id: int) -> Snapshot:
    """The snapshot; NotFoundError tells which ones there are."""
    name = layout.snapshot_name(id, root.branch)
    try:
        data = root.storage.read(name)
    except NotFoundError:
        raise NotFoundError(f"snapshot {id} of {root.storage.location} does not exist; {_available(root)}") from None
    found = snapshot.decode(data, name=name)
    _require_id(name, id, found.id)
    return found


def find_latest(root: TableRoot, at_least: int = 0) -> Snapshot | None:
    """The latest snapshot, or None for a table without one."""
    id = find_latest_id(root, at_least)
    return None if id is None else read_snapshot(root, id)


def newest_first(root: TableRoot, latest_id: int) -> Iterator[Snapshot]:
    """The snapshots from `latest_id` back to the earliest that is there."""
    for id in range(latest_id, 0, -1):
        try:
            yield read_snapshot(root, id)
        except NotFoundError:
            return


def read_snapshot_at_time(root: TableRoot, time_ms: int) -> Snapshot:
    """The newest snapshot that was committed at or before the time."""
    found = _last_where(root, lambda one: one.time_ms <= time_ms)
    if found is None:
        raise NotFoundError(f"no snapshot of {root.storage.location} is as old as {time_ms} ms; {_available(root)}")
    return found


def read_snapshot_at_watermark(root: TableRoot, watermark: int) -> Snapshot:
    """The first snapshot whose watermark reaches the value."""
    before = _last_where(root, lambda one: one.watermark is None or one.watermark < watermark)
    latest = find_latest_id(root)
    id = before.id + 1 if before is not None else find_earliest_id(root)
    if id is None or latest is None or id > latest:
        raise NotFoundError(f"no snapshot of {root.storage.location} has reached watermark {watermark}")
    return read_snapshot(root, id)


def read_tag(root: TableRoot, name: str) -> Snapshot:
    """The snapshot that a tag names."""
    file_name = layout.tag_name(name, root.branch)
    try:
        data = root.storage.read(file_name)
    except NotFoundError:
        known = ", ".join(tag_names(root)) or "none"
        raise NotFoundError(f"tag '{name}' of {root.storage.location} does not exist; there are: {known}") from None
    return tag.decode(data, name=file_name).snapshot


def tag_names(root: TableRoot) -> list[str]:
    """The names of the tags, sorted."""
    return _named(root, layout.TAG_FOLDER, layout.TAG_PREFIX)


def branch_names(root: TableRoot) -> list[str]:
    """The names of the branches beside main, sorted."""
    pages = root.storage.list(layout.BRANCH_FOLDER)
    return layout.named((folder for page in pages for folder in page.folders), layout.BRANCH_PREFIX)


def consumer_ids(root: TableRoot) -> list[str]:
    """The ids of the consumers, sorted."""
    return _named(root, layout.CONSUMER_FOLDER, layout.CONSUMER_PREFIX)


def read_schema(root: TableRoot, id: int) -> Schema:
    """One version of the schema."""
    name = layout.schema_name(id, root.branch)
    found = schema_file.decode(root.storage.read(name), name=name)
    _require_id(name, id, found.id)
    return found


def schemas_by_id(root: TableRoot, known: Schema) -> Callable[[int], Schema]:
    """A function that gives versions of the schema by id, and reads each of them at most once."""
    schemas = {known.id: known}

    def schema_of(id: int) -> Schema:
        if id not in schemas:
            schemas[id] = read_schema(root, id)
        return schemas[id]

    return schema_of


def schema_ids(root: TableRoot) -> list[int]:
    """Every schema id, ascending, by listing."""
    return _numbered(root, layout.SCHEMA_FOLDER, layout.SCHEMA_PREFIX)


def find_latest_schema(root: TableRoot) -> Schema | None:
    """The newest schema, or None where there is no table."""
    ids = schema_ids(root)
    return read_schema(root, ids[-1]) if ids else None


def latest_schema_id(root: TableRoot, known: Schema) -> int:
    """The newest schema id of the table that has the known schema; schemas are numbered without gaps.

    ConflictError when the table was dropped since, and perhaps created again.
    """
    name = layout.schema_name(known.id, root.branch)
    try:
        is_known = schema_file.decode_time_ms(root.storage.read(name), name=name) == known.time_ms
    except NotFoundError:
        is_known = False
    if not is_known:
        raise ConflictError(
            f"table {root.storage.location}: schema {known.id}, which the change was made for, is not there any more; "
            "the table was dropped, or replaced by another of its name; open it again"
        )
    id = known.id
    while _exists(root, layout.schema_name(id + 1, root.branch)):
        id += 1
    return id


def _largest_that_is_there(root: TableRoot, ids: tuple[int, ...]) -> int | None:
    """The largest of the ids that has a snapshot, or None."""
    return next((id for id in sorted(set(ids), reverse=True) if id and has_snapshot(root, id)), None)


def _require_id(name: str, expected: int, found: int) -> None:
    if found != expected:
        raise CorruptFileError(f"file '{name}', id: expected {expected}, as its name says, found {found}")


def _exists(root: TableRoot, name: str) -> bool:
    try:
        root.storage.size(name)
    except NotFoundError:
        return False
    return True


def _read_hint(root: TableRoot, name: str) -> int:
    try:
        data = root.storage.read(layout.snapshot_hint_name(name, root.branch))
    except (NotFoundError, StorageError):
        return 0  # a hint may be missing or unreadable: the listing tells
    return hint.decode(data) or 0


def _numbered(root: TableRoot, folder: str, prefix: str) -> list[int]:
    return layout.numbered(_file_names(root, folder), prefix)


def _named(root: TableRoot, folder: str, prefix: str) -> list[str]:
    return layout.named(_file_names(root, folder), prefix)


def _file_names(root: TableRoot, folder: str) -> list[str]:
    pages = root.storage.list(layout.branch_prefix(root.branch) + folder)
    return [blob.name for page in pages for blob in page.blobs]


def _last_where(root: TableRoot, holds: Callable[[Snapshot], bool]) -> Snapshot | None:
    """The last snapshot for which `holds`, which must be true up to some snapshot and false after it."""
    low, high = find_earliest_id(root), find_latest_id(root)
    if low is None or high is None:
        return None
    found = None
    while low <= high:
        middle = read_snapshot(root, (low + high) // 2)
        if holds(middle):
            found, low = middle, middle.id + 1
        else:
            high = middle.id - 1
    return found


def _available(root: TableRoot) -> str:
    ids = snapshot_ids(root)
    return f"available are snapshots {ids[0]} to {ids[-1]}" if ids else "the table has no snapshot"
