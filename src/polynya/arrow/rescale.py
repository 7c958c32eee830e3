"""Changing the number of buckets of a table.

First a new schema says the new number: from then on new writers refuse partitions of another number. Then the
partitions of another number are read, merged and written anew, in one OVERWRITE commit that replaces exactly the files
that were there. Rows that a late writer added under the old number make it conflict; then it is done again. After a
crash in between, calling it again goes on.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import read
from polynya.arrow.compact import discard
from polynya.arrow.compact_table import CompactRequest, compact
from polynya.arrow.row_changes import ATTEMPTS_MAX, plan_rows
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.errors import AlreadyExistsError, CommitUnknownError, ConflictError, InvalidInputError, PolynyaError
from polynya.model import bind
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options_data import BUCKET
from polynya.model.predicate import Column, Predicate, all_of
from polynya.model.schema import Schema
from polynya.paimon import layout, schema_file
from polynya.paimon.snapshot import Snapshot
from polynya.table import commit as commits
from polynya.table import entries, history, scan
from polynya.table.bucket_state import BucketState
from polynya.table.commit import Commit, Target
from polynya.table.compaction import Within, upgraded
from polynya.table.edit import Change, Edit
from polynya.table.entries import DELETE, with_kind
from polynya.table.pick_runs import looks_up


def rescale(target: Target, bucket_count: int, partition: Mapping[str, pa.Scalar]) -> Commit:
    """Give the table `bucket_count` buckets and rewrite the partitions that match; an empty spec matches all."""
    if bucket_mode(target.schema) is not BucketMode.HASH_FIXED:
        raise InvalidInputError("rescale: the table has no fixed number of buckets that could be changed")
    if bucket_count < 1:
        raise InvalidInputError(f"rescale: expected 1 bucket or more, found {bucket_count}")
    predicate = bind.bind(_predicate(partition), target.schema.fields)
    if looks_up(target.schema.options):  # its rows of level 0 are there, but no scan shows them
        compact(target, CompactRequest(full=True, within=Within(predicate)))
    target = replace(target, schema=_with_count(target, bucket_count))
    for _ in range(ATTEMPTS_MAX):
        made = _try_rescale(target, predicate)
        if made is not None:
            return made
    raise ConflictError(
        f"rescale of {target.root.storage.location}: others added rows under the old number of buckets "
        f"{ATTEMPTS_MAX} times; end these writers and call it again"
    )


def _predicate(partition: Mapping[str, pa.Scalar]) -> Predicate:
    columns = {name: Column((name,)) for name in partition}
    return all_of(
        *(columns[name] == value if value.is_valid else columns[name].is_null() for name, value in partition.items())
    )


def _with_count(target: Target, bucket_count: int) -> Schema:
    """The latest schema, once it says the number of buckets."""
    while True:
        schema = history.find_latest_schema(target.root) or target.schema
        if BUCKET.of(schema.options) == bucket_count:
            return schema
        options = {**schema.options, BUCKET.key: str(bucket_count)}
        new = replace(schema, id=schema.id + 1, options=options, time_ms=target.surroundings.now_ms(), version=3)
        try:
            target.root.storage.put_new(layout.schema_name(new.id, target.root.branch), schema_file.encode(new))
        except AlreadyExistsError:
            continue  # somebody changed the schema: look at theirs
        return new


def _try_rescale(target: Target, predicate: Predicate) -> Commit | None:
    """One attempt; None when it has to be done again on a newer snapshot."""
    snapshot = history.find_latest(target.root)
    live = entries.read_live(target.root, snapshot)
    inside = scan.partitions_match(live["partition"], predicate, target.schema)
    inside &= live["total_buckets"].to_numpy() != BUCKET.of(target.schema.options)
    gone = live.filter(pa.array(inside))
    if gone.num_rows == 0:
        return Commit()
    edit = _written(target, snapshot, gone)
    try:
        return commits.commit(target, Change(append=edit), commits.new_author(target))
    except CommitUnknownError:
        raise  # the files may be in the table
    except ConflictError:
        discard(target.root.storage, target.schema, edit)
        return None
    except PolynyaError:
        discard(target.root.storage, target.schema, edit)
        raise


def _written(target: Target, snapshot: Snapshot | None, gone: pa.Table) -> Edit:
    """The rows of these partitions in new files, and what that changes."""
    schema = target.schema
    partitions = pc.unique(gone["partition"])
    spec = WriteSpec(target.root.storage, schema, BucketState(BUCKET.of(schema.options)))
    writer = TableWriter(spec, target.surroundings.new_uuid)
    plan, reader = plan_rows(target, snapshot, bind.bind(_predicate({}), schema.fields))
    mine = plan.files.filter(pc.is_in(plan.files["partition"], partitions))
    with ExitStack() as unless_written:
        unless_written.callback(writer.abort)
        if mine.num_rows:
            for batch in read.read_plan(reader, replace(plan, files=mine)):
                writer.write(batch)
        added = writer.finish()
        unless_written.pop_all()
    if schema.primary_key:
        added = upgraded(added, schema)
    index = entries.read_index(target.root, snapshot)
    index = index.filter(pc.is_in(index["partition"], partitions))
    return Edit(pa.concat_tables([with_kind(gone, DELETE), added]), index=with_kind(index, DELETE))
