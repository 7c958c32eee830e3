"""Which manifest, manifest list or index manifest a damaged row of bytes stands in.

Partitions, keys and statistics are rows of bytes inside the entries, and are decoded when the entries of all manifests
stand in one table: that error knows the part, not the file. The file is found here, one at a time, when nobody waits
for a plan any more.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from polynya.codec import binary_rows
from polynya.errors import CorruptFileError, PolynyaError, UnsupportedError
from polynya.model.arrow_types import to_arrow_type
from polynya.model.schema import Schema
from polynya.model.types import Field
from polynya.paimon import layout
from polynya.paimon.snapshot import Snapshot
from polynya.table import entries
from polynya.table.file_stats import groups, named_fields
from polynya.table.history import TableRoot

_MARK = " of a manifest"  # in the message of an error that knows no file


def name_manifest(
    error: CorruptFileError, root: TableRoot, snapshot: Snapshot | None, schema_of: Callable[[int], Schema]
) -> CorruptFileError:
    """The error with the file that it came from, where it named only a part of one."""
    if snapshot is None or _MARK not in str(error):
        return error
    for name, check in _checks(root, snapshot, schema_of):
        found = _find_damage(check)
        if found is not None:
            return CorruptFileError(f"{root.storage.location}/{layout.manifest_path(name)}: {found}")
    return error


def _checks(
    root: TableRoot, snapshot: Snapshot, schema_of: Callable[[int], Schema]
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The files of a snapshot that hold rows of bytes, each with what decodes all of them."""
    fields = schema_of(snapshot.schema_id).partition_fields
    for name in snapshot.manifest_lists:
        yield name, partial(_decode_list, root, name, fields)
    if snapshot.index_manifest is not None:
        yield snapshot.index_manifest, partial(_decode_index, root, snapshot, fields)
    metas = entries.read_metas(root, snapshot)
    for at, name in enumerate(metas["file_name"].to_pylist()):
        yield name, partial(_decode_entries, root, metas.slice(at, 1), schema_of)


def _find_damage(check: Callable[[], None]) -> CorruptFileError | None:
    """The first thing that does not decode in one file."""
    try:
        check()
    except CorruptFileError as error:
        return error
    except PolynyaError:  # what is no damage is told by whoever needs it
        return None
    return None


def _decode_list(root: TableRoot, name: str, fields: Sequence[Field]) -> None:
    _decode(entries.read_lists(root, (name,)), ("partition_stats_min", "partition_stats_max"), fields)


def _decode_index(root: TableRoot, snapshot: Snapshot, fields: Sequence[Field]) -> None:
    _decode(entries.read_index(root, snapshot), ("partition",), fields)


def _decode_entries(root: TableRoot, meta: pa.Table, schema_of: Callable[[int], Schema]) -> None:
    files = entries.read_entries(root, meta)
    codes, firsts = groups(files)
    for code, first in enumerate(firsts):
        group, schema = files.take(pa.array(np.flatnonzero(codes == code))), schema_of(first.schema_id)
        written = named_fields(schema, first.write_cols) or schema.fields
        stats = written if first.value_stats_cols is None else named_fields(schema, first.value_stats_cols)
        _decode(group, ("partition",), schema.partition_fields)
        _decode(group, ("min_key", "max_key", "key_stats_min", "key_stats_max"), schema.key_fields)
        _decode(group, ("value_stats_min", "value_stats_max"), stats or ())


def _decode(files: pa.Table, columns: Sequence[str], fields: Sequence[Field]) -> None:
    types = [to_arrow_type(field.type) for field in fields]
    for column in columns if fields else ():
        for at in range(len(types)):
            try:
                binary_rows.decode_rows(files[column], types, name=f"{column}{_MARK} entry", indexes=[at])
            except UnsupportedError:  # a value that Arrow cannot hold, or of a nested type
                continue
