"""Rewriting manifests without encoding their entries again.

A manifest is a sequence of compressed blocks of entries. A few narrow columns tell which entries stay. A block that
stays whole is copied as it is. From the others the bytes of the entries that go are cut out: an entry begins with its
kind, partition, bucket and file name, which are known, so the place of the few that matter is found by searching for
their first bytes. What cannot be cut (another writer's schema, one file name twice in a block) is decoded and encoded
again, behind the rest. The entries of a snapshot have no order, so this changes nothing but where they stand.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

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
NARROW = (*HEAD, *entries.IDENTITY, "schema_id", "row_count", "first_row_id")

Mask = npt.NDArray[np.bool_]


def copy_manifests(
    root: TableRoot, metas: pa.Table, writer: ManifestWriter, deleted: pa.Table, *, keeps_deletes: bool
) -> pa.Table:
    """Write the entries of the manifests anew, less the ADD entries that `deleted` takes back.

    DELETE entries go too, but for those (where `keeps_deletes`) whose ADD entry is in none of these manifests.
    """
    names, sizes = metas["file_name"].to_pylist(), metas["file_size"].to_pylist()
    sources = [entries.source_of(root.storage, *one) for one in zip(names, sizes, strict=True)]
    narrow = manifest.decode(sources, [name for name in manifest.SCHEMA.names if name in NARROW]).combine_chunks()
    keep = _kept(narrow, deleted, keeps_deletes=keeps_deletes)
    pieces = list(_pieces([decode_container(source) for source in sources], narrow, keep))
    with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1) or 1) as pool:
        blocks = list(pool.map(lambda piece: _thinned(piece, writer.options), pieces))
    cut = [(block, piece) for block, piece in zip(blocks, pieces, strict=True) if block is not None]
    others = [piece for block, piece in zip(blocks, pieces, strict=True) if block is None]
    return pa.concat_tables([_write_blocks(cut, writer), _write_anew(others, writer)])


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


def _pieces(containers: list[Container], narrow: pa.Table, keep: Mask) -> Iterator[_Piece]:
    """The blocks that have an entry to keep."""
    start = 0
    for container in containers:
        for block in container.blocks:
            kept = keep[start : start + block.count]
            if kept.any():
                yield _Piece(container, block, narrow.slice(start, block.count), kept)
            start += block.count


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


def _write_blocks(cut: list[tuple[Block, _Piece]], writer: ManifestWriter) -> pa.Table:
    """Manifests of finished blocks, rolled at the target size."""
    metas = [manifest_list.empty()]
    for group in _rolled(cut, writer.options.manifest_size_bytes):
        data = encode_container(manifest.SCHEMA_TEXT, writer.options.manifest_codec, [block for block, _ in group])
        metas.append(writer.put_manifest(data, pa.concat_tables([piece.kept_rows for _, piece in group])))
    return pa.concat_tables(metas)


def _rolled(cut: list[tuple[Block, _Piece]], size_bytes: int) -> Iterator[list[tuple[Block, _Piece]]]:
    group: list[tuple[Block, _Piece]] = []
    collected = 0
    for one in cut:
        group.append(one)
        collected += len(one[0].data)
        if collected >= size_bytes:
            yield group
            group, collected = [], 0
    if group:
        yield group


def _write_anew(pieces: list[_Piece], writer: ManifestWriter) -> pa.Table:
    """Manifests of what is kept of the other blocks."""
    if not pieces:
        return manifest_list.empty()
    found = manifest.decode([_source(piece) for piece in pieces])
    kept = np.concatenate([piece.keep for piece in pieces])
    return writer.write_manifests(found.filter(pa.array(kept)))


def _source(piece: _Piece) -> AvroSource:
    """A container of one block alone."""
    container = piece.container
    return AvroSource(container.name, encode_container(container.schema_text, container.codec, [piece.block]))
