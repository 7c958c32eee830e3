"""Publishing: the only place where a snapshot comes into being.

A commit prepares manifests, lists and the snapshot's JSON, and then creates `snapshot-N` if that name is free. Nothing
else makes it visible. Invariants:

- A lost race costs only the two lists: data files and the manifest of the change are written once.
- A repeatable commit looks for itself in every snapshot before the one it tries to create, in every attempt.
- When the store does not say whether it created `snapshot-N`, the name is read back. Not there: the same bytes are put
  again, so that a first put that arrives late is known as our own. Unreadable: CommitUnknownError, nothing is deleted.
- After success nothing can fail the commit: hints and clean-up are best effort.
- Files are deleted only when it is known that no snapshot refers to them; an interrupt deletes nothing.
"""

import enum
import itertools
import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow.compute as pc

from polynya.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    ConflictError,
    InvalidInputError,
    PolynyaError,
    StorageError,
)
from polynya.model.schema import Schema
from polynya.paimon import hint, layout, snapshot
from polynya.paimon.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from polynya.table import entries, history
from polynya.table.commit_options import CommitOptions
from polynya.table.draft import Draft, Drafter, Part, Signature
from polynya.table.edit import Change, Edit
from polynya.table.history import TableRoot

PUT_COUNT_MAX = 3  # how often the same bytes are put while the outcome is unknown


@dataclass(frozen=True)
class Surroundings:
    """What a commit takes from the world; given from outside, so that a history can be replayed."""

    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    sleep: Callable[[float], None] = time.sleep
    fraction: Callable[[], float] = random.random
    new_uuid: Callable[[], str] = lambda: str(uuid.uuid4())
    wait: Callable[[threading.Event], object] = threading.Event.wait


