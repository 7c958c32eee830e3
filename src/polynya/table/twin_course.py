"""Which snapshots the twin keeps, and which it is to be given next.

A snapshot stays as long as Paimon has it as it was, in its line or by a tag. What follows the last that stays
is published. A twin of which none stays begins with the oldest of

- what it had, which is made anew,
- the snapshots at whose time the table's options asked for a twin: one that was never published is one that failed,
- the latest snapshot.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, takewhile

from polynya.errors import UnsupportedError
from polynya.iceberg.metadata import MAIN, IcebergSnapshot
from polynya.paimon.snapshot import Snapshot
from polynya.table import history
from polynya.table.history import TableRoot
from polynya.table.twin_settings import TwinSettings
from polynya.table.twin_store import Current
from polynya.table.twin_summary import SOURCE_KEY, VIEW_KEY, identity


@dataclass(frozen=True)
class Timeline:
    """The snapshots that Paimon has, by range and by tag."""

    earliest_id: int
    latest: Snapshot
    tags: Mapping[str, Snapshot]

    @cached_property
    def tagged(self) -> dict[int, Snapshot]:
        """The snapshots of tags, by id, oldest first."""
        return {one.id: one for one in sorted(self.tags.values(), key=lambda one: one.id)}


def read_timeline(root: TableRoot, latest: Snapshot) -> Timeline:
    """The snapshots up to the latest; UnsupportedError for a tag that Iceberg has no place for."""
    tags = {name: history.read_tag(root, name) for name in history.tag_names(root)}
    if MAIN in tags:
        raise UnsupportedError(f"tag '{MAIN}': an Iceberg table has a branch of that name; rename the tag")
    return Timeline(history.find_earliest_id(root) or latest.id, latest, tags)


def kept(root: TableRoot, current: Current | None, timeline: Timeline, settings: TwinSettings) -> list[IcebergSnapshot]:
    """The snapshots of the twin that stay, oldest first: those that Paimon has too, up to where both agree."""
    if current is None or current.metadata.format_version != settings.folder.version:
        return []
    if current.metadata.location != settings.table_url:
        return []  # the table was moved or copied: the paths in its manifests are of another place
    listed = sorted(current.metadata.snapshots, key=lambda one: one.snapshot_id)
    in_line = [one for one in listed if timeline.earliest_id <= one.snapshot_id <= timeline.latest.id]
    while in_line and not _is_twin(in_line[-1], history.read_snapshot(root, in_line[-1].snapshot_id)):
        in_line.pop()
    older = [
        one
        for one in listed
        if one.snapshot_id < timeline.earliest_id
        and one.snapshot_id in timeline.tagged
        and _is_twin(one, timeline.tagged[one.snapshot_id])
    ]
    if any(SOURCE_KEY in one.summary for one in in_line):
        while SOURCE_KEY not in in_line[-1].summary:
            in_line.pop()  # another writer went on with the twin, in a view of its own: made anew
    newest = in_line[-1] if in_line else None
    if newest and newest.snapshot_id == timeline.latest.id and newest.summary.get(VIEW_KEY) != settings.view:
        in_line.pop()  # begun by another writer, or made for another view: made anew
    return [*older, *in_line]


def begins_late(snapshots: Sequence[IcebergSnapshot], timeline: Timeline) -> bool:
    """Whether Paimon has older snapshots, in its line or by a tag, than these."""
    ids = {one.snapshot_id for one in snapshots}
    return timeline.earliest_id not in ids or not ids.issuperset(timeline.tagged)


def missing(root: TableRoot, timeline: Timeline, is_due: Callable[[Snapshot], bool]) -> list[Snapshot]:
    """The snapshots to publish, oldest first: back from the latest as long as they are due.

    Where all that are left are due, so are expired ones that have a tag.
    """
    ids = range(timeline.latest.id - 1, timeline.earliest_id - 1, -1)
    older = (history.read_snapshot(root, id) for id in ids)
    line = list(takewhile(is_due, chain([timeline.latest], older)))
    if not line or line[-1].id > timeline.earliest_id:
        return line[::-1]
    tagged = [one for id, one in timeline.tagged.items() if id < timeline.earliest_id and is_due(one)]
    return [*tagged, *line[::-1]]


def _is_twin(one: IcebergSnapshot, snapshot: Snapshot) -> bool:
    """Whether the Iceberg snapshot was made from the Paimon snapshot; other writers leave only their clock's time."""
    source = one.summary.get(SOURCE_KEY)
    return source == identity(snapshot) if source is not None else one.timestamp_ms >= snapshot.time_ms
