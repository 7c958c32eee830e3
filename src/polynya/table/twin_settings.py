"""How and where a table is published as an Iceberg table, by its options.

| option metadata.iceberg.… | meaning |
|---|---|
| storage, storage-location | `<table>/metadata`, or `<warehouse>/iceberg/<database>/<table>/metadata` |
| format-version | 2 or 3 |
| live | primary-key tables show the rows of the latest snapshot, not of the last compaction |
| manifest-compression, manifest-legacy-version | codec of manifests, and the names that old readers want |
| compaction.min.file-num, compaction.max.file-num | when manifests are merged |
| delete-after-commit.enabled, previous-versions-max | how many older metadata files stay |
"""

from collections.abc import Mapping
from dataclasses import dataclass

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.iceberg import layout
from polynya.model import options_data as o
from polynya.model.schema import Schema
from polynya.storage.protocol import Storage
from polynya.storage.urls import parent_of
from polynya.table.twin_manifests import MergeRules, TwinFolder
from polynya.table.twin_view import View, view_of

_CODECS = {"none": "null", "null": "null", "uncompressed": "null", "gzip": "deflate", "zstd": "zstandard"}
_KNOWN_CODECS = ("null", "deflate", "snappy", "zstandard")
_DATABASE_SUFFIX = ".db"


@dataclass(frozen=True)
class TwinSettings:
    """Where the twin is and what it shows; `table_url` is the table's location as Iceberg names it."""

    folder: TwinFolder
    table_url: str
    view: View
    deletes_old_versions: bool
    previous_versions_max: int


def is_published(options: Mapping[str, str]) -> bool:
    """Whether each commit is to be published."""
    return o.METADATA_ICEBERG_STORAGE.of(options) != "disabled"


def settings_of(storage: Storage, schema: Schema, *, live: bool | None = None) -> TwinSettings:
    """The settings of a table; `live` overrides its option. A table without 'storage' is published beside its files."""
    options = schema.options
    version = o.METADATA_ICEBERG_FORMAT_VERSION.of(options)
    if version not in (2, 3):
        raise InvalidInputError(f"option 'metadata.iceberg.format-version' must be 2 or 3, got '{version}'")
    place = _folder(storage, options)
    merge = MergeRules(
        o.METADATA_ICEBERG_COMPACTION_MIN_FILE_NUM.of(options),
        o.METADATA_ICEBERG_COMPACTION_MAX_FILE_NUM.of(options),
        o.MANIFEST_TARGET_FILE_SIZE.of(options),
    )
    legacy = o.METADATA_ICEBERG_MANIFEST_LEGACY_VERSION.of(options)
    return TwinSettings(
        TwinFolder(place, url_of(place.location), version, _codec(options), legacy, merge),
        url_of(storage.location),
        view_of(schema, live=o.METADATA_ICEBERG_LIVE.of(options) if live is None else live),
        o.METADATA_ICEBERG_DELETE_AFTER_COMMIT_ENABLED.of(options),
        o.METADATA_ICEBERG_PREVIOUS_VERSIONS_MAX.of(options),
    )


def url_of(location: str) -> str:
    """A location with its scheme."""
    return f"file:{location}" if location.startswith("/") else location


def _folder(storage: Storage, options: Mapping[str, str]) -> Storage:
    where = o.METADATA_ICEBERG_STORAGE.of(options)
    if where not in ("disabled", "table-location", "hadoop-catalog"):
        raise UnsupportedError(f"option 'metadata.iceberg.storage' = '{where}': catalogs of that kind are not told")
    usual = "catalog-location" if where == "hadoop-catalog" else "table-location"
    if (o.METADATA_ICEBERG_STORAGE_LOCATION.find(options) or usual) == "table-location":
        return storage.child(layout.METADATA_FOLDER)
    *_, database, table = storage.location.rstrip("/").split("/")
    if not database.endswith(_DATABASE_SUFFIX):
        raise UnsupportedError(
            f"{storage.location}: 'metadata.iceberg.storage' = '{where}' needs a table in a folder <database>.db"
        )
    name = database.removesuffix(_DATABASE_SUFFIX)
    return parent_of(parent_of(storage)).child(f"iceberg/{name}/{table}/{layout.METADATA_FOLDER}")


def _codec(options: Mapping[str, str]) -> str:
    # The default is not Paimon's snappy, for which common readers need another package.
    text = (o.METADATA_ICEBERG_MANIFEST_COMPRESSION.find_text(options) or "deflate").lower()
    codec = _CODECS.get(text, text)
    if codec not in _KNOWN_CODECS:
        raise UnsupportedError(f"option 'metadata.iceberg.manifest-compression' = '{text}' is not supported")
    return codec
