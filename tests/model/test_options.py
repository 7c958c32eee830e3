import re
from pathlib import Path

import pytest

from golden_data import golden_names, golden_table
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import options, options_data, options_idle, options_keys, options_scan
from polynya.model import types as t
from polynya.model.bucket_mode import BucketMode, bucket_key, bucket_mode
from polynya.model.option_kinds import Option, Support, parse_duration, parse_levels, parse_names, parse_size
from polynya.model.options import (
    FAMILIES,
    OPTIONS,
    closest_key,
    find_column,
    find_option,
    level_count,
    require_readable,
    require_writable,
    target_file_size,
)
from polynya.model.options_data import (
    BUCKET,
    DATA_FILE_PATH_DIRECTORY,
    DATA_FILE_PREFIX,
    FILE_FORMAT_PER_LEVEL,
    TARGET_FILE_SIZE,
)
from polynya.model.options_keys import IGNORE_DELETE, MERGE_ENGINE
from polynya.model.options_page import render_page
from polynya.model.schema import schema_of
from polynya.paimon import schema_file

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "options.md"
DECLARED = {f"options_{part}.py" for part in ("data", "keys", "scan", "idle")}
SOURCES = [path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name not in DECLARED]
CODE = "\n".join(line for source in SOURCES for line in source.splitlines() if "HONOURED" not in line)


def test_page_of_options_is_current():
    assert PAGE.read_text() == render_page(), "write polynya.model.options_page.render_page() to docs/options.md"


def test_every_default_is_a_value_and_is_never_refused():
    for option in OPTIONS.values():
        if option.default is not None:
            option.parse(option.default)
            assert not option.is_refused(option.default)


def test_every_option_stands_once():
    named = [
        value.key
        for module in (options_data, options_keys, options_scan)
        for value in vars(module).values()
        if isinstance(value, Option)
    ]
    idle = [
        line.split("|")[0].split(" < ")[0].strip()
        for table in options_idle.TABLES.values()
        for line in table.strip().splitlines()
    ]
    assert sorted(named + idle) == sorted(set(named + idle))
    assert len(OPTIONS) == len(named) + len(idle)


def test_every_honoured_option_is_read_somewhere():
    named = {
        value.key: name
        for module in (options_data, options_keys, options_scan)
        for name, value in vars(module).items()
        if isinstance(value, Option) and value.support is Support.HONOURED
    }
    unread = [key for key, name in named.items() if not re.search(rf"\b{name}\b", CODE)]
    assert unread == []


def test_every_honoured_family_is_read_somewhere():
    honoured = [family.key for family in FAMILIES if family.support is Support.HONOURED]
    alone = [key for key in honoured if key.partition("#<")[0] not in OPTIONS]
    unread = [key for key in alone if not re.search(rf"[\".]{re.escape(fixed_part(key))}[\".#]", CODE)]
    assert unread == []


def fixed_part(family: str) -> str:
    """The longest part of a family's key that is the same in all its keys, behind `fields.`."""
    return max((part.strip(".#") for part in re.split(r"<\w+>", family.removeprefix("fields."))), key=len)


def test_every_option_that_is_not_honoured_says_why():
    for option in (*OPTIONS.values(), *FAMILIES):
        assert bool(option.reason) == (option.support is not Support.HONOURED), option.key


def test_every_key_of_every_golden_table_is_known_and_fits():
    for name in golden_names():
        for path in (golden_table(name) / "schema").glob("schema-*"):
            for key, value in schema_file.decode(path.read_bytes(), name=path.name).options.items():
                option = find_option(key)
                assert option is not None, key
                option.parse(value)


WRITE_REFUSED = {
    "dyn_bucket",
    "cross_partition",
    "postpone_before",
    "cl_lookup",
    "cl_input",
    "dv_pk_64_live",
    "blob_type",
}
WRITTEN = {
    "append_unaware",
    "append_bucketed",
    "pk_partitioned",
    "agg_all",
    "pu_sequence_group",
    "fmt_per_level",
    "first_row",
}


def newest_schema(name):
    newest = max((golden_table(name) / "schema").glob("schema-*"), key=lambda path: int(path.name[7:]))
    return schema_file.decode(newest.read_bytes(), name=newest.name)


def test_every_golden_table_may_be_read():
    for name in golden_names():
        require_readable(newest_schema(name).options)


