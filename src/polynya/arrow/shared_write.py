"""Small appends of many threads share their data files: alone, a row costs little beside the file that it is in.

A thread brings rows that are checked already and waits for its turn. Whoever has the turn writes the rows of all who
wait by then, in the order they came, as if one caller had brought them: one file for each partition, one commit. Rules:

- Only tables without key and buckets: there no row depends on the file that it is in. Rows with an author, with kinds
  or from an iterator are written alone, and so are more than `SMALL_ROWS` rows or `SMALL_BYTES` bytes.
- A turn has room for `TURN_BYTES`, below the size at which files are rolled; who finds no room leads the next turn.
- What is wrong with rows is told to their caller before it joins. When the files of several cannot be written all the
  same, each is written alone, so that one does not fail the others.
- A commit that fails, or whose outcome is unknown, is so for all who share it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.route import partition_rows
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.errors import PolynyaError
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options import target_file_size
from polynya.model.options_data import BUCKET, TARGET_FILE_ROW_NUM
from polynya.model.schema import Schema
from polynya.table.bucket_state import BucketState
from polynya.table.commit import Commit, Target
from polynya.table.edit import Change, Edit
from polynya.table.turns import Member, TableTurns

SMALL_ROWS, SMALL_BYTES = 1024, 64 * 2**10  # of one caller
TURN_BYTES = 4 * 2**20


@dataclass(frozen=True)
class _Wanted:
    """Rows that wait to be written."""

    target: Target
    rows: pa.Table


_Waiting = Member[_Wanted, Commit]


def can_share(schema: Schema) -> bool:
    """Whether rows of several callers may be in one file of the table, and all of a turn fit into it."""
    return (
        bucket_mode(schema) is BucketMode.UNAWARE
        and target_file_size(schema) > TURN_BYTES
        and TARGET_FILE_ROW_NUM.of(schema.options) > TURN_BYTES
    )


def is_small(rows: Sequence[pa.RecordBatch]) -> bool:
    """Whether there are rows, and few enough to wait for others."""
    return sum(batch.num_rows for batch in rows) > 0 and sum(map(_size_bytes, rows)) <= SMALL_BYTES


def write(target: Target, rows: pa.Table) -> Commit:
    """Write and commit the rows together with those of other threads; the answer counts those of this one."""
    size_bytes = sum(map(_size_bytes, rows.to_batches()))
    return TURNS.of(target.root).join(_Wanted(target, rows), target.surroundings.wait, size_bytes)


def _size_bytes(batch: pa.RecordBatch) -> int:
    return int(batch.nbytes) + batch.num_rows  # rows without bytes count too


def _write_all(members: list[_Waiting]) -> None:
    """Write for everybody who waits; those who write with one schema share their files.

    The time of a schema counts too: a table that was dropped and created again has the ids of the old one.
    """
    groups: dict[tuple[int, int, pa.Schema], list[_Waiting]] = defaultdict(list)
    for member in members:
        schema = member.work.target.schema
        groups[schema.id, schema.time_ms, member.work.rows.schema].append(member)
    for group in groups.values():
        _write_together(group)


TURNS = TableTurns(_write_all, TURN_BYTES)


def _write_together(members: list[_Waiting]) -> None:
    """Write the rows of members that have one schema, and answer each."""
    target = members[0].work.target
    schema = target.schema
    spec = WriteSpec(target.root.storage, schema, BucketState(BUCKET.of(schema.options)))
    writer = TableWriter(spec, target.surroundings.new_uuid)
    rows = pa.concat_tables([member.work.rows for member in members]).combine_chunks()
    try:
        files = writer.write_all(rows.to_batches())
    except (PolynyaError, pa.ArrowException) as error:
        if len(members) == 1:
            members[0].answer.set_exception(error)
        else:
            for member in members:
                _write_together([member])
        return
    try:
        made = writer.commit(target, Change(Edit(files)), None)
    except PolynyaError as error:
        for member in members:
            member.answer.set_exception(error)
        return
    for member in members:
        member.answer.set_result(_own(made, member.work.rows, schema))


def _own(made: Commit, rows: pa.Table, schema: Schema) -> Commit:
    """What a commit for several did for one of them."""
    partitions = partition_rows([rows[name] for name in schema.partition_by], rows.num_rows)
    return Commit(made.snapshot_id, made.commit_kind, len(pc.unique(partitions)), 0, rows.num_rows)
