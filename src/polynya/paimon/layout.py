"""Where the files of a table are, and what they are called: names only, nothing is opened.

    schema/schema-<id>                                   snapshot/snapshot-<id>, LATEST, EARLIEST
    changelog/changelog-<id>, LATEST, EARLIEST           tag/tag-<name>          consumer/consumer-<id>
    manifest/manifest-<uuid>-<n>                         manifest/manifest-list-<uuid>-<n>
    manifest/index-manifest-<uuid>-<n>                   index/index-<uuid>-<n>  statistics/stat-<uuid>-<n>
    branch/branch-<name>/{schema,snapshot,changelog,tag,consumer}/...
    [<path directory>/][<key>=<value>/...]bucket-<b>/<data files>

Paths are relative to the table. A branch has its own schemas, snapshots, changelogs, tags and consumers (their
functions take the branch); data, manifests, indexes and statistics of all branches stand in the table's folders.
"""

import re
from collections.abc import Iterable

from polynya.errors import CorruptFileError, InvalidInputError
from polynya.storage.names import BAD_FILE_NAME

MAIN_BRANCH = "main"
SCHEMA_FOLDER = "schema"
SNAPSHOT_FOLDER = "snapshot"
CHANGELOG_FOLDER = "changelog"
MANIFEST_FOLDER = "manifest"
INDEX_FOLDER = "index"
STATISTICS_FOLDER = "statistics"
TAG_FOLDER = "tag"
TAG_SUCCESS_FOLDER = "tag/tag-success-file"
CONSUMER_FOLDER = "consumer"
BRANCH_FOLDER = "branch"
LATEST = "LATEST"
EARLIEST = "EARLIEST"
SCHEMA_PREFIX = "schema-"
SNAPSHOT_PREFIX = "snapshot-"
CHANGELOG_PREFIX = "changelog-"
TAG_PREFIX = "tag-"
CONSUMER_PREFIX = "consumer-"
BRANCH_PREFIX = "branch-"
BUCKET_PREFIX = "bucket-"
MANIFEST_PREFIX = "manifest-"
MANIFEST_LIST_PREFIX = "manifest-list-"
INDEX_MANIFEST_PREFIX = "index-manifest-"
INDEX_PREFIX = "index-"
STATISTICS_PREFIX = "stat-"
INDEX_SUFFIX = ".index"
POSTPONE_BUCKET = -2
SUCCESS_FILE = "_SUCCESS"

_BAD_FILE_NAME = re.compile(BAD_FILE_NAME)
_LONG_DIGITS = 19
_CODEC_EXTENSIONS = {"gzip": "gz", "bzip2": "bz2", "zstd": "zst"}
_COMPRESSED_EXTENSIONS = frozenset(("gz", "bz2", "deflate", "snappy", "lz4", "zst"))
_TEXT_FORMATS = frozenset(("csv", "json", "text"))


def branch_prefix(branch: str = MAIN_BRANCH) -> str:
    """The folder of a branch with a slash at its end, or nothing for the main branch."""
    return "" if branch == MAIN_BRANCH else f"{BRANCH_FOLDER}/{BRANCH_PREFIX}{branch}/"


def schema_name(schema_id: int, branch: str = MAIN_BRANCH) -> str:
    """The file of a schema."""
    return f"{branch_prefix(branch)}{SCHEMA_FOLDER}/{SCHEMA_PREFIX}{schema_id}"


def snapshot_name(snapshot_id: int, branch: str = MAIN_BRANCH) -> str:
    """The file of a snapshot."""
    return f"{branch_prefix(branch)}{SNAPSHOT_FOLDER}/{SNAPSHOT_PREFIX}{snapshot_id}"


def snapshot_hint_name(hint: str, branch: str = MAIN_BRANCH) -> str:
    """The LATEST or EARLIEST file of the snapshots."""
    return f"{branch_prefix(branch)}{SNAPSHOT_FOLDER}/{hint}"


def changelog_name(snapshot_id: int, branch: str = MAIN_BRANCH) -> str:
    """The file of a changelog that outlives its snapshot."""
    return f"{branch_prefix(branch)}{CHANGELOG_FOLDER}/{CHANGELOG_PREFIX}{snapshot_id}"


def changelog_hint_name(hint: str, branch: str = MAIN_BRANCH) -> str:
    """The LATEST or EARLIEST file of the changelogs."""
    return f"{branch_prefix(branch)}{CHANGELOG_FOLDER}/{hint}"


def tag_name(tag: str, branch: str = MAIN_BRANCH) -> str:
    """The file of a tag."""
    return f"{branch_prefix(branch)}{TAG_FOLDER}/{TAG_PREFIX}{_plain(tag, 'tag')}"


def tag_success_name(tag: str, branch: str = MAIN_BRANCH) -> str:
    """The file that says that an automatic tag is complete."""
    return f"{branch_prefix(branch)}{TAG_SUCCESS_FOLDER}/{_plain(tag, 'tag')}{SUCCESS_FILE}"


