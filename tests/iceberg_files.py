"""Metadata, manifest lists and manifests of the golden tables, decoded."""

import functools

import pyarrow as pa
import pyarrow.compute as pc

from golden_iceberg import iceberg_expected, local
from polynya.codec.avro import AvroSource
from polynya.iceberg import layout, manifest, manifest_list, metadata, partition_spec, type_json
from polynya.iceberg.metadata import TableMetadata
from polynya.iceberg.partition_values import PartitionColumn

#: Java writes values of fixed[L] partitions with a length before them, against the schema of the same file.
UNREADABLE = {"part_java"}


@functools.cache
def golden_metadata(name: str) -> TableMetadata:
    path = local(iceberg_expected(name)["metadataFile"])
    return metadata.decode(path.read_bytes(), name=path.name, compressed=layout.is_gzip(path.name))


def source(location: str) -> AvroSource:
    return AvroSource(location, local(location).read_bytes())


def partition_columns(table: TableMetadata, spec_id: int) -> list[PartitionColumn]:
    types: dict[int, pa.DataType] = {}
    for schema in table.schemas:
        _collect(schema.json, types)
    spec = next(one for one in table.partition_specs if one.spec_id == spec_id)
    return [
        PartitionColumn(
            one.field_id, one.name, partition_spec.result_type(one.transform, types.get(one.source_id, pa.int32()))
        )
        for one in spec.fields
    ]


def _collect(fields, types):
    for field in fields:
        types[field["id"]] = type_json.to_arrow(field["type"], name="schema")
        if isinstance(field["type"], dict) and field["type"]["type"] == "struct":
            _collect(field["type"]["fields"], types)


def lists(table: TableMetadata) -> dict[int, pa.Table]:
    return {one.snapshot_id: manifest_list.decode([source(one.manifest_list)]) for one in table.snapshots}


def by_spec(table: TableMetadata, metas: pa.Table):
    """(partition columns, the rows of the list, the entries after inheritance) for each spec."""
    for spec_id in sorted(set(metas["partition_spec_id"].to_pylist())):
        own = metas.filter(pc.equal(metas["partition_spec_id"], spec_id))
        columns = partition_columns(table, spec_id)
        decoded = manifest.decode([source(one) for one in own["manifest_path"].to_pylist()], columns)
        yield columns, own, manifest.inherit(decoded, own)
