"""Writing the metadata files of one commit: manifests, lists, the index manifest.

All names of one writer share a uuid and count up. What was written is remembered, so that a commit that does not come
to pass can take it back.
"""

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from polynya.errors import StorageError
from polynya.model.arrow_types import to_arrow_type
from polynya.model.schema import Schema
from polynya.paimon import index_manifest, layout, manifest, manifest_list
from polynya.storage.protocol import Storage
from polynya.table.commit_options import CommitOptions

ROLL_ENTRIES = 1000  # a manifest has room for these, whatever their size; they show the size of the others


@dataclass(frozen=True)
class WrittenList:
    """A manifest list in the store."""

    name: str
    size_bytes: int


class ManifestWriter:
    """Writes metadata files for one commit."""

    def __init__(self, storage: Storage, schema: Schema, uuid: str) -> None:
        self.written: set[str] = set()
        self.options = CommitOptions.of(schema.options)
        self._storage, self._uuid = storage, uuid
        self._partition_types = [to_arrow_type(field.type) for field in schema.partition_fields]
        self._counts: Counter[str] = Counter()

    def write_manifests(self, entries: pa.Table) -> pa.Table:
        """Write the entries, rolled at the target size, and return what a list says of the manifests."""
        count = self._entries_per_manifest(entries)
        chunks = [entries.slice(start, count) for start in range(0, entries.num_rows, count)]
        metas = [self.put_manifest(self._encode(chunk), chunk) for chunk in chunks]
        return pa.concat_tables(metas) if metas else manifest_list.empty()

    def put_manifest(self, data: bytes, entries: pa.Table) -> pa.Table:
        """Store an encoded manifest; `entries` are what it holds, for its row in the list."""
        name = self._new_name(layout.MANIFEST_PREFIX)
        self._put(name, data)
        return manifest.meta_of(entries, name, len(data), self._partition_types)

    def put_merged(self, data: bytes, metas: pa.Table) -> pa.Table:
        """Store an encoded manifest that holds all entries of others; `metas` are the rows of these in a list."""
        name = self._new_name(layout.MANIFEST_PREFIX)
        self._put(name, data)
        return manifest.merged_meta(metas, name, len(data), self._partition_types)

    def write_list(self, metas: pa.Table) -> WrittenList:
        """Write a manifest list."""
        name = self._new_name(layout.MANIFEST_LIST_PREFIX)
        data = manifest_list.encode(metas, codec=self.options.manifest_codec, level=self.options.manifest_zstd_level)
        self._put(name, data)
        return WrittenList(name, len(data))

    def write_index(self, index: pa.Table) -> str:
        """Write an index manifest."""
        name = self._new_name(layout.INDEX_MANIFEST_PREFIX)
        codec, level = self.options.manifest_codec, self.options.manifest_zstd_level
        self._put(name, index_manifest.encode(index, codec=codec, level=level))
        return name

    def clean_up(self, keep: frozenset[str]) -> None:
        """Delete what was written and is not kept; what stays behind is for orphan cleaning."""
        unused = sorted(self.written - keep)
        if not unused:
            return
        try:
            self._storage.delete([layout.manifest_path(name) for name in unused])
        except StorageError:
            return  # nothing refers to these files
        self.written &= keep

    def _entries_per_manifest(self, entries: pa.Table) -> int:
        """How many entries fill a manifest, judged by the first of them."""
        if entries.num_rows <= ROLL_ENTRIES:
            return ROLL_ENTRIES
        sample_bytes = len(self._encode(entries.slice(0, ROLL_ENTRIES)))
        return max(ROLL_ENTRIES, ROLL_ENTRIES * self.options.manifest_size_bytes // sample_bytes)

    def _encode(self, entries: pa.Table) -> bytes:
        return manifest.encode(entries, codec=self.options.manifest_codec, level=self.options.manifest_zstd_level)

    def _new_name(self, prefix: str) -> str:
        self._counts[prefix] += 1
        return f"{prefix}{self._uuid}-{self._counts[prefix] - 1}"

    def _put(self, name: str, data: bytes) -> None:
        self.written.add(name)
        self._storage.put(layout.manifest_path(name), data)