def consumer_name(consumer: str, branch: str = MAIN_BRANCH) -> str:
    """The file of a consumer's progress."""
    return f"{branch_prefix(branch)}{CONSUMER_FOLDER}/{CONSUMER_PREFIX}{_plain(consumer, 'consumer')}"


def manifest_path(file_name: str) -> str:
    """The path of a manifest, a manifest list or an index manifest."""
    return f"{MANIFEST_FOLDER}/{file_name}"


def index_path(file_name: str) -> str:
    """The path of an index file that stands in the index folder."""
    return f"{INDEX_FOLDER}/{file_name}"


def statistics_path(file_name: str) -> str:
    """The path of a statistics file."""
    return f"{STATISTICS_FOLDER}/{file_name}"


def manifest_name(uuid: str, number: int) -> str:
    """The name of a new manifest."""
    return f"{MANIFEST_PREFIX}{uuid}-{number}"


def manifest_list_name(uuid: str, number: int) -> str:
    """The name of a new manifest list."""
    return f"{MANIFEST_LIST_PREFIX}{uuid}-{number}"


def index_manifest_name(uuid: str, number: int) -> str:
    """The name of a new index manifest."""
    return f"{INDEX_MANIFEST_PREFIX}{uuid}-{number}"


def index_name(uuid: str, number: int) -> str:
    """The name of a new hash index or deletion vector file."""
    return f"{INDEX_PREFIX}{uuid}-{number}"


def statistics_name(uuid: str, number: int) -> str:
    """The name of a new statistics file."""
    return f"{STATISTICS_PREFIX}{uuid}-{number}"


def data_file_name(
    prefix: str, uuid: str, number: int, format: str, compression: str = "none", *, include_compression: bool = False
) -> str:
    """The name of a new data or changelog file; text formats always show their compression."""
    codec = _CODEC_EXTENSIONS.get(compression.lower(), compression.lower())
    if codec == "none" or not (include_compression or format in _TEXT_FORMATS):
        extension = format
    elif format in _TEXT_FORMATS:
        extension = f"{format}.{codec}"
    else:
        extension = f"{codec}.{format}"
    return f"{prefix}{uuid}-{number}.{extension}"


def file_index_name(data_file_name: str, rebuilt: int = 0) -> str:
    """The name of the index file beside a data file; `rebuilt` counts how often it was made anew."""
    return f"{data_file_name}-{rebuilt}{INDEX_SUFFIX}" if rebuilt else f"{data_file_name}{INDEX_SUFFIX}"


def format_of(file_name: str) -> str:
    """The format of a data file: its last extension, or the one before where that names a compression."""
    parts = file_name.rsplit("/", 1)[-1].split(".")
    if len(parts) > 2 and parts[-1] in _COMPRESSED_EXTENSIONS:
        parts.pop()
    if len(parts) < 2 or not parts[-1]:
        raise CorruptFileError(
            f"data file '{file_name}', name: expected an extension that tells the format, found none"
        )
    return parts[-1]


def bucket_folder(bucket: int) -> str:
    """The folder of a bucket inside its partition."""
    return f"{BUCKET_PREFIX}{'postpone' if bucket == POSTPONE_BUCKET else bucket}"


def data_folder(partition_path: str, bucket: int, path_directory: str | None = None) -> str:
    """The folder of a bucket; `partition_path` is empty or ends with a slash."""
    directory = (path_directory or "").strip("/")
    return f"{directory + '/' if directory else ''}{partition_path}{bucket_folder(bucket)}"


def numbered(names: Iterable[str], prefix: str) -> list[int]:
    """The numbers, ascending, of the files that are the prefix and a decimal number; all others are passed over."""
    found = []
    for name in names:
        digits = name.rsplit("/", 1)[-1].removeprefix(prefix)
        if digits.isascii() and digits.isdigit() and len(digits) <= _LONG_DIGITS and name.endswith(prefix + digits):
            found.append(int(digits))
    return sorted(found)


def named(names: Iterable[str], prefix: str) -> list[str]:
    """What follows the prefix in the names of tags, consumers or branches, sorted."""
    last = (name.rstrip("/").rsplit("/", 1)[-1] for name in names)
    return sorted(name.removeprefix(prefix) for name in last if name.startswith(prefix) and name != prefix)


def is_plain(file_name: str) -> bool:
    """Whether the name stays in the folder it stands in: no slash, no NUL, not empty, not a dot or two."""
    return not _BAD_FILE_NAME.search(file_name) and "\\" not in file_name


def require_plain(file_name: str, *, name: str, part: str) -> str:
    """The file name as it was read from the file `name`; CorruptFileError when it would leave its folder."""
    if not is_plain(file_name):
        raise CorruptFileError(f"file '{name}', {part}: expected a plain file name, found {file_name!r}")
    return file_name


def _plain(text: str, what: str) -> str:
    if not is_plain(text) or text.isspace():
        raise InvalidInputError(f"{what} name: expected a name without '/', '\\' and NUL, found {text!r}")
    return text
