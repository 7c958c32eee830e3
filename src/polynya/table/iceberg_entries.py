"""The manifests of an Iceberg snapshot and their entries, as columns, with what they inherit.

Entries have the columns of `iceberg.manifest`, `spec_id`, and a column `partition_<field id>` for each partition field
of any spec, null where an entry's spec lacks it or where its transform is void. Manifests are decoded spec by spec and
kept in the cache of decoded manifests, before they inherit anything: what they inherit is up to the list.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Decoded, decode_container
from polynya.errors import CorruptFileError
from polynya.iceberg import manifest, manifest_list, partition_spec
from polynya.iceberg.metadata import IcebergSnapshot
from polynya.iceberg.partition_spec import PartitionField, PartitionSpec
from polynya.iceberg.partition_values import PartitionColumn, column_name
from polynya.model.arrow_types import to_arrow_type
from polynya.table.iceberg_table import IcebergRoot
from polynya.table.manifest_cache import SHARED
from polynya.table.readers import Readers

#: What inheriting needs, and what every reader of entries looks at.
BASE_COLUMNS = (
    "status",
    "snapshot_id",
    "sequence_number",
    "file_sequence_number",
    "content",
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "first_row_id",
)
VOID = "void"
_READERS = Readers("polynya-iceberg")


def read_metas(root: IcebergRoot, snapshot: IcebergSnapshot | None) -> pa.Table:
    """What the manifest list of the snapshot says of its manifests."""
    if snapshot is None:
        return manifest_list.empty()
    if snapshot.manifest_list is not None:
        return manifest_list.decode([source_of(root, snapshot.manifest_list)])
    return pa.Table.from_pylist(
        [_meta_of(root, path, snapshot.snapshot_id) for path in snapshot.manifests or ()], manifest_list.SCHEMA
    )


def read_entries(root: IcebergRoot, metas: pa.Table, columns: Sequence[str] = ()) -> pa.Table:
    """The entries of the manifests, deleted ones too, with the columns asked for beside those of the base."""
    wanted = tuple(dict.fromkeys((*BASE_COLUMNS, *columns)))
    parts = []
    for spec_id in pc.unique(metas["partition_spec_id"]).to_pylist():
        own = metas.filter(pc.equal(metas["partition_spec_id"], spec_id))
        table = manifest.inherit(_decoded(root, own, spec_of(root, spec_id), wanted), own)
        parts.append(table.append_column("spec_id", pa.repeat(pa.scalar(spec_id, pa.int32()), table.num_rows)))
    every = empty_entries(root, wanted)
    return pa.concat_tables([every, *parts], promote_options="default") if parts else every


def live(entries: pa.Table) -> pa.Table:
    """The entries that are not deleted."""
    is_live = pc.not_equal(entries["status"], manifest.DELETED)
    return entries if pc.all(is_live).as_py() else entries.filter(is_live)


def partition_keys(root: IcebergRoot, entries: pa.Table) -> npt.NDArray[np.int64]:
    """A number for each spec and partition, the same for entries of the same one; NaN is NaN, -0.0 is not 0.0."""
    names = ["spec_id", *sorted({column_name(id) for spec in all_specs(root) for id in spec.field_ids})]
    key = np.zeros(entries.num_rows, np.int64)
    for name in names:
        if name in entries.column_names:
            codes = entries[name].combine_chunks().dictionary_encode()
            numbers = pc.fill_null(pc.add(codes.indices.cast(pa.int64()), 1), 0).to_numpy()
            _, key = np.unique(key * (len(codes.dictionary) + 1) + numbers, return_inverse=True)
    return key.astype(np.int64)


def empty_entries(root: IcebergRoot, columns: Sequence[str]) -> pa.Table:
    """No entries, with the columns that entries have."""
    plain = [manifest.PLAIN_SCHEMA.field(name) for name in columns]
    found = {column_name(one.field_id): one.type for spec in all_specs(root) for one in partition_columns(root, spec)}
    return pa.schema([*plain, pa.field("spec_id", pa.int32()), *found.items()]).empty_table()


def all_specs(root: IcebergRoot) -> tuple[PartitionSpec, ...]:
    """The partition specs of the table."""
    return root.metadata.partition_specs


def spec_of(root: IcebergRoot, spec_id: int) -> PartitionSpec:
    """The spec of that id."""
    found = next((one for one in all_specs(root) if one.spec_id == spec_id), None)
    if found is None:
        raise CorruptFileError(
            f"'{root.metadata_name}', partition-specs: expected spec {spec_id} of a manifest, found none"
        )
    return found


def partition_columns(root: IcebergRoot, spec: PartitionSpec) -> tuple[PartitionColumn, ...]:
    """The partition fields of a spec that have values, with their types."""
    return tuple(
        PartitionColumn(one.field_id, one.name, field_type(root, one)) for one in spec.fields if one.transform != VOID
    )


def field_type(root: IcebergRoot, field: PartitionField) -> pa.DataType:
    """The type of a partition value; text where the column or the transform is not known."""
    source = root.fields_by_id.get(field.source_id)
    if source is None or not partition_spec.is_known(field.transform):
        return pa.string()
    return partition_spec.result_type(field.transform, to_arrow_type(source.type))


def source_of(root: IcebergRoot, path: str, size_bytes: int | None = None) -> AvroSource:
    """A list or manifest to decode, as metadata names it."""
    return _source(root, root.name_of(path), size_bytes)


def _source(root: IcebergRoot, name: str, size_bytes: int | None = None) -> AvroSource:
    """With its bytes, which are looked at more than once."""
    return AvroSource(name, root.storage.read(name), size_bytes=size_bytes)


def _decoded(root: IcebergRoot, metas: pa.Table, spec: PartitionSpec, columns: Sequence[str]) -> Decoded:
    """The entries of manifests of one spec, from the cache where they are there."""
    partition = partition_columns(root, spec)
    wanted = (*columns, *(column_name(one.field_id) for one in partition))
    names = root.names_of(metas["manifest_path"]).to_pylist()
    files = list(zip(names, metas["manifest_length"].to_pylist(), strict=True))
    # Types belong to the key: a column that was promoted has others from then on.
    types = tuple(one.type for one in partition)
    key = (root.storage.location, root.metadata.table_uuid, spec.spec_id, types)
    held: dict[tuple[str, int], pa.Table] = {}
    for one in files:
        found = SHARED.find((*key, *one), wanted)
        if found is not None:
            held[one] = found
    missing = [one for one in files if one not in held]
    if missing:
        decoded = manifest.decode(_READERS.map(lambda one: _source(root, *one), missing), partition, columns)
        for one, start, end in zip(missing, (0, *decoded.row_ends), decoded.row_ends, strict=False):
            held[one] = decoded.table.slice(start, end - start)
            SHARED.put((*key, *one), held[one])
    tables = [held[one].select(list(wanted)) for one in files]
    ends = [0]
    for table in tables:
        ends.append(ends[-1] + table.num_rows)
    return Decoded(pa.concat_tables(tables), tuple(names), tuple(ends[1:]))


def _meta_of(root: IcebergRoot, path: str, snapshot_id: int) -> dict[str, object]:
    """The row that a list would have for a manifest, for the oldest snapshots, which have no list."""
    source = source_of(root, path)
    spec_id = decode_container(source).metadata.get("partition-spec-id", str(root.metadata.default_spec_id))
    if not spec_id.isdigit():
        raise CorruptFileError(f"'{source.name}', partition-spec-id: expected a number, found {spec_id!r}")
    known = dict.fromkeys(manifest_list.SCHEMA.names)
    given = {
        "manifest_path": path,
        "manifest_length": root.storage.size(source.name),
        "partition_spec_id": int(spec_id),
        "added_snapshot_id": snapshot_id,
    }
    return {**known, **dict.fromkeys(("content", "sequence_number", "min_sequence_number"), 0), **given}
