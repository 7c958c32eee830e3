"""The summary of a snapshot of the Iceberg twin: what it counts, and which snapshot of the table it was made from."""

from collections.abc import Mapping

from polynya.iceberg.metadata import IcebergSnapshot
from polynya.paimon.snapshot import CommitKind, Snapshot
from polynya.table.twin_manifests import Edition
from polynya.table.twin_view import View

SOURCE_KEY = "polynya.paimon-snapshot"
VIEW_KEY = "polynya.view"
HIDDEN_FILES_KEY = "polynya.unpublished-files"
HIDDEN_ROWS_KEY = "polynya.unpublished-records"


def identity(snapshot: Snapshot) -> str:
    """What tells the snapshot from another of its id, on a history that was rolled back."""
    return snapshot.uuid or f"{snapshot.commit_user}/{snapshot.commit_identifier}/{snapshot.time_ms}"


def summary(
    snapshot: Snapshot, edition: Edition, base: IcebergSnapshot | None, hidden: tuple[int, int], view: View
) -> dict[str, str]:
    """The summary; totals go on from those of the base, `hidden` are files and rows that the view leaves out."""
    old = base.summary if base is not None else {}
    added, removed, marks, unmarks = edition.added, edition.removed, edition.added_deletes, edition.removed_deletes
    counted = {
        "added-data-files": added.files,
        "deleted-data-files": removed.files,
        "added-records": added.rows,
        "deleted-records": removed.rows,
        "added-files-size": added.size_bytes,
        "removed-files-size": removed.size_bytes,
        "added-delete-files": marks.files,
        "removed-delete-files": unmarks.files,
        "added-position-deletes": marks.rows,
        "removed-position-deletes": unmarks.rows,
        "changed-partition-count": edition.changed_partition_count,
        "total-data-files": _total(old, "total-data-files", added.files - removed.files),
        "total-records": _total(old, "total-records", added.rows - removed.rows),
        "total-files-size": _total(old, "total-files-size", added.size_bytes - removed.size_bytes),
        "total-delete-files": _total(old, "total-delete-files", marks.files - unmarks.files),
        "total-position-deletes": _total(old, "total-position-deletes", marks.rows - unmarks.rows),
        "total-equality-deletes": 0,
    }
    if view in (View.TOP, View.ABOVE):
        counted[HIDDEN_FILES_KEY] = _total(old, HIDDEN_FILES_KEY, hidden[0])
        counted[HIDDEN_ROWS_KEY] = _total(old, HIDDEN_ROWS_KEY, hidden[1])
    operation = _operation(snapshot, edition, keeps_rows=view in (View.ALL, View.LIVE))
    texts = {key: str(value) for key, value in counted.items()}
    return {"operation": operation, **texts, SOURCE_KEY: identity(snapshot), VIEW_KEY: view.value}


def _total(old: Mapping[str, str], key: str, change: int) -> int:
    return int(old.get(key, "0")) + change


def _operation(snapshot: Snapshot, edition: Edition, *, keeps_rows: bool) -> str:
    adds, removes = edition.added.files, edition.removed.files or edition.added_deletes.files
    if snapshot.commit_kind is CommitKind.COMPACT and keeps_rows and (adds or removes):
        return "replace"
    if adds and removes:
        return "overwrite"
    return "delete" if removes else "append"
