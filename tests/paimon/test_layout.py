import pytest

from golden_data import golden_names, golden_table
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.paimon import layout


def test_names_of_numbered_files():
    assert layout.schema_name(3) == "schema/schema-3"
    assert layout.snapshot_name(7, "dev") == "branch/branch-dev/snapshot/snapshot-7"
    assert layout.snapshot_hint_name(layout.LATEST) == "snapshot/LATEST"
    assert layout.changelog_name(1) == "changelog/changelog-1"
    assert layout.tag_name("2026-11-15 10") == "tag/tag-2026-11-15 10"
    assert layout.consumer_name("c", "b") == "branch/branch-b/consumer/consumer-c"


def test_numbered_passes_over_what_is_no_number():
    names = ["snapshot-10", "snapshot-2", "LATEST", ".snapshot-3.u.tmp", "snapshot-", "snapshot-x", "snapshot--1"]
    odd = ["snapshot-1" + "0" * 30, "snapshot-٣", "xsnapshot-5", "9", "snapshot-1a"]
    assert layout.numbered(names + odd, "snapshot-") == [2, 10]
    assert layout.numbered(["snapshot/snapshot-4"], "snapshot-") == [4]


def test_named_gives_what_follows_the_prefix():
    assert layout.named(["tag/tag-b", "tag-a", "tag-", "other"], "tag-") == ["a", "b"]
    assert layout.named(["branch/branch-x/"], "branch-") == ["x"]


@pytest.mark.parametrize(
    ("format", "compression", "included", "extension"),
    [
        ("parquet", "zstd", False, "parquet"),
        ("parquet", "zstd", True, "zst.parquet"),
        ("orc", "none", True, "orc"),
        ("parquet", "GZIP", True, "gz.parquet"),
        ("parquet", "snappy", True, "snappy.parquet"),
        ("csv", "gzip", False, "csv.gz"),
        ("json", "none", False, "json"),
    ],
)
def test_data_file_name_and_its_format(format, compression, included, extension):
    name = layout.data_file_name("data-", "u", 4, format, compression, include_compression=included)
    assert name == f"data-u-4.{extension}"
    assert layout.format_of(name) == format


def test_changelogs_of_several_buckets_in_one_file_have_a_format_of_their_own():
    assert layout.format_of("bucket-0/compacted-changelog-u$0-9.cc-parquet") == "cc-parquet"


def test_format_of_every_golden_data_file_is_known():
    formats = {
        layout.format_of(path.name)
        for name in golden_names()
        for path in golden_table(name).rglob("data-*")
        if path.is_file() and not path.name.endswith((".index", ".blobref", ".crc"))
    }
    assert formats == {"parquet", "orc", "avro", "csv", "json", "text", "blob", "row"}


@pytest.mark.parametrize("name", ["", "data", "data.", "data-1-0.", "dt=a.orc/bucket-0/index-u-0"])
def test_a_name_without_extension_has_no_format(name):
    with pytest.raises(CorruptFileError, match="extension"):
        layout.format_of(name)


def test_folders_of_data():
    assert layout.data_folder("dt=1/", 3) == "dt=1/bucket-3"
    assert layout.data_folder("", -2) == "bucket-postpone"
    assert layout.data_folder("a=b/", 0, "data/") == "data/a=b/bucket-0"
    assert layout.file_index_name("data-u-0.parquet", 1) == "data-u-0.parquet-1.index"


@pytest.mark.parametrize("bad", ["", " ", "a/b", "..", "a\0", "a\\b"])
def test_names_given_by_people_stay_in_their_folder(bad):
    with pytest.raises(InvalidInputError, match="tag name"):
        layout.tag_name(bad)
    with pytest.raises(InvalidInputError, match="consumer name"):
        layout.consumer_name(bad)
