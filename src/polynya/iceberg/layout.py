"""Names of files in the metadata folder of an Iceberg table.

| name | what |
|---|---|
| v<N>.metadata.json, v<N>.gz.metadata.json | table metadata of tables in a file system |
| <V>-<uuid>.metadata.json | table metadata of tables in a catalog |
| replaced-<uuid>.json | table metadata that another of its version replaced, until what only it named is deleted |
| version-hint.text | the number N, and nothing else |
| snap-<k>-<uuid>.avro | a manifest list |
| <uuid>-m<k>.avro | a manifest |
| <uuid>-deletes-<k>.parquet, <uuid>-deletes.puffin | deleted positions of data files |
"""

import re
from collections.abc import Iterable

METADATA_FOLDER = "metadata"
VERSION_HINT = "version-hint.text"

_VERSIONED = re.compile(r"v(\d{1,18})(?:\.gz)?\.metadata\.json(?:\.gz)?")
_REPLACED = re.compile(r"replaced-[0-9a-f-]{36}\.json")
_CATALOG = re.compile(r"(\d{1,18})-[^/]+\.metadata\.json(?:\.gz)?")


def metadata_name(version: int) -> str:
    """The metadata file of a version, in the file-system layout."""
    return f"v{version}.metadata.json"


def gzip_metadata_name(version: int) -> str:
    """The same where it is compressed."""
    return f"v{version}.gz.metadata.json"


def is_gzip(name: str) -> bool:
    """Whether a metadata file is compressed; only its name tells."""
    return name.endswith((".gz.metadata.json", ".metadata.json.gz"))


def find_version(name: str) -> int | None:
    """The version in the name of a metadata file, or None for another file."""
    plain = name.rsplit("/", 1)[-1]
    match = _VERSIONED.fullmatch(plain) or _CATALOG.fullmatch(plain)
    return int(match[1]) if match else None


def find_file_system_version(name: str) -> int | None:
    """The version in the name of a metadata file that no catalog owns, or None for another file."""
    match = _VERSIONED.fullmatch(name.rsplit("/", 1)[-1])
    return int(match[1]) if match else None


def versions(names: Iterable[str]) -> dict[int, str]:
    """The metadata files among the names, by version."""
    found = ((find_version(name), name) for name in names)
    return {version: name for version, name in found if version is not None}


def replaced_name(uuid: str) -> str:
    """A place for metadata that is replaced under its own name."""
    return f"replaced-{uuid}.json"


def is_replaced(name: str) -> bool:
    """Whether a file holds metadata that was replaced."""
    return _REPLACED.fullmatch(name) is not None


def encode_hint(version: int) -> bytes:
    """The hint file; a line end would break readers that take all of it."""
    return str(version).encode()


def decode_hint(data: bytes) -> int | None:
    """The version that a hint names, or None where it is no number."""
    text = data.decode(errors="replace").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def manifest_list_name(uuid: str, number: int) -> str:
    """A new manifest list."""
    return f"snap-{number}-{uuid}.avro"


def manifest_name(uuid: str, number: int) -> str:
    """A new manifest."""
    return f"{uuid}-m{number}.avro"


def position_delete_name(uuid: str, number: int) -> str:
    """A new position delete file."""
    return f"{uuid}-deletes-{number}.parquet"


def puffin_name(uuid: str) -> str:
    """A new file of deletion vectors."""
    return f"{uuid}-deletes.puffin"
