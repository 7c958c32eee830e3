"""Which delete files apply to which data files of an Iceberg snapshot.

| delete file | applies to data files | with a sequence number |
|---|---|---|
| deletion vector | that it names | up to its own |
| position deletes of one data file | that it names, or whose path is both its bounds | up to its own |
| other position deletes | of its spec and partition | up to its own |
| equality deletes | of its spec and partition; of an unpartitioned spec: all | below its own |

A deletion vector takes the place of all position deletes of its file. Pairs of data and delete files are found by
sorting and searching, never one by one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import CorruptFileError
from polynya.iceberg import manifest
from polynya.iceberg.position_delete import FILE_PATH_ID
from polynya.table.iceberg_entries import VOID, all_specs, partition_keys
from polynya.table.iceberg_prune import by_key
from polynya.table.iceberg_table import IcebergRoot

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
COLUMNS = (
    "equality_ids",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
    "lower_bounds",
    "upper_bounds",
)
#: What a reader has to know of a delete file.
DELETE = pa.struct(
    {
        "file_name": pa.string(),
        "file_format": pa.string(),
        "content": pa.int32(),
        "record_count": pa.int64(),
        "file_size_in_bytes": pa.int64(),
        "content_offset": pa.int64(),
        "content_size_in_bytes": pa.int64(),
        "equality_ids": pa.list_(pa.int32()),
    }
)
_PUFFIN = "puffin"


@dataclass(frozen=True)
class _Pairs:
    """Data files by their places, each with the place of a delete file that applies to it."""

    data: Ints
    deletes: Ints


def attach(root: IcebergRoot, files: pa.Table, deletes: pa.Table) -> pa.Table:
    """The data files with columns `deletes`, a list of `DELETE`, and `dv_file`, `dv_cardinality`.

    `dv_file` names one of the delete files, and `dv_cardinality` the rows that they delete where it is known.
    """
    pairs = _pairs(root, files, deletes)
    order = np.argsort(pairs.data, kind="stable")
    counts = np.bincount(pairs.data, minlength=files.num_rows)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    chosen = pairs.deletes[order]
    known = _described(root, deletes).take(pa.array(chosen))
    lists = pa.ListArray.from_arrays(pa.array(offsets), known)
    first = pa.array(np.append(chosen, 0)[np.minimum(offsets[:-1], len(chosen))], mask=counts == 0)
    is_vector = _is_vector(deletes)
    exact = pc.if_else(pa.array(is_vector), deletes["record_count"].combine_chunks(), None)
    cardinality = pc.if_else(pa.array(counts == 1), exact.take(first), None)
    files = files.append_column("deletes", lists)
    files = files.append_column("dv_file", deletes["file_path"].combine_chunks().take(first))
    return files.append_column("dv_cardinality", cardinality)


def attach_none(files: pa.Table) -> pa.Table:
    """The data files of a snapshot without delete files."""
    empty = pa.ListArray.from_arrays(np.zeros(files.num_rows + 1, np.int32), pa.array([], DELETE))
    files = files.append_column("deletes", empty)
    files = files.append_column("dv_file", pa.nulls(files.num_rows, pa.string()))
    return files.append_column("dv_cardinality", pa.nulls(files.num_rows, pa.int64()))


def _pairs(root: IcebergRoot, files: pa.Table, deletes: pa.Table) -> _Pairs:
    sequence = files["sequence_number"].to_numpy()
    own = deletes["sequence_number"].to_numpy()
    is_equality = np.asarray(pc.equal(deletes["content"], manifest.EQUALITY_DELETES))
    is_vector = _is_vector(deletes)
    target = pc.coalesce(deletes["referenced_data_file"], _bounded_path(deletes))
    if is_vector.any() and pc.is_null(target).to_numpy()[is_vector].any():
        raise CorruptFileError(f"a manifest of {root.storage.location}: a deletion vector names no data file")
    is_named = np.asarray(pc.is_valid(target)) & ~is_equality
    at = pc.fill_null(pc.index_in(target, files["file_path"].combine_chunks()), -1).to_numpy().astype(np.int64)
    vectors = _named(at, np.flatnonzero(is_vector & (at >= 0)), sequence, own)
    _require_single(root, vectors, files)
    has_vector = np.zeros(files.num_rows, bool)
    has_vector[vectors.data] = True
    keys = partition_keys(root, pa.concat_tables([files, deletes], promote_options="default"))
    groups, delete_groups = keys[: files.num_rows], keys[files.num_rows :]
    is_global = is_equality & _is_unpartitioned(root, deletes)
    positions = [
        _named(at, np.flatnonzero(is_named & ~is_vector & (at >= 0)), sequence, own),
        _grouped(groups, sequence, delete_groups, own, np.flatnonzero(~is_equality & ~is_named)),
    ]
    everything = np.zeros_like(groups), np.zeros_like(delete_groups)
    equality = [
        _grouped(groups, sequence, delete_groups, own - 1, np.flatnonzero(is_equality & ~is_global)),
        _grouped(everything[0], sequence, everything[1], own - 1, np.flatnonzero(is_global)),
    ]
    return _joined([vectors, *(_without(one, has_vector) for one in positions), *equality])


def _named(at: Ints, deletes: Ints, sequence: Ints, own: Ints) -> _Pairs:
    """Delete files with the data file that each is about."""
    applies = sequence[at[deletes]] <= own[deletes]
    return _Pairs(at[deletes][applies], deletes[applies])


def _grouped(groups: Ints, sequence: Ints, delete_groups: Ints, highest: Ints, deletes: Ints) -> _Pairs:
    """Delete files with all data files of their group up to a sequence number."""
    order = np.lexsort((sequence, groups))
    sorted_groups, sorted_sequence = groups[order], sequence[order]
    start = np.searchsorted(sorted_groups, delete_groups[deletes], side="left")
    stop = np.searchsorted(sorted_groups, delete_groups[deletes], side="right")
    # Numbers are compared within the group only: rank them over the whole table, then look inside of it.
    ranks = np.unique(sequence)
    place = sorted_groups * (len(ranks) + 1) + np.searchsorted(ranks, sorted_sequence)
    limit = np.searchsorted(ranks, highest[deletes], side="right")
    end = np.searchsorted(place, delete_groups[deletes] * (len(ranks) + 1) + limit, side="left")
    counts = np.maximum(np.minimum(end, stop) - start, 0)
    first = np.repeat(start, counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return _Pairs(order[first + within], np.repeat(deletes, counts))


def _without(pairs: _Pairs, data: Mask) -> _Pairs:
    kept = ~data[pairs.data]
    return _Pairs(pairs.data[kept], pairs.deletes[kept])


def _joined(parts: list[_Pairs]) -> _Pairs:
    return _Pairs(np.concatenate([one.data for one in parts]), np.concatenate([one.deletes for one in parts]))


def _require_single(root: IcebergRoot, vectors: _Pairs, files: pa.Table) -> None:
    doubled = np.flatnonzero(np.bincount(vectors.data, minlength=files.num_rows) > 1)
    if len(doubled):
        path = files["file_path"][int(doubled[0])].as_py()
        raise CorruptFileError(
            f"manifests of {root.storage.location}: expected one deletion vector of {path}, found more"
        )


def _is_unpartitioned(root: IcebergRoot, deletes: pa.Table) -> Mask:
    ids = [spec.spec_id for spec in all_specs(root) if all(one.transform == VOID for one in spec.fields)]
    return np.asarray(pc.is_in(deletes["spec_id"], pa.array(ids, pa.int32())))


def _is_vector(deletes: pa.Table) -> Mask:
    return np.asarray(pc.equal(pc.utf8_lower(deletes["file_format"]), _PUFFIN))


def _bounded_path(deletes: pa.Table) -> pa.Array:
    """The data file that is both bounds of a position delete file."""
    low, high = (by_key(deletes[name], FILE_PATH_ID) for name in ("lower_bounds", "upper_bounds"))
    same = pc.fill_null(pc.equal(low, high), False)
    return pc.if_else(same, low, None).cast(pa.string(), safe=False)


def _described(root: IcebergRoot, deletes: pa.Table) -> pa.StructArray:
    given = {
        "file_name": root.names_of(deletes["file_path"]),
        "file_format": pc.utf8_lower(deletes["file_format"]).combine_chunks(),
    }
    columns = [given[one.name] if one.name in given else deletes[one.name].combine_chunks() for one in DELETE]
    return pa.StructArray.from_arrays(columns, fields=list(DELETE))
