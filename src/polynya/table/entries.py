"""The manifest entries of a snapshot: read, and folded to the files that are live.

Reading a snapshot is "all ADD entries minus all DELETE entries", whatever their order. An entry is identified by
partition, bucket, level, file name, extra files, embedded index and external path together: an upgrade deletes and adds
one file name on two levels, an index rewrite deletes and adds it on one level with other extra files.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro_container import AvroSource
from polynya.paimon import index_manifest, layout, manifest, manifest_list
from polynya.paimon.snapshot import Snapshot
from polynya.storage.protocol import Storage
from polynya.table import manifest_image
from polynya.table.history import TableRoot
from polynya.table.manifest_cache import SHARED
from polynya.table.readers import Readers

ADD, DELETE, IDENTITY = manifest.ADD, manifest.DELETE, manifest.IDENTITY
EMPTY_ROW = bytes(12)  # a BinaryRow without fields

ManifestFile = tuple[str, int]  # its name and size in bytes

_READERS = Readers("polynya-manifests")


def read_metas(root: TableRoot, snapshot: Snapshot) -> pa.Table:
    """What the manifest lists say of every manifest of the snapshot: base list, then delta list."""
    return read_lists(root, (snapshot.base_manifest_list, snapshot.delta_manifest_list))


def read_delta_metas(root: TableRoot, snapshot: Snapshot) -> pa.Table:
    """What the delta list of the snapshot says."""
    return read_lists(root, (snapshot.delta_manifest_list,))


def read_lists(root: TableRoot, names: Iterable[str]) -> pa.Table:
    """The rows of manifest lists, one after the other."""
    return manifest_list.decode([source_of(root.storage, name) for name in names])


def read_entries(
    root: TableRoot, metas: pa.Table, columns: Sequence[str] | None = None, partitions: Sequence[bytes] = ()
) -> pa.Table:
    """The entries of the manifests, in the order of `metas`, with only the columns asked for.

    Manifests that the process has not decoded before are decoded together, on all cores. With `partitions` entries of
    other partitions may be missing: a manifest that is looked into for the first time is decoded in part.
    """
    wanted = tuple(columns) if columns is not None else tuple(manifest.SCHEMA.names)
    location = root.storage.location
    files = list(zip(metas["file_name"].to_pylist(), metas["file_size"].to_pylist(), strict=True))
    held = {one: _find_decoded(location, *one, wanted) for one in files}
    missing = [one for one in files if held[one] is None]
    glances = [one for one in missing if partitions and SHARED.is_first_glance((location, *one))]
    held |= _decode(root, glances, wanted, partitions)
    whole = _decode(root, [one for one in missing if one not in set(glances)], wanted)
    for one, table in whole.items():
        SHARED.put((location, *one), table)
        manifest_image.put(location, *one, table)
    held |= whole
    return pa.concat_tables([held[one] for one in files]) if files else manifest.empty().select(list(wanted))


def _decode(
    root: TableRoot, files: Sequence[ManifestFile], columns: Sequence[str], partitions: Sequence[bytes] = ()
) -> dict[ManifestFile, pa.Table]:
    """The entries of each manifest."""
    if not files:
        return {}
    sources = _READERS.map(lambda one: source_of(root.storage, *one), files)
    decoded = manifest.decode_sources(sources, columns, partitions)
    starts = (0, *decoded.row_ends)
    return {
        one: decoded.table.slice(start, end - start)
        for one, start, end in zip(files, starts, decoded.row_ends, strict=False)
    }


def _find_decoded(location: str, name: str, size_bytes: int, columns: Sequence[str]) -> pa.Table | None:
    """The manifest as this process or an earlier one decoded it."""
    held = SHARED.find((location, name, size_bytes), columns)
    if held is not None:
        return held
    image = manifest_image.find(location, name, size_bytes, columns)
    if image is not None:
        SHARED.put((location, name, size_bytes), image)
    return image


def read_live(root: TableRoot, snapshot: Snapshot | None, columns: Sequence[str] | None = None) -> pa.Table:
    """The live entries of a snapshot."""
    if snapshot is None:
        return fold(manifest.empty().select(list(_with_identity(columns))))
    return fold(read_entries(root, read_metas(root, snapshot), _with_identity(columns)))


def read_index(root: TableRoot, snapshot: Snapshot | None) -> pa.Table:
    """The index files of a snapshot: deletion vectors, hash indexes, global indexes."""
    if snapshot is None or snapshot.index_manifest is None:
        return index_manifest.empty()
    return index_manifest.decode([source_of(root.storage, snapshot.index_manifest)])


def fold(entries: pa.Table) -> pa.Table:
    """The ADD entries that no DELETE entry takes back, in their order."""
    is_delete = pc.equal(entries["kind"], DELETE)
    deleted = entries.filter(is_delete)
    if deleted.num_rows == 0:
        return entries
    added = entries.filter(pc.invert(is_delete))
    return added.filter(pc.invert(is_same(added, deleted)))


def is_same(entries: pa.Table, others: pa.Table) -> pa.ChunkedArray:
    """Which of the entries have the identity of one of the others.

    File names are nearly unique, so the full identity is only built for entries that share one.
    """
    suspects = pc.is_in(entries["file_name"], pc.unique(others["file_name"]))
    same = pc.is_in(identities(entries.filter(suspects)), identities(others))
    return pc.replace_with_mask(suspects.combine_chunks(), suspects.combine_chunks(), same.combine_chunks())


def identities(entries: pa.Table) -> pa.ChunkedArray:
    """The identity of every entry as bytes; two entries are the same file exactly when these are equal."""
    extra = pc.binary_join(entries["extra_files"].combine_chunks(), "\x01")
    parts = [
        entries["file_name"].cast(pa.binary()),
        _text(entries["bucket"]),
        _text(entries["level"]),
        pc.fill_null(extra, "").cast(pa.binary()),
        pc.fill_null(entries["external_path"], "").cast(pa.binary()),
        _text(pc.binary_length(entries["partition"])),
        entries["partition"],
        pc.fill_null(entries["embedded_file_index"], b"\x02"),
    ]
    return pa.chunked_array([_join([_flat(part) for part in parts])])


def with_kind(entries: pa.Table, kind: int) -> pa.Table:
    """The same entries, all of one kind."""
    values = pa.repeat(pa.scalar(kind, pa.int8()), entries.num_rows)
    return entries.set_column(entries.schema.get_field_index("kind"), "kind", values)


def without_value_stats(entries: pa.Table) -> pa.Table:
    """The same entries with empty value statistics."""
    empty = {"value_stats_min": EMPTY_ROW, "value_stats_max": EMPTY_ROW, "value_stats_null_counts": []}
    for name, value in {**empty, "value_stats_cols": []}.items():
        index = entries.schema.get_field_index(name)
        field = entries.schema.field(index)
        entries = entries.set_column(index, field, pa.repeat(pa.scalar(value, field.type), entries.num_rows))
    return entries


def _join(parts: list[pa.Array]) -> pa.Array:
    return pc.binary_join_element_wise(*parts, b"\x00")


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _text(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    return numbers.cast(pa.string()).cast(pa.binary())


def _with_identity(columns: Sequence[str] | None) -> tuple[str, ...]:
    if columns is None:
        return tuple(manifest.SCHEMA.names)
    return tuple(dict.fromkeys(("kind", *IDENTITY, *columns)))


def source_of(storage: Storage, name: str, size_bytes: int | None = None) -> AvroSource:
    """A metadata file to decode: by its path where it has one, else by its bytes."""
    path = layout.manifest_path(name)
    local = storage.local_path(path)
    data = storage.read(path) if local is None else None
    return AvroSource(path, data, local, size_bytes)
