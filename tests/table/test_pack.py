"""Merging manifests: the decisions of a plain model, and the same live files before and after."""

import dataclasses
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commit_cases import append_of, author, deleted, files_of, latest, new_file, new_target, table_schema
from fault_storage import FaultPlan, FaultStorage
from polynya.codec.avro import decode_container
from polynya.errors import CorruptFileError
from polynya.paimon import manifest, manifest_list
from polynya.paimon.snapshot import CommitKind
from polynya.table import entries, pack
from polynya.table.commit import Commit, commit, compact_manifests
from polynya.table.commit_options import CommitOptions
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter


def writer_of(target, **options):
    writer = ManifestWriter(target.root.storage, target.schema, str(uuid.uuid4()))
    writer.options = dataclasses.replace(writer.options, **options)
    return writer


def live(root, metas):
    found = entries.fold(entries.read_entries(root, metas))
    return sorted(
        zip(found["partition"].to_pylist(), found["level"].to_pylist(), found["file_name"].to_pylist(), strict=True)
    )


# The decisions


def model_of_minor(sizes, target_size, count_min):
    """Groups as the format describes them: one pass, one candidate list."""
    groups, candidates = [], []
    for index in range(len(sizes)):
        candidates.append(index)
        if sum(sizes[one] for one in candidates) >= target_size:
            groups.append((candidates, len(candidates) > 1))
            candidates = []
    if candidates:
        groups.append((candidates, len(candidates) >= count_min and len(candidates) > 1))
    return groups


@given(st.lists(st.integers(1, 20), max_size=30), st.integers(1, 40), st.integers(0, 8))
def test_minor_groups_are_those_of_the_model(sizes, target_size, count_min):
    options = dataclasses.replace(CommitOptions.of({}), manifest_size_bytes=target_size, merge_count_min=count_min)
    found = list(pack.minor_groups(np.array(sizes, np.int64), options))
    assert [(list(range(start, start + count)), merges) for start, count, merges in found] == model_of_minor(
        sizes, target_size, count_min
    )


#: A table's life: each step adds files and takes some of the live ones back, in some partitions.
LIVES = st.lists(
    st.tuples(
        st.lists(st.sampled_from([1, 2, 3, None]), max_size=3), st.integers(0, 2), st.randoms(use_true_random=False)
    ),
    min_size=1,
    max_size=7,
)


def manifests_of(writer, life):
    """One manifest a step, as commits leave them behind, and the files that are live in the end."""
    metas, alive, count = [], [], 0
    for partitions, gone_count, random in life:
        gone = random.sample(alive, min(gone_count, len(alive)))
        new = [new_file(f"f{count + index}", p, level=index % 3) for index, p in enumerate(partitions)]
        count += len(new)
        alive = [one for one in alive if one not in gone] + new
        if new or gone:
            metas.append(writer.write_manifests(files_of(*new, *map(deleted, gone))))
    expected = sorted((one["partition"], one["level"], one["file_name"]) for one in alive)
    return pa.concat_tables(metas) if metas else manifest_list.empty(), expected


@settings(max_examples=40)
@given(LIVES, st.sampled_from([0, 700, 2000, 10**6]), st.sampled_from([0, 1, 1500, 10**9]), st.integers(1, 4))
def test_merging_keeps_the_live_files(life, target_size, full_size, count_min):
    target = new_target()
    writer = writer_of(
        target, manifest_size_bytes=max(1, target_size), full_merge_size_bytes=full_size, merge_count_min=count_min
    )
    before, expected = manifests_of(writer, life)
    after = pack.merge(target.root, before, writer, target.schema)
    assert live(target.root, after) == live(target.root, before) == expected
    counted = entries.read_entries(target.root, after)
    assert counted.num_rows == sum(after["num_added_files"].to_pylist()) + sum(after["num_deleted_files"].to_pylist())


@settings(max_examples=25)
@given(LIVES)
def test_a_full_merge_leaves_no_delete_and_a_minor_one_no_pair(life):
    target = new_target()
    writer = writer_of(target, full_merge_size_bytes=0)
    before, expected = manifests_of(writer, life)
    full = pack.merge(target.root, before, writer, target.schema)
    if before.num_rows > 1:
        assert sum(full["num_deleted_files"].to_pylist()) == 0
    minor = pack.merge(target.root, before, writer_of(target, merge_count_min=1), target.schema)
    assert live(target.root, full) == live(target.root, minor) == expected


@settings(max_examples=25)
@given(LIVES)
def test_repacking_keeps_the_live_files_in_order(life):
    target = new_target()
    before, expected = manifests_of(writer_of(target), life)
    after = pack.repack(target.root, before, writer_of(target), target.schema)
    assert live(target.root, after) == expected


