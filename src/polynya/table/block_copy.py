"""Rewriting manifests without encoding their entries again.

A manifest is a sequence of compressed blocks of entries. A few narrow columns tell which entries stay. A block that
stays whole is copied as it is. From the others the bytes of the entries that go are cut out: an entry begins with its
kind, partition, bucket and file name, which are known, so the place of the few that matter is found by searching for
their first bytes. What cannot be cut (another writer's schema, one file name twice in a block) is decoded and encoded
again, behind the rest. The entries of a snapshot have no order, so this changes nothing but where they stand.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Block, Container, decode_container, encode_container
from polynya.codec.avro_codecs import compress
from polynya.paimon import manifest, manifest_list
from polynya.table import entries
from polynya.table.commit_options import CommitOptions
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter

HEAD = ("kind", "partition", "bucket", "total_buckets", "file_name")
LISTED = ("kind", "partition", "bucket", "level", "schema_id", "row_count", "first_row_id")  # a list says of these
NARROW = (*HEAD, *entries.IDENTITY, *LISTED)

BATCH_ENTRIES = 20_000  # fewer are decoded one by one

Mask = npt.NDArray[np.bool_]
_ContainerBlock: TypeAlias = tuple[Container, Block]


def copy_manifests(
    root: TableRoot, metas: pa.Table, writer: ManifestWriter, deleted: pa.Table, *, keeps_deletes: bool
) -> pa.Table:
    """Write the entries of the manifests anew, less the ADD entries that `deleted` takes back.

    DELETE entries go too, but for those (where `keeps_deletes`) whose ADD entry is in none of these manifests.
    """
    blocks = _blocks(root, metas)
    rolled, others = _RolledBlocks(writer), []
    # A lone DELETE is known as such only when all entries are seen; otherwise memory need not follow their number.
    for batch in [list(blocks)] if keeps_deletes else _batches(blocks):
        others += _copy_batch(batch, rolled, deleted, keeps_deletes=keeps_deletes)
        pa.default_memory_pool().release_unused()  # or the peak follows the number of batches
    return pa.concat_tables([rolled.finish(), _write_anew(others, writer)])


@dataclass(frozen=True)
class _Piece:
    """A block of one of the manifests, the narrow columns of its entries, and which of them stay."""

    container: Container
    block: Block
    rows: pa.Table
    keep: Mask

    @property
    def is_whole(self) -> bool:
        return bool(self.keep.all())

    @property
    def kept_rows(self) -> pa.Table:
        return self.rows if self.is_whole else self.rows.filter(pa.array(self.keep))


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
            rolled.add(block, piece.kept_rows)
    return others


def _pieces(blocks: list[_ContainerBlock], deleted: pa.Table, *, keeps_deletes: bool) -> list[_Piece]:
    """The blocks that have an entry to keep."""
    columns = [name for name in manifest.SCHEMA.names if name in NARROW]
    narrow = manifest.decode([_source(*one) for one in blocks], columns).combine_chunks()
    keep = _kept(narrow, deleted, keeps_deletes=keeps_deletes)
    pieces, start = [], 0
    for container, block in blocks:
        kept = keep[start : start + block.count]
        if kept.any():
            pieces.append(_Piece(container, block, narrow.slice(start, block.count), kept))
        start += block.count
    return pieces


def _thin_all(pieces: list[_Piece], options: CommitOptions) -> list[Block | None]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda piece: _thinned(piece, options), pieces))


def _thinned(piece: _Piece, options: CommitOptions) -> Block | None:
    """The block without the entries that go; None where they cannot be cut out."""
    if piece.container.schema_text != manifest.SCHEMA_TEXT:
        return None
    if piece.is_whole and piece.container.codec == options.manifest_codec:
        return piece.block
    records = _cut(bytes(piece.container.records(piece.block)), piece.rows, piece.keep)
    if records is None:
        return None
    data = compress(options.manifest_codec, records, options.manifest_zstd_level)
    return Block(int(piece.keep.sum()), data)


def _cut(records: bytes, rows: pa.Table, keep: Mask) -> bytes | None:
    """The records that stay; None when a record's place is not certain."""
    gone = np.flatnonzero(~keep)
    if len(gone) and len(pc.unique(rows["file_name"])) < rows.num_rows:
        return None
    edges = np.unique(np.concatenate((gone, gone + 1)))
    edges = edges[edges < len(keep)]
    starts, position = {len(keep): len(records)}, 0
    for edge, head in zip(edges.tolist(), rows.select(HEAD).take(pa.array(edges)).to_pylist(), strict=True):
        position = records.find(manifest.record_head(**head), position)
        if position < 0:
            return None
        starts[edge] = position
    pieces, position = [], 0
    for row in gone.tolist():
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

    def add(self, block: Block, rows: pa.Table) -> None:
        """Take a block and the narrow columns of its entries."""
        self._blocks.append(block)
        self._rows.append(rows.select(LISTED))
        self._size_bytes += len(block.data)
        if self._size_bytes >= self.options.manifest_size_bytes:
            self._write()

    def finish(self) -> pa.Table:
        """What a list says of the manifests."""
        if self._blocks:
            self._write()
        return pa.concat_tables(self._metas)

    def _write(self) -> None:
        data = encode_container(manifest.SCHEMA_TEXT, self.options.manifest_codec, self._blocks)
        self._metas.append(self._writer.put_manifest(data, pa.concat_tables(self._rows)))
        self._blocks, self._rows, self._size_bytes = [], [], 0


def _write_anew(pieces: list[_Piece], writer: ManifestWriter) -> pa.Table:
    """Manifests of what is kept of the other blocks."""
    if not pieces:
        return manifest_list.empty()
    found = manifest.decode([_source(piece.container, piece.block) for piece in pieces])
    kept = np.concatenate([piece.keep for piece in pieces])
    return writer.write_manifests(found.filter(pa.array(kept)))


def _source(container: Container, block: Block) -> AvroSource:
    """A container of one block alone."""
    return AvroSource(container.name, encode_container(container.schema_text, container.codec, [block]))
