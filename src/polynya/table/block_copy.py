"""Rewriting manifests without encoding their entries again.

A manifest is a sequence of compressed blocks of entries. A few narrow columns tell which entries stay. A block that
stays whole is copied as it is. From the others the bytes of the entries that go are cut out: an entry begins with its
kind, partition, bucket and file name, which are known, so the place of the few that matter is found by searching for
their first bytes. What cannot be cut (another writer's schema, one file name twice in a block) is decoded and encoded
again, behind the rest. The entries of a snapshot have no order, so this changes nothing but where they stand.

Many small commits leave many small blocks; neighbours of these become one, or reading would cost by the block. And
where nothing is deleted and all fits into one manifest, no entry is looked at: what a list says of the new manifest
follows from what it said of the old ones. So the merges of a long history of appends cost a copy of some bytes.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Block, Container, decode_container, encode_container
from polynya.codec.avro_block_index import encode_index
from polynya.codec.avro_codecs import compress
from polynya.errors import CorruptFileError
from polynya.paimon import manifest, manifest_list
from polynya.table import entries
from polynya.table.commit_options import CommitOptions
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter

HEAD = ("kind", "partition", "bucket", "total_buckets", "file_name")
LISTED = ("kind", "partition", "bucket", "level", "schema_id", "row_count", "first_row_id")  # a list says of these
NARROW = (*HEAD, *entries.IDENTITY, *LISTED)

JOINED = ("file_name", "file_size", "num_added_files")

BATCH_ENTRIES = 20_000  # fewer are decoded one by one
SMALL_ENTRIES, SMALL_BYTES = 100, 16 * 2**10  # a block below both may be put together with its neighbours

Mask = npt.NDArray[np.bool_]
_ContainerBlock: TypeAlias = tuple[Container, Block]


def copy_manifests(
    root: TableRoot, metas: pa.Table, writer: ManifestWriter, deleted: pa.Table, *, keeps_deletes: bool
) -> pa.Table:
    """Write the entries of the manifests anew, less the ADD entries that `deleted` takes back.

    DELETE entries go too, but for those (where `keeps_deletes`) whose ADD entry is in none of these manifests.
    """
    if not deleted.num_rows and (joined := _joined(root, metas, writer)) is not None:
        return joined
    blocks = _blocks(root, metas)
    rolled, others = _RolledBlocks(writer), []
    # A lone DELETE is known as such only when all entries are seen; otherwise memory need not follow their number.
    for batch in [list(blocks)] if keeps_deletes else _batches(blocks):
        others += _copy_batch(batch, rolled, deleted, keeps_deletes=keeps_deletes)
        pa.default_memory_pool().release_unused()  # or the peak follows the number of batches
    return pa.concat_tables([rolled.finish(), _write_anew(others, writer)])


def _joined(root: TableRoot, metas: pa.Table, writer: ManifestWriter) -> pa.Table | None:
    """One manifest of all blocks as they are; None where an entry must be looked at, or one manifest is too small."""
    options = writer.options
    if pc.sum(metas["file_size"]).as_py() > options.manifest_size_bytes or not manifest.can_merge_metas(metas):
        return None
    blocks: list[Block] = []
    for name, size, count in zip(*(metas[one].to_pylist() for one in JOINED), strict=True):
        container = decode_container(entries.source_of(root.storage, name, size))
        if container.record_count != count:
            raise CorruptFileError(
                f"'{name}': expected {count} entries, as its list says, found {container.record_count}"
            )
        if (container.schema_text, container.codec) != (manifest.SCHEMA_TEXT, options.manifest_codec):
            return None
        blocks += container.blocks
    data = encode_container(manifest.SCHEMA_TEXT, options.manifest_codec, _gathered(blocks, options))
    return writer.put_merged(data, metas)


def _gathered(blocks: Iterable[Block], options: CommitOptions) -> Iterator[Block]:
    """The blocks, small neighbours put together."""
    for is_small, group in groupby(blocks, lambda one: one.count < SMALL_ENTRIES and len(one.data) < SMALL_BYTES):
        waiting: list[Block] = []
        for block in group:
            waiting.append(block)
            if not is_small or sum(one.count for one in waiting) >= SMALL_ENTRIES:
                yield _one_block(waiting, options)
                waiting = []
        if waiting:
            yield _one_block(waiting, options)


def _one_block(blocks: list[Block], options: CommitOptions) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    container = Container("manifest", manifest.SCHEMA_TEXT, options.manifest_codec, ())
    records = b"".join(container.records(block) for block in blocks)
    data = compress(options.manifest_codec, records, options.manifest_zstd_level)
    return Block(sum(block.count for block in blocks), data)


@dataclass(frozen=True)
class _Piece:
    """A block of one of the manifests, which of its entries stay, and what a list says of those.

    `heads` are the first bytes of the entries where a cut begins or ends, by position; None where they are not unique.
    """

    container: Container
    block: Block
    keep: Mask
    listed: pa.Table
    heads: dict[int, bytes] | None


def _kept(found: pa.Table, deleted: pa.Table, *, keeps_deletes: bool) -> Mask:
    is_delete: Mask = np.asarray(pc.equal(found["kind"], entries.DELETE))
    if not deleted.num_rows:
        return ~is_delete
    keep: Mask = ~is_delete & ~np.asarray(entries.is_same(found, deleted))
    if keeps_deletes:
        lone = found.filter(pa.array(is_delete))
        has_add = np.asarray(entries.is_same(lone, found.filter(pa.array(~is_delete))))
        keep[np.flatnonzero(is_delete)[~has_add]] = True
    return keep


def _blocks(root: TableRoot, metas: pa.Table) -> Iterator[_ContainerBlock]:
    for one in zip(metas["file_name"].to_pylist(), metas["file_size"].to_pylist(), strict=True):
        container = decode_container(entries.source_of(root.storage, *one))
        yield from ((container, block) for block in container.blocks)


def _batches(blocks: Iterable[_ContainerBlock]) -> Iterator[list[_ContainerBlock]]:
    batch: list[_ContainerBlock] = []
    for one in blocks:
        batch.append(one)
        if sum(block.count for _, block in batch) >= BATCH_ENTRIES:
            yield batch
            batch = []
    if batch:
        yield batch


def _copy_batch(
    blocks: list[_ContainerBlock], rolled: "_RolledBlocks", deleted: pa.Table, *, keeps_deletes: bool
) -> list[_Piece]:
    """Add what stays of the blocks to `rolled`; return the pieces that cannot be cut."""
    pieces = _pieces(blocks, deleted, keeps_deletes=keeps_deletes)
    others = []
    for piece, block in zip(pieces, _thin_all(pieces, rolled.options), strict=True):
        if block is None:
            others.append(piece)
        else:
            rolled.add(block, piece.listed)
    return others


def _pieces(blocks: list[_ContainerBlock], deleted: pa.Table, *, keeps_deletes: bool) -> list[_Piece]:
    """The blocks that have an entry to keep."""
    columns = [name for name in manifest.SCHEMA.names if name in NARROW]
    narrow = manifest.decode(_sources(blocks), columns).combine_chunks()
    keep = _kept(narrow, deleted, keeps_deletes=keeps_deletes)
    listed = narrow.select(LISTED).filter(pa.array(keep))
    ends = np.cumsum([block.count for _, block in blocks], dtype=np.int64)
    heads = _heads(narrow, keep, ends)
    pieces, start, kept_start = [], 0, 0
    for index, ((container, block), end) in enumerate(zip(blocks, ends.tolist(), strict=True)):
        own = keep[start:end]
        kept_count = int(np.count_nonzero(own))
        if kept_count:
            pieces.append(_Piece(container, block, own, listed.slice(kept_start, kept_count), heads.get(index, {})))
        start, kept_start = end, kept_start + kept_count
    return pieces


def _heads(narrow: pa.Table, keep: Mask, ends: npt.NDArray[np.int64]) -> dict[int, dict[int, bytes] | None]:
    """The heads of each block that has entries to cut out: of those, and of the ones that follow them."""
    gone = np.flatnonzero(~keep)
    edges = np.unique(np.concatenate((gone, gone + 1)))
    edges = edges[edges < len(keep)]
    owners = np.searchsorted(ends, edges, side="right")
    codes = np.asarray(narrow["file_name"].combine_chunks().dictionary_encode().indices)
    blocks = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    order = np.lexsort((codes, blocks))
    twice = (np.diff(codes[order]) == 0) & (np.diff(blocks[order]) == 0)
    heads: dict[int, dict[int, bytes] | None] = dict.fromkeys(np.unique(blocks[order][1:][twice]).tolist())
    starts = (edges - np.concatenate(([0], ends))[owners]).tolist()
    rows = narrow.select(HEAD).take(pa.array(edges)).to_pylist()
    for owner, start, row in zip(owners.tolist(), starts, rows, strict=True):
        found = heads.setdefault(owner, {})
        if found is not None:
            found[start] = manifest.record_head(**row)
    return heads


def _thin_all(pieces: list[_Piece], options: CommitOptions) -> list[Block | None]:
    workers = os.cpu_count() or 1
    share = -(-len(pieces) // workers) or 1
    shares = [pieces[start : start + share] for start in range(0, len(pieces), share)]
    with ThreadPoolExecutor(workers) as pool:
        done = pool.map(lambda some: [_thinned(piece, options) for piece in some], shares)
        return [block for some in done for block in some]


def _thinned(piece: _Piece, options: CommitOptions) -> Block | None:
    """The block without the entries that go; None where they cannot be cut out."""
    if piece.container.schema_text != manifest.SCHEMA_TEXT:
        return None
    is_whole = bool(piece.keep.all())
    if is_whole and piece.container.codec == options.manifest_codec:
        return Block(piece.block.count, bytes(piece.block.data))  # else it would hold its whole manifest in memory
    records = bytes(piece.container.records(piece.block))
    if not is_whole:
        cut = _cut(records, piece.keep, piece.heads) if piece.heads is not None else None
        if cut is None:
            return None
        records = cut
    data = compress(options.manifest_codec, records, options.manifest_zstd_level)
    return Block(piece.listed.num_rows, data)


def _cut(records: bytes, keep: Mask, heads: dict[int, bytes]) -> bytes | None:
    """The records that stay; None when a record's place is not certain."""
    starts, position = {len(keep): len(records)}, 0
    for edge, head in heads.items():
        position = records.find(head, position)
        if position < 0:
            return None
        starts[edge] = position
    pieces, position = [], 0
    for row in np.flatnonzero(~keep).tolist():
        pieces.append(records[position : starts[row]])
        position = starts[row + 1]
    return b"".join((*pieces, records[position:]))