def test_an_unmatched_delete_survives_a_minor_merge():
    target = new_target()
    writer = writer_of(target, merge_count_min=2, manifest_size_bytes=900)
    first = writer.write_manifests(files_of(*(new_file(f"a{n}") for n in range(200))))
    rest = [writer.write_manifests(files_of(deleted(new_file("a7")))), writer.write_manifests(files_of(new_file("b")))]
    before = pa.concat_tables([first.slice(first.num_rows - 1), *rest])
    merged = pack.merge(target.root, pa.concat_tables(rest), writer, target.schema)
    kinds = entries.read_entries(target.root, merged)["kind"].to_pylist()
    assert sorted(kinds) == [0, 1]
    assert before.num_rows == 3


def test_big_manifests_that_no_delete_touches_are_kept_as_they_are():
    target = new_target()
    writer = writer_of(target, manifest_size_bytes=600, full_merge_size_bytes=1)
    big = [writer.write_manifests(files_of(*(new_file(f"{p}-{n}", p) for n in range(40)))) for p in (1, 2)]
    change = writer.write_manifests(files_of(deleted(new_file("1-3", 1))))
    before = pa.concat_tables([*big, change])
    after = pack.merge(target.root, before, writer, target.schema)
    kept = set(after["file_name"].to_pylist()) & set(before["file_name"].to_pylist())
    assert kept == set(big[1]["file_name"].to_pylist())


def test_an_unpartitioned_big_manifest_without_the_deleted_file_is_kept():
    target = new_target(schema=table_schema(partition_by=()))
    row = {"partition": entries.EMPTY_ROW}
    writer = writer_of(target, manifest_size_bytes=600, full_merge_size_bytes=1)
    big = [writer.write_manifests(files_of(*(new_file(f"{b}-{n}", **row) for n in range(40)))) for b in "ab"]
    before = pa.concat_tables([*big, writer.write_manifests(files_of(deleted(new_file("a-3", **row))))])
    after = pack.merge(target.root, before, writer, target.schema)
    assert set(big[1]["file_name"].to_pylist()) <= set(after["file_name"].to_pylist())
    assert len(live(target.root, after)) == 79


# By commits


def grow(target, count, start=0):
    for number in range(start, start + count):
        commit(target, append_of(new_file(f"f{number}", number % 3)), author(f"u{number}"))


def test_thirty_small_manifests_are_merged_into_one():
    target = new_target()
    grow(target, 32)
    base = entries.read_lists(target.root, [latest(target).base_manifest_list])
    assert base.num_rows <= 2
    assert len(live(target.root, entries.read_metas(target.root, latest(target)))) == 32


def test_manifests_stay_few_however_long_the_history():
    target = new_target(schema=table_schema(options={"manifest.merge-min-count": "4"}))
    counts = []
    for number in range(20):
        grow(target, 1, start=number)
        counts.append(entries.read_metas(target.root, latest(target)).num_rows)
    assert max(counts) <= 5


def test_compact_manifests_sorts_by_partition_and_keeps_the_files():
    target = new_target()
    grow(target, 7)
    before = live(target.root, entries.read_metas(target.root, latest(target)))
    made = compact_manifests(target, author("packer"))
    assert (made.snapshot_id, made.commit_kind, made.record_count) == (8, CommitKind.COMPACT, 0)
    metas = entries.read_metas(target.root, latest(target))
    assert metas.num_rows == 1
    assert live(target.root, metas) == before
    order = entries.read_entries(target.root, metas)["file_name"].to_pylist()
    assert order == ["f0", "f3", "f6", "f1", "f4", "f2", "f5"]
    assert latest(target).total_record_count == 7


def test_compact_manifests_splits_at_the_target_size():
    target = new_target(schema=table_schema(options={"manifest.target-file-size": "2 kb"}))
    commit(target, append_of(*(new_file(f"f{n}", n % 5) for n in range(2500))), author("a"))
    grow(target, 1, start=1000)
    compact_manifests(target, author("packer"))
    metas = entries.read_metas(target.root, latest(target))
    assert metas.num_rows > 2
    assert metas["num_added_files"].to_pylist() == [1000, 1000, 501]


def test_compact_manifests_of_a_packed_table_makes_no_snapshot():
    target = new_target()
    assert compact_manifests(target, author("a")) == Commit()
    grow(target, 1)
    assert compact_manifests(target, author("b")) == Commit()


def test_a_dry_run_tells_and_changes_nothing():
    target = new_target()
    grow(target, 5)
    commit(target, append_of(deleted(new_file("f0", 0)), new_file("g", 0)), author("x"))
    report = pack.plan_repack(target.root, entries.read_metas(target.root, latest(target)), target.schema)
    assert (report.manifest_count, report.manifest_count_after) == (6, 1)
    assert (report.entry_count, report.entry_count_after) == (7, 5)
    assert latest(target).id == 6


class Rival(FaultStorage):
    def __init__(self, inner, *acts):
        super().__init__(inner, FaultPlan())
        self.acts = list(acts)

    def put_new(self, name, data):
        if self.acts:
            self.acts.pop(0)()
        super().put_new(name, data)


