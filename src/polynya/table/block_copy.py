"""Rewriting manifests with their clean blocks copied as they are.

A manifest is a sequence of compressed blocks of entries. A block whose entries all stay is copied without decoding it
as a whole (a few narrow columns tell that it is clean); the blocks that hold a DELETE entry, or an ADD entry that is
taken back, are decoded, thinned out and encoded again, behind the copied ones. The entries of a snapshot have no order,
so this changes nothing but where they stand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Block, Container, decode_container, encode_container
from polynya.paimon import manifest, manifest_list
from polynya.table import entries
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter

NARROW = ("kind", *entries.IDENTITY, "schema_id", "row_count", "first_row_id")

Mask = npt.NDArray[np.bool_]


def copy_manifests(
    root: TableRoot, metas: pa.Table, writer: ManifestWriter, deleted: pa.Table, *, keeps_deletes: bool
) -> pa.Table:
    """Write the entries of the manifests anew, less the ADD entries that `deleted` takes back.

    DELETE entries go too, but for those (where `keeps_deletes`) whose ADD entry is in none of these manifests.
    """
    names, sizes = metas["file_name"].to_pylist(), metas["file_size"].to_pylist()
    sources = [entries.source_of(root.storage, *one) for one in zip(names, sizes, strict=True)]
    narrow = manifest.decode(sources, [name for name in manifest.SCHEMA.names if name in NARROW])
    keep = _kept(narrow, deleted, keeps_deletes=keeps_deletes)
    pieces = list(_pieces([decode_container(source) for source in sources], keep, writer.options.manifest_codec))
    clean = [piece for piece in pieces if piece.is_clean]
    dirty = [piece for piece in pieces if not piece.is_clean]
    return pa.concat_tables([_write_clean(clean, narrow, writer), _write_dirty(dirty, keep, writer)])


@dataclass(frozen=True)
class _Piece:
    """A block of one of the manifests, whose entries are the rows from `start` on."""

    container: Container
    block: Block
    start: int
    is_clean: bool

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.block.count)


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


def _pieces(containers: list[Container], keep: Mask, codec: str) -> Iterator[_Piece]:
    """The blocks that have an entry to keep."""
    start = 0
    for container in containers:
        can_copy = container.codec == codec and container.schema_text == manifest.SCHEMA_TEXT
        for block in container.blocks:
            kept = keep[start : start + block.count]
            if kept.any():
                yield _Piece(container, block, start, is_clean=can_copy and bool(kept.all()))
            start += block.count


def _write_clean(pieces: list[_Piece], narrow: pa.Table, writer: ManifestWriter) -> pa.Table:
    """Manifests of copied blocks, rolled at the target size."""
    metas = [manifest_list.empty()]
    for group in _rolled(pieces, writer.options.manifest_size_bytes):
        blocks = [piece.block for piece in group]
        data = encode_container(manifest.SCHEMA_TEXT, writer.options.manifest_codec, blocks)
        held = pa.concat_tables([narrow.slice(piece.start, piece.block.count) for piece in group])
        metas.append(writer.put_manifest(data, held))
    return pa.concat_tables(metas)


def _rolled(pieces: list[_Piece], size_bytes: int) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    collected = 0
    for piece in pieces:
        group.append(piece)
        collected += len(piece.block.data)
        if collected >= size_bytes:
            yield group
            group, collected = [], 0
    if group:
        yield group


def _write_dirty(pieces: list[_Piece], keep: Mask, writer: ManifestWriter) -> pa.Table:
    """Manifests of what is kept of the other blocks."""
    if not pieces:
        return manifest_list.empty()
    found = manifest.decode([_source(piece) for piece in pieces])
    kept = np.concatenate([keep[piece.rows] for piece in pieces])
    return writer.write_manifests(found.filter(pa.array(kept)))


def _source(piece: _Piece) -> AvroSource:
    """A container of one block alone."""
    container = piece.container
    return AvroSource(container.name, encode_container(container.schema_text, container.codec, [piece.block]))