class _RolledBlocks:
    """Writes finished blocks into manifests, a new one whenever the target size is reached."""

    def __init__(self, writer: ManifestWriter) -> None:
        self.options = writer.options
        self._writer = writer
        self._metas = [manifest_list.empty()]
        self._blocks: list[Block] = []
        self._rows: list[pa.Table] = []
        self._size_bytes = 0

    def add(self, block: Block, listed: pa.Table) -> None:
        """Take a block and what a list says of its entries."""
        self._blocks.append(block)
        self._rows.append(listed)
        self._size_bytes += len(block.data)
        if self._size_bytes >= self.options.manifest_size_bytes:
            self._write()

    def finish(self) -> pa.Table:
        """What a list says of the manifests."""
        if self._blocks:
            self._write()
        return pa.concat_tables(self._metas)

    def _write(self) -> None:
        blocks, listed = list(_gathered(self._blocks, self.options)), pa.concat_tables(self._rows)
        index = encode_index(listed["partition"].combine_chunks(), blocks)
        data = encode_container(manifest.SCHEMA_TEXT, self.options.manifest_codec, blocks, index)
        self._metas.append(self._writer.put_manifest(data, listed))
        self._blocks, self._rows, self._size_bytes = [], [], 0


def _write_anew(pieces: list[_Piece], writer: ManifestWriter) -> pa.Table:
    """Manifests of what is kept of the other blocks."""
    if not pieces:
        return manifest_list.empty()
    found = manifest.decode(_sources([(piece.container, piece.block) for piece in pieces]))
    kept = np.concatenate([piece.keep for piece in pieces])
    return writer.write_manifests(found.filter(pa.array(kept)))


def _sources(blocks: Iterable[_ContainerBlock]) -> list[AvroSource]:
    """Containers of these blocks alone, one for each that they come from."""
    by_container = groupby(blocks, key=lambda one: id(one[0]))
    groups = [list(group) for _, group in by_container]
    return [_source(group[0][0], [block for _, block in group]) for group in groups]


def _source(container: Container, blocks: list[Block]) -> AvroSource:
    return AvroSource(container.name, encode_container(container.schema_text, container.codec, blocks))