@pytest.mark.parametrize("merge_count", ["30", "2"], ids=["an append", "an append that merged too"])
def test_compact_manifests_survives(merge_count):
    target = new_target(schema=table_schema(options={"manifest.merge-min-count": merge_count}))
    grow(target, 4)
    rival = lambda: commit(target, append_of(new_file("late", 1)), author("rival"))  # noqa: E731
    raced = dataclasses.replace(target, root=TableRoot(Rival(target.root.storage, rival)))
    assert compact_manifests(raced, author("packer")).snapshot_id == 6
    names = [one[2] for one in live(target.root, entries.read_metas(target.root, latest(target)))]
    assert sorted(names) == ["f0", "f1", "f2", "f3", "late"]
    assert entries.read_lists(target.root, [latest(target).base_manifest_list]).num_rows <= 2


def test_blocks_of_another_codec_are_encoded_again():
    target = new_target()
    deflate = writer_of(target, manifest_codec="deflate")
    zstd = writer_of(target, merge_count_min=2)
    before = pa.concat_tables(
        [deflate.write_manifests(files_of(new_file("a"))), zstd.write_manifests(files_of(new_file("b")))]
    )
    after = pack.merge(target.root, before, zstd, target.schema)
    assert [one[2] for one in live(target.root, after)] == ["a", "b"]


BLOCK_ENDS = (0, 1, 2, 471, 472, 473, 943, 944, 1198, 1199)


@pytest.mark.parametrize("seed", range(4))
def test_entries_are_cut_out_of_manifests_of_many_blocks(seed):
    """Whatever goes: the first and last of a block, neighbours, all of one; also names that a block has twice."""
    target = new_target()
    writer = writer_of(target, full_merge_size_bytes=1)
    random = np.random.default_rng(seed)
    files = [new_file(f"f{n % 1190}", p=n // 1190 + n % 2, level=n % 3) for n in range(1200)]
    gone = np.unique(np.concatenate([random.choice(1200, 30, replace=False), random.choice(BLOCK_ENDS, 5)]))
    taken_back = files_of(*(deleted(files[n]) for n in gone.tolist()))
    before = pa.concat_tables([*map(writer.write_manifests, (files_of(*files), taken_back))])
    containers = [
        decode_container(entries.source_of(target.root.storage, name)) for name in before["file_name"].to_pylist()
    ]
    assert len(containers[0].blocks) > 2
    after = pack.merge(target.root, before, writer, target.schema)
    kept = entries.fold(entries.read_entries(target.root, before))
    found = entries.read_entries(target.root, after)
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, kept.to_pylist()))
    for name, size, *_ in zip(after["file_name"].to_pylist(), after["file_size"].to_pylist(), strict=True):
        own = after.filter(pc.equal(after["file_name"], name))
        said = manifest.meta_of(entries.read_entries(target.root, own), name, size, [pa.int32()])
        assert own.to_pylist() == said.to_pylist()


@pytest.mark.parametrize("has_row_ids", [False, True])
def test_what_a_list_says_of_joined_manifests_is_what_their_entries_say(has_row_ids):
    target = new_target()
    writer = writer_of(target, merge_count_min=2)
    ids = [{"first_row_id": 10 * n} if has_row_ids else {} for n in range(60)]
    manifests = [
        files_of(
            new_file(f"a{n}", p=None if n % 7 == 0 else n - 20, level=n % 4, bucket=n % 5, schema_id=n % 3, **ids[n]),
            new_file(f"b{n}", p=n, **ids[n]),
        )
        for n in range(60)
    ]
    before = pa.concat_tables([writer.write_manifests(one) for one in manifests])
    after = pack.merge(target.root, before, writer, target.schema)
    assert after.num_rows == 1
    found = entries.read_entries(target.root, after)
    assert found.equals(pa.concat_tables(manifests))
    name, size = after["file_name"][0].as_py(), after["file_size"][0].as_py()
    assert after.equals(manifest.meta_of(found, name, size, [pa.int32()]))


def test_small_commits_leave_few_blocks():
    target = new_target()
    for n in range(125):
        commit(target, append_of(new_file(f"f{n}")), author())
    metas = entries.read_metas(target.root, latest(target))
    containers = [
        decode_container(entries.source_of(target.root.storage, name)) for name in metas["file_name"].to_pylist()
    ]
    assert len(containers[0].blocks) <= 2
    assert sum(one.record_count for one in containers) == 125


def test_a_manifest_that_holds_less_than_its_list_says_is_not_joined():
    target = new_target()
    writer = writer_of(target, merge_count_min=2)
    before = pa.concat_tables([writer.write_manifests(files_of(new_file(f"f{n}"))) for n in range(3)])
    counts = pa.array([1, 2, 1], before["num_added_files"].type)
    wrong = before.set_column(before.schema.get_field_index("num_added_files"), "num_added_files", counts)
    with pytest.raises(CorruptFileError, match="expected 2 entries, as its list says, found 1"):
        pack.merge(target.root, wrong, writer, target.schema)
