"""The metadata folder of the twin: finding the current metadata, putting the next, clearing away what is old.

A version becomes current when its file exists and the hint names it. Readers that find versions by counting on from the
hint see a higher version at once, so versions of a history that was rolled back are deleted after that.
"""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource
from polynya.errors import InvalidInputError, NotFoundError
from polynya.iceberg import layout, manifest, manifest_list, metadata
from polynya.iceberg.metadata import IcebergSnapshot, TableMetadata
from polynya.table.twin_manifests import TwinFolder


@dataclass(frozen=True)
class Current:
    """The newest metadata, its version, all versions that are there, and the one that the hint names.

    `replaced` are the names of metadata that a publish replaced which broke off before it had cleared away.
    """

    version: int
    metadata: TableMetadata
    versions: tuple[int, ...]
    hinted: int | None
    replaced: tuple[str, ...] = ()


def find_current(folder: TwinFolder) -> Current | None:
    """The newest version there is; a publish that broke off may have left the hint behind it."""
    names = [blob.name for page in folder.storage.list("") for blob in page.blobs]
    found = layout.versions(names)
    versions = sorted(version for version, name in found.items() if name == layout.metadata_name(version))
    if not versions:
        return None
    name = layout.metadata_name(versions[-1])
    newest = metadata.decode(folder.storage.read(name), name=f"{folder.url}/{name}")
    replaced = tuple(sorted(filter(layout.is_replaced, names)))
    return Current(versions[-1], newest, tuple(versions), _hinted(folder), replaced)


def put_aside(folder: TwinFolder, current: Current) -> Current:
    """Copy metadata that is to be replaced under its own name, so that what only it names is found until it is gone."""
    name = layout.replaced_name(str(uuid4()))
    folder.storage.put(name, metadata.encode(current.metadata))
    return replace(current, replaced=(*current.replaced, name))


def put_version(folder: TwinFolder, version: int, made: TableMetadata, current: Current | None) -> bool:
    """Make the metadata current in the place of what was; AlreadyExistsError when somebody else was first.

    False when somebody published a later snapshot meanwhile: readers are to stay there, and what is old is theirs.
    """
    newest, old_hint = (current.version, current.hinted) if current is not None else (0, None)
    put = folder.storage.put if newest >= version else folder.storage.put_new
    put(layout.metadata_name(version), metadata.encode(made))
    hinted = _hinted(folder)
    if newest <= version and hinted != old_hint and (hinted or 0) > version:
        return False
    put_hint(folder, version)
    return True


def put_hint(folder: TwinFolder, version: int) -> None:
    """Point readers to a version."""
    folder.storage.put(layout.VERSION_HINT, layout.encode_hint(version))


def drop(folder: TwinFolder, names: Sequence[str]) -> None:
    """Delete metadata files."""
    if names:
        folder.storage.delete(names)


def read_known(folder: TwinFolder, names: Iterable[str]) -> list[TableMetadata]:
    """The metadata in files; one that another clean-up deleted has nothing left to tell."""
    found = []
    for name in names:
        try:
            found.append(metadata.decode(folder.storage.read(name), name=f"{folder.url}/{name}"))
        except NotFoundError:
            continue
    return found


def drop_unreachable(folder: TwinFolder, gone: Sequence[IcebergSnapshot], kept: Sequence[IcebergSnapshot]) -> None:
    """Delete lists and manifests that only snapshots that are gone refer to, and the delete files in them."""
    lists = _in_folder(folder, (one.manifest_list for one in gone if one.manifest_list is not None))
    if not lists:
        return
    near = _neighbours(gone, kept)
    reached = _metas(folder, [one.manifest_list for one in near if one.manifest_list is not None])
    left = _metas(folder, lists)
    alone = left.filter(pc.invert(pc.is_in(left["manifest_path"], value_set=pc.unique(reached["manifest_path"]))))
    stale = pc.unique(alone["manifest_path"]).to_pylist()
    files = _delete_files(folder, alone) - _delete_files(folder, reached) if _has_deletes(alone) else set()
    for locations in (sorted(files), stale, lists):  # what names the others goes last
        folder.storage.delete([folder.name_of(one) for one in _in_folder(folder, locations)])


def _neighbours(gone: Sequence[IcebergSnapshot], kept: Sequence[IcebergSnapshot]) -> list[IcebergSnapshot]:
    """The kept snapshots next to those that are gone: a manifest never comes back once a snapshot has left it out.

    One that was made anew under the id of one that is gone stands between its neighbours.
    """
    ids = sorted(one.snapshot_id for one in kept)
    wanted = set()
    for one in gone:
        first, last = bisect.bisect_left(ids, one.snapshot_id), bisect.bisect_right(ids, one.snapshot_id)
        wanted.update(ids[max(0, first - 1) : last + 1])
    return [one for one in kept if one.snapshot_id in wanted]


def _hinted(folder: TwinFolder) -> int | None:
    try:
        return layout.decode_hint(folder.storage.read(layout.VERSION_HINT))
    except NotFoundError:
        return None


def _metas(folder: TwinFolder, lists: Iterable[str]) -> pa.Table:
    found = _there(folder, lists)
    return manifest_list.decode(found) if found else manifest_list.empty()


def _there(folder: TwinFolder, locations: Iterable[str]) -> list[AvroSource]:
    """The files that are there; one that another clean-up deleted names nothing any more."""
    found = []
    for location in locations:
        try:
            found.append(folder.read(location))
        except NotFoundError:
            continue
    return found


def _has_deletes(metas: pa.Table) -> bool:
    return bool(pc.any(pc.equal(metas["content"], manifest_list.DELETES)).as_py())


def _delete_files(folder: TwinFolder, metas: pa.Table) -> set[str]:
    """The files that the live entries of delete manifests name."""
    deletes = metas.filter(pc.equal(metas["content"], manifest_list.DELETES))
    sources = _there(folder, _in_folder(folder, pc.unique(deletes["manifest_path"]).to_pylist()))
    if not sources:
        return set()
    entries = manifest.decode(sources, (), ["file_path"]).table
    return set(pc.unique(entries.filter(pc.not_equal(entries["status"], manifest.DELETED))["file_path"]).to_pylist())


def _in_folder(folder: TwinFolder, locations: Iterable[str]) -> list[str]:
    inside = []
    for one in locations:
        try:
            folder.name_of(one)
        except InvalidInputError:
            continue  # another writer's file, which is not ours to delete
        inside.append(one)
    return inside
