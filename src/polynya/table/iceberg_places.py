"""Where the files are that Iceberg metadata names by absolute paths.

| path | read from |
|---|---|
| in the folder that the table is opened from | there |
| in the folder that the table was in when its newest manifest list was written | the folder that it is opened from |
| elsewhere, in the same kind of store | where it says, with the same options of the storage |
| elsewhere | refused, by its scheme |

So a table may be moved or copied as a whole, and may have its metadata, or files, apart from its location.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import CorruptFileError, UnsupportedError
from polynya.iceberg.metadata import TableMetadata

# Texts that name one place: `file:/a`, `file:///a` and `/a`; `s3a://b` and `s3://b`.
_SPELLINGS: Mapping[str, str] = {r"^file:(?:/|///+|//localhost/+)([^/])": r"/\1", r"^s3[an]://": "s3://"}
_BAD_NAME = r"(^|/)\.{0,2}(/|$)|\x00"
_ROOT = r"^([a-z0-9]+:/)?/+"
_SCHEME = r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):"


@dataclass(frozen=True)
class Places:
    """The folders whose files are in the storage, in the spelling of `normal`; the first is the storage's own."""

    homes: tuple[str, ...]
    metadata_name: str

    def names_of(self, paths: pa.Array | pa.ChunkedArray) -> pa.Array:
        """The names of files in the storage, or absolute ones of those elsewhere."""
        flat = paths.combine_chunks() if isinstance(paths, pa.ChunkedArray) else paths
        prefix = self._common_prefix(flat)
        if prefix is not None:  # the usual case, at a third of the cost
            names = inside = _after(flat, prefix)
        else:
            names, inside = self._scattered(flat)
        bad = pc.match_substring_regex(inside, _BAD_NAME)
        if pc.any(bad).as_py():
            path = flat.filter(bad)[0].as_py()
            raise CorruptFileError(f"'{self.metadata_name}': expected the path of a file, found {path!r}")
        return names

    def _common_prefix(self, paths: pa.Array) -> str | None:
        """A home, as it is spelled in all of the paths."""
        first = (paths[0].as_py() if len(paths) else None) or ""
        plain = normal(first)
        for home in self.homes:
            prefix = first[: len(first) - len(plain) + len(home)]
            if plain.startswith(home + "/") and pc.all(pc.starts_with(paths, prefix + "/")).as_py():
                return prefix
        return None

    def _scattered(self, paths: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The names of files in several places, and what of them follows their root."""
        plain = paths
        for pattern, replacement in _SPELLINGS.items():
            plain = pc.replace_substring_regex(plain, pattern, replacement)
        names = pa.nulls(len(plain), pa.string())
        for home in self.homes:
            names = pc.coalesce(names, pc.if_else(pc.starts_with(plain, home + "/"), _after(plain, home), None))
        if names.null_count:
            self._require_reachable(plain.filter(pc.is_null(names)))
        rests = pc.replace_substring_regex(plain, _ROOT, "")
        return pc.coalesce(names, plain), pc.coalesce(names, rests)

    def _require_reachable(self, elsewhere: pa.Array) -> None:
        """Raise UnsupportedError for a place in another kind of store than the table's own."""
        schemes = pc.struct_field(pc.extract_regex(elsewhere, _SCHEME), "scheme")
        is_local = pc.and_(pc.is_null(schemes), pc.starts_with(elsewhere, "/"))
        kind = self.homes[0].partition("://")[0]
        reached = is_local if self.homes[0].startswith("/") else pc.fill_null(pc.equal(schemes, kind), False)
        if not pc.all(reached, min_count=0).as_py():
            path = elsewhere.filter(pc.invert(reached))[0].as_py()
            raise UnsupportedError(
                f"'{path}': a file outside of the table's folder {self.homes[0]} is read from the same store only"
            )


def places_of(location: str, metadata_name: str, found: TableMetadata) -> Places:
    """The places of a table that is opened from a location, by a metadata file in it."""
    here, then = normal(location), normal(found.location)
    newest = found.current_snapshot or max(found.snapshots, key=lambda one: one.sequence_number, default=None)
    listed = None if newest is None else newest.manifest_list or next(iter(newest.manifests or ()), None)
    folder = normal(listed or "").rpartition("/")[0]
    suffix = "/" + metadata_name.rpartition("/")[0]
    if folder.endswith(suffix):
        then = folder.removesuffix(suffix)
    return Places(tuple(dict.fromkeys((here, then))), metadata_name)


def normal(location: str) -> str:
    """A location in the spelling in which locations are compared."""
    for pattern, replacement in _SPELLINGS.items():
        location = re.sub(pattern, replacement, location)
    return location.rstrip("/")


def _after(paths: pa.Array, folder: str) -> pa.Array:
    return pc.utf8_ltrim(pc.utf8_slice_codeunits(paths, len(folder)), "/")