@pytest.mark.parametrize("name", sorted(WRITE_REFUSED))
def test_what_is_not_written_is_refused_by_name(name):
    with pytest.raises(UnsupportedError, match=r"option '|column '"):
        require_writable(newest_schema(name))


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_what_is_honoured_is_written(name):
    require_writable(newest_schema(name))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"changelog-producer": "Lookup"}, "changelog-producer"),
        ({"upsert-key": "k"}, "upsert-key"),
        ({"write.sequence-number-init-mode": "snapshot"}, "write.sequence-number-init-mode"),
        ({"commit.force-create-snapshot": "true"}, "commit.force-create-snapshot"),
        ({"snapshot.ignore-empty-commit": "false"}, "snapshot.ignore-empty-commit"),
        ({"commit.strict-mode.last-safe-snapshot": "3"}, "commit.strict-mode.last-safe-snapshot"),
        ({"partition.expiration-time": "7 d"}, "partition.expiration-time"),
        ({"data-evolution.enabled": "true"}, "data-evolution.enabled"),
        ({"file.format": "csv"}, "file.format"),
        ({"file.format.per.level": "0:csv"}, "file.format.per.level"),
        ({"tag.automatic-creation": "batch"}, "tag.automatic-creation"),
        ({"data-file.external-paths": "s3://x"}, "data-file.external-paths"),
        ({"fields.m.map.storage-layout": "shared-shredding"}, "map.storage-layout"),
        ({"pk-clustering-override": "true"}, "pk-clustering-override"),
        ({"metadata.iceberg.storage": "hive-catalog"}, "metadata.iceberg.storage"),
        ({"query-auth.enabled": "true"}, "query-auth.enabled"),
    ],
)
def test_refused_option_is_named_with_its_value(options, named):
    schema = schema_of([t.Field(-1, "k", t.Int())], options=options)
    with pytest.raises(UnsupportedError, match=f"{named}' = '{next(iter(options.values()))}'"):
        require_writable(schema)


def test_values_beside_a_refused_one_are_fine():
    options = {"file.format": "ORC".lower(), "changelog-producer": "NONE", "metadata.iceberg.storage": "table-location"}
    options |= {"file.format.per.level": "0:avro,5:orc", "scan.bucket-unknown": "1", "primary-key.nullable": "false"}
    require_writable(schema_of([t.Field(-1, "k", t.Int())], options=options))


def test_read_refuses_only_what_changes_what_is_read():
    require_readable({"changelog-producer": "lookup", "file.format": "csv"})
    with pytest.raises(UnsupportedError, match=r"chain-table\.enabled"):
        require_readable({"chain-table.enabled": "true"})


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        *(("1 h", 3_600_000), ("10min", 600_000), ("5 d", 432_000_000), ("30 s", 30_000), ("100 ms", 100), ("7", 7)),
        *(("1 Day", 86_400_000), ("1 m", 60_000), ("1500 µs", 1), ("1 H", 3_600_000)),
    ],
)
def test_durations(text, millis):
    assert parse_duration(text) == millis


@pytest.mark.parametrize("text", ["", "h", "-1 s", "1.5 h", "1 us", "1 week", "PT1H", "9" * 30])
def test_other_durations_are_refused(text):
    with pytest.raises(ValueError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("128 mb", 2**27), ("8kb", 8192), ("1", 1), ("3 g", 3 * 2**30), ("1 TB", 2**40), ("2 kibibytes", 2048)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "12 zb", "1.5 gb", "-1 mb", "2 kib", "99999999999 tb"])
def test_other_sizes_are_refused(text):
    with pytest.raises(ValueError):
        parse_size(text)


def test_lists_and_levels():
    assert parse_names("a, b,,c ") == ("a", "b", "c")
    assert parse_levels("0:avro, 3 : parquet") == {0: "avro", 3: "parquet"}
    with pytest.raises(InvalidInputError, match=r"option 'file.format.per.level' must be levels .* got '0=avro'"):
        FILE_FORMAT_PER_LEVEL.of({"file.format.per.level": "0=avro"})


