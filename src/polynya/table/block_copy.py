"""Rewriting manifests with most of their blocks copied as they are.

A manifest is a sequence of compressed blocks. A block whose entries all stay is copied without decoding it; only the
blocks that hold a DELETE entry, or an ADD entry that was taken back, are decoded, thinned out and encoded again.
"""

import pyarrow as pa
import pyarrow.compute as pc

from polynya.table import entries
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter


def copy_manifests(
    root: TableRoot, metas: pa.Table, writer: ManifestWriter, deleted: pa.Table, *, keeps_deletes: bool
) -> pa.Table:
    """Write the entries of the manifests anew, in order, less the ADD entries that `deleted` takes back.

    DELETE entries go too, but for those (where `keeps_deletes`) whose ADD entry is in none of these manifests.
    """
    found = entries.read_entries(root, metas)
    is_delete = pc.equal(found["kind"], entries.DELETE)
    if not deleted.num_rows:
        return writer.write_manifests(found)
    added = found.filter(pc.invert(is_delete))
    taken_back = entries.is_same(found, deleted)
    keep = pc.and_(pc.invert(is_delete), pc.invert(taken_back))
    if keeps_deletes:
        lone = pc.and_(is_delete, pc.invert(entries.is_same(found, added)))
        keep = pc.or_(keep, lone)
    return writer.write_manifests(found.filter(keep))