@dataclass(frozen=True)
class Author:
    """Who commits. An identifier makes the commit repeatable: the same (user, identifier) is published once."""

    user: str
    identifier: int = BATCH_COMMIT_IDENTIFIER
    watermark: int | None = None
    properties: Mapping[str, str] | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether the caller may come again with the same identifier."""
        return self.identifier != BATCH_COMMIT_IDENTIFIER


@dataclass(frozen=True)
class Target:
    """The table that is committed to."""

    root: TableRoot
    schema: Schema
    surroundings: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True)
class Commit:
    """What a commit did; `snapshot_id` is None when there was nothing to commit.

    Of several writers that share a snapshot, each is told its own counts; a file that they share counts for each.
    """

    snapshot_id: int | None = None
    commit_kind: CommitKind | None = None
    added_files: int = 0
    deleted_files: int = 0
    record_count: int = 0


class Outcome(enum.Enum):
    """How an attempt to create the snapshot file ended."""

    PUBLISHED = enum.auto()
    LOST = enum.auto()


def new_author(target: Target) -> Author:
    """An author of one batch commit."""
    prefix = CommitOptions.of(target.schema.options).user_prefix
    own = target.surroundings.new_uuid()
    return Author(f"{prefix}_{own}" if prefix else own)


def commit(target: Target, change: Change, author: Author, *, allow_empty: bool = False) -> Commit:
    """Publish the change and answer for its first snapshot.

    Raises ConflictError when another writer was first and the change does not fit any more (nothing is visible, the
    data files of the change may be deleted), CommitUnknownError when the outcome is not known, or when the append part
    is published and the compact part is not.
    """
    made = Commit()
    for part in parts_of(change, allow_empty=allow_empty):
        try:
            answer = _publish(target, part, author)
        except PolynyaError as error:
            if made.snapshot_id is None:
                raise
            raise CommitUnknownError(
                f"commit to {target.root.storage.location}: snapshot {made.snapshot_id} ({made.commit_kind}) is "
                f"published, its {part.kind} part is not: {error}; nothing was deleted; only that part may be repeated"
            ) from error
        made = made if made.snapshot_id is not None else answer
    return made


def compact_manifests(target: Target, author: Author) -> Commit:
    """Publish the same files in rewritten manifests, sorted by partition, bucket and level."""
    return _publish(target, Part(CommitKind.COMPACT, Edit(), repacks=True), author)


def parts_of(change: Change, *, allow_empty: bool = False) -> list[Part]:
    """The snapshots that the change makes, in order: append before compact."""
    parts = []
    if not change.append.is_empty or change.overwrite is not None or change.statistics is not None or allow_empty:
        first = Part(change.append_kind, change.append, change.overwrite, change.statistics, change.operation)
        parts.append(replace(first, based_on=change.based_on))
    if not change.compact.is_empty:
        parts.append(Part(CommitKind.COMPACT, change.compact, based_on=change.based_on))
    return parts


def find_committed(
    root: TableRoot, author: Author, kind: CommitKind, latest_id: int, after: int = 0
) -> Snapshot | None:
    """The snapshot, later than `after`, that this author made with this identifier, or None.

    A user's identifiers rise, so the search ends at the first smaller one. A commit that comes behind a larger one of
    its user is an InvalidInputError, or a CommitUnknownError where its own snapshot may have expired.
    """
    later, may_be_expired = None, False
    for one in history.newest_first(root, latest_id):
        if one.id <= after or (one.commit_user == author.user and one.commit_identifier < author.identifier):
            break
        if _is_by(one, author, kind):
            return one
        is_later = one.commit_user == author.user and author.identifier < one.commit_identifier
        if is_later and one.commit_identifier != BATCH_COMMIT_IDENTIFIER:
            later = later or one
    else:
        may_be_expired = not history.has_snapshot(root, 1)
    if later is not None:
        raise _out_of_order(root, author, later, may_be_expired=may_be_expired)
    return None


def _out_of_order(root: TableRoot, author: Author, later: Snapshot, *, may_be_expired: bool) -> PolynyaError:
    """Why a commit is refused behind a later one of its user: a repeat of either could not be told any more."""
    message = (
        f"commit {author.identifier} of user {author.user} to {root.storage.location}: expected an identifier above "
        f"{later.commit_identifier}, which the user committed in snapshot {later.id}"
    )
    if may_be_expired:
        return CommitUnknownError(f"{message}; the commit may have been made and its snapshot have expired")
    return InvalidInputError(f"{message}; nothing was published; give each writer a user of its own")


def find_repeated(root: TableRoot, author: Author, kind: CommitKind) -> Commit | None:
    """What the same commit did when it was made before, or None; for callers that would write files in vain."""
    latest_id = history.find_latest_id(root) if author.is_repeatable else None
    done = find_committed(root, author, kind, latest_id) if latest_id is not None else None
    return result_of(root, done) if done is not None else None


def filter_committed(root: TableRoot, user: str, identifiers: list[int]) -> list[int]:
    """Those of the identifiers that the user has not committed yet, ascending."""
    recent = history.newest_first(root, history.find_latest_id(root) or 0)
    own = (one.commit_identifier for one in recent if one.commit_user == user)
    newest = next((one for one in own if one != BATCH_COMMIT_IDENTIFIER), None)
    return sorted(one for one in identifiers if newest is None or one > newest)


def result_of(root: TableRoot, made: Snapshot) -> Commit:
    """What the commit of an existing snapshot did."""
    metas = entries.read_delta_metas(root, made)
    added, deleted = (pc.sum(metas[name]).as_py() or 0 for name in ("num_added_files", "num_deleted_files"))
    return Commit(made.id, made.commit_kind, added, deleted, made.delta_record_count or 0)


def _publish(target: Target, part: Part, author: Author) -> Commit:
    """Try until the part is published, does not fit any more, or time is up; then clean up what nobody refers to."""
    drafter = Drafter(target.root, target.schema, part, target.surroundings.new_uuid)
    try:
        answer, names = _publish_draft(target, drafter, author)
    except CommitUnknownError:
        raise
    except PolynyaError:
        drafter.writer.clean_up(frozenset())
        raise
    drafter.writer.clean_up(names)
    return answer


def _publish_draft(target: Target, drafter: Drafter, author: Author) -> tuple[Commit, frozenset[str]]:
    """What the commit did, and the metadata files that its snapshot refers to."""
    started_ms, seen_id, searched_id = target.surroundings.now_ms(), 0, 0
    for retry in itertools.count():
        latest = history.find_latest(target.root, seen_id)
        if author.is_repeatable and latest is not None:
            done = find_committed(target.root, author, drafter.part.kind, latest.id, searched_id)
            if done is not None:
                return result_of(target.root, done), frozenset()
            searched_id = latest.id
        draft = drafter.prepare(latest, _sign(latest, author, target.surroundings))
        if draft is None:
            break
        if _put(target, draft.snapshot) is Outcome.PUBLISHED:
            _write_latest_hint(target.root, draft.snapshot.id)
            return _answer(draft), draft.names
        seen_id = draft.snapshot.id
        _wait(target, drafter, retry, started_ms)
    return Commit(), frozenset()


def _put(target: Target, made: Snapshot) -> Outcome:
    """Create the snapshot file; after a silent store find out whether it is there, and by whom."""
    name, data = layout.snapshot_name(made.id, target.root.branch), snapshot.encode(made)
    for _ in range(PUT_COUNT_MAX):
        try:
            target.root.storage.put_new(name, data)
            return Outcome.PUBLISHED
        except AlreadyExistsError:
            return _look_up(target.root, made)
        except StorageError as error:
            found, failure = _look_up_after(target.root, made, error), error
            if found is not None:
                return found
    if target.root.storage.local_path(name) is not None:
        raise failure  # a local disk does nothing more once it has failed: the name is free and stays so
    raise CommitUnknownError(
        f"snapshot {made.id} of {target.root.storage.location}: the store failed {PUT_COUNT_MAX} times to create it "
        f"and may still do so; look for commit user {made.commit_user} in the snapshots before committing again"
    )


def _look_up(root: TableRoot, made: Snapshot) -> Outcome:
    """Whether the snapshot that stands under the name is the one we made."""
    try:
        return Outcome.PUBLISHED if history.read_snapshot(root, made.id).uuid == made.uuid else Outcome.LOST
    except PolynyaError as error:
        raise CommitUnknownError(
            f"snapshot {made.id} of {root.storage.location} exists, but cannot be read to tell by whom: {error}; "
            f"look for commit user {made.commit_user} in the snapshots before committing again"
        ) from error


def _look_up_after(root: TableRoot, made: Snapshot, cause: StorageError) -> Outcome | None:
    """The same after a put that failed; None when the name is still free."""
    try:
        if history.has_snapshot(root, made.id):
            return _look_up(root, made)
        # A later snapshot means that this one was there, by whomever, and has expired.
        found = "is gone again" if (history.find_latest_id(root) or 0) > made.id else None
    except StorageError as error:
        found = f"cannot be looked for ({error})"
    if found is None:
        return None
    raise CommitUnknownError(
        f"snapshot {made.id} of {root.storage.location}: the store failed to create it ({cause}), and now it {found}; "
        f"look for commit user {made.commit_user} in the snapshots before committing again"
    ) from cause


def _sign(latest: Snapshot | None, author: Author, surroundings: Surroundings) -> Signature:
    """What author and clock give to the next snapshot; time never runs backwards along the history."""
    now_ms = surroundings.now_ms()
    return Signature(
        uuid=surroundings.new_uuid(),
        user=author.user,
        identifier=author.identifier,
        time_ms=max(now_ms, latest.time_ms) if latest is not None else now_ms,
        watermark=_later(author.watermark, latest.watermark if latest is not None else None),
        properties=dict(author.properties) if author.properties else None,
    )


def _later(one: int | None, other: int | None) -> int | None:
    known = [watermark for watermark in (one, other) if watermark is not None]
    return max(known, default=None)


def _wait(target: Target, drafter: Drafter, retry: int, started_ms: int) -> None:
    options = drafter.writer.options
    passed_ms = target.surroundings.now_ms() - started_ms
    if retry >= options.retry_count_max or (options.timeout_ms is not None and passed_ms > options.timeout_ms):
        raise ConflictError(
            f"commit to {target.root.storage.location} lost the race {retry + 1} times in {passed_ms} ms; nothing was "
            f"published; try again, or raise 'commit.max-retries' ({options.retry_count_max}) or 'commit.timeout'"
        )
    target.surroundings.sleep(options.retry_wait_s(retry, target.surroundings.fraction()))


def _write_latest_hint(root: TableRoot, id: int) -> None:
    try:
        root.storage.put(layout.snapshot_hint_name(layout.LATEST, root.branch), hint.encode(id))
    except StorageError:
        return  # only a hint: readers check it and fall back to a listing


def _answer(draft: Draft) -> Commit:
    made, edit = draft.snapshot, draft.edit
    return Commit(made.id, made.commit_kind, edit.added.num_rows, edit.deleted.num_rows, edit.record_count)


def _is_by(one: Snapshot, author: Author, kind: CommitKind) -> bool:
    return (one.commit_user, one.commit_identifier, one.commit_kind) == (author.user, author.identifier, kind)