def test_a_bad_value_names_the_option_and_what_it_must_be():
    with pytest.raises(InvalidInputError, match="option 'bucket' must be -1, -2 or > 0, got '0'"):
        BUCKET.of({"bucket": "0"})
    with pytest.raises(InvalidInputError, match=r"option 'merge-engine' must be one of deduplicate, .* got 'nope'"):
        MERGE_ENGINE.of({"merge-engine": "nope"})
    with pytest.raises(InvalidInputError, match="option 'ignore-delete' must be true or false, got 'yes'"):
        IGNORE_DELETE.of({"ignore-delete": "yes"})


def test_values_are_typed_with_defaults_and_older_names():
    assert BUCKET.of({}) == -1
    assert MERGE_ENGINE.of({"merge-engine": "Partial-Update"}) == "partial-update"
    assert IGNORE_DELETE.of({"first-row.ignore-delete": "true"}) is True
    assert DATA_FILE_PREFIX.of({}) == "data-"
    assert TARGET_FILE_SIZE.find({}) is None
    with pytest.raises(InvalidInputError, match="'target-file-size' is not set"):
        TARGET_FILE_SIZE.of({})


def test_keys_of_families_are_found():
    assert find_option("fields.a.b.aggregate-function").key == "fields.<column>.aggregate-function"
    assert find_column("fields.a.b.aggregate-function") == "a.b"
    assert find_column("fields.g,h.sequence-group") is None
    assert find_option("file-index.bloom-filter.c.fpp").support is Support.HONOURED
    assert find_option("parquet.page.size").support is Support.HONOURED
    assert find_option("parquet.enable.dictionary#a.b").support is Support.HONOURED
    assert find_option("no.such.key") is None
    assert closest_key("merge-engin") == "merge-engine"


@pytest.mark.parametrize("key", ["parquet.crypto.factory.class", "orc.encrypt", "avro.other"])
def test_a_setting_that_a_file_writer_is_not_told_is_refused(key):
    with pytest.raises(UnsupportedError, match=key):
        require_writable(schema_of([t.Field(-1, "k", t.Int())], options={key: "x"}))


def test_sizes_and_levels_that_follow_from_others():
    assert target_file_size(schema_of([t.Field(-1, "k", t.Int())])) == 256 * 2**20
    assert target_file_size(schema_of([t.Field(-1, "k", t.Int())], primary_key=["k"])) == 128 * 2**20
    assert level_count({}) == 6
    assert level_count({"num-levels": "3"}) == 3


@pytest.mark.parametrize(
    ("key", "partition", "bucket", "mode"),
    [
        (["k"], [], "2", BucketMode.HASH_FIXED),
        (["k"], [], "-1", BucketMode.HASH_DYNAMIC),
        (["k"], ["p"], "-1", BucketMode.KEY_DYNAMIC),
        (["k"], [], "-2", BucketMode.POSTPONE),
        ([], [], "-1", BucketMode.UNAWARE),
        ([], [], "3", BucketMode.HASH_FIXED),
    ],
)
def test_bucket_modes(key, partition, bucket, mode):
    columns = [t.Field(-1, "k", t.Int()), t.Field(-1, "p", t.Int())]
    schema = schema_of(columns, primary_key=key, partition_by=partition, options={"bucket": bucket})
    assert bucket_mode(schema) is mode
    assert bucket_key(schema) == tuple(key)


def test_module_of_options_lists_its_families_once():
    assert len({family.key for family in options.FAMILIES}) == len(options.FAMILIES)


@pytest.mark.parametrize("prefix", ["a/b", "../", "/", "a\0"])
def test_data_file_names_start_in_their_own_folder(prefix):
    with pytest.raises(InvalidInputError, match=r"option 'data-file.prefix' must be the start of a file name"):
        DATA_FILE_PREFIX.of({"data-file.prefix": prefix})


@pytest.mark.parametrize("folder", ["..", "../x", "a/../../x", "a//b", "./a", "a\0"])
def test_the_folder_of_all_data_is_below_the_table(folder):
    with pytest.raises(InvalidInputError, match=r"option 'data-file.path-directory' must be a folder below the table"):
        DATA_FILE_PATH_DIRECTORY.find({"data-file.path-directory": folder})
    assert DATA_FILE_PATH_DIRECTORY.find({"data-file.path-directory": "/a b/c=1/"}) == "a b/c=1"
    assert DATA_FILE_PATH_DIRECTORY.find({"data-file.path-directory": ""}) == ""
