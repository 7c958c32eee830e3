"""The message of a conflict: which snapshot, by which user, changed what, and what to do now."""

import pyarrow as pa

from polynya.model.schema import Schema
from polynya.paimon.snapshot import Snapshot
from polynya.table import entries, history
from polynya.table.edit import ChangeConflictError
from polynya.table.history import TableRoot
from polynya.table.paths import partition_paths

SNAPSHOTS_MAX = 100  # how far back the other side of a conflict is looked for
WHAT_NEXT = "read the table again and repeat the operation on what is there now"


def explain(root: TableRoot, schema: Schema, latest: Snapshot | None, error: ChangeConflictError) -> str:
    """The conflict with its partition and bucket, and the snapshot that touched the file where it can be found."""
    message = f"commit to {root.storage.location}, {_place(schema, error)}: {error}"
    found = _find_culprit(root, latest, error) if latest is not None else None
    if found is None:
        return f"{message}; {WHAT_NEXT}"
    return f"{message}: snapshot {found.id} ({found.commit_kind}) by user {found.commit_user} changed it; {WHAT_NEXT}"


def _place(schema: Schema, error: ChangeConflictError) -> str:
    path = partition_paths(pa.array([error.partition], pa.binary()), schema)[0].as_py().rstrip("/")
    place = f"partition {path}" if path else "the only partition"
    return place if error.bucket is None else f"{place}, bucket {error.bucket}"


def _find_culprit(root: TableRoot, latest: Snapshot, error: ChangeConflictError) -> Snapshot | None:
    """The newest snapshot whose delta names the file, or which changed the index files."""
    recent = history.newest_first(root, latest.id)
    newer = latest
    for _, one in zip(range(SNAPSHOTS_MAX), recent, strict=False):
        if error.in_index and one.index_manifest != newer.index_manifest:
            return newer
        if not error.in_index and _names_file(root, one, error.file_name):
            return one
        newer = one
    return newer if error.in_index and newer.id == 1 else None


def _names_file(root: TableRoot, snapshot: Snapshot, file_name: str | None) -> bool:
    delta = entries.read_entries(root, entries.read_delta_metas(root, snapshot), ["file_name"])
    return file_name in delta["file_name"].to_pylist()
