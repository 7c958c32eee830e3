"""Manifests, manifest lists and index manifests: as Java wrote them, back to the byte, and damaged."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from golden_data import golden_expected, golden_names, golden_table
from paimon.golden_manifests import KINDS, latest_snapshot, source, sources, tables_with
from polynya.codec.avro import AvroSource, decode_container, encode_container
from polynya.errors import CorruptFileError, InvalidInputError, UnsupportedError
from polynya.model.arrow_types import to_arrow_type
from polynya.paimon import index_manifest, manifest, manifest_list, schema_file

MODULES = dict(zip(KINDS, (manifest_list, index_manifest, manifest), strict=True))
SOURCES = {0: "APPEND", 1: "COMPACT", None: None}


def records_of(data_or_sources):
    """The decompressed records of some container files, joined."""
    containers = [decode_container(file) for file in data_or_sources]
    return b"".join(bytes(file.records(block)) for file in containers for block in file.blocks)


def system_rows(table, name):
    """A system table as Java showed it, a dict a row."""
    shown = golden_expected(table)["system"].get(name)
    return (
        [dict(zip((column for column, _ in shown["columns"]), row, strict=True)) for row in shown["rows"]]
        if shown
        else []
    )


def latest_manifests(table, *, changelog=False):
    """The rows of the base and delta list of the latest snapshot, and of its changelog list on request."""
    snapshot = latest_snapshot(table)
    names = [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    if changelog and snapshot.changelog_manifest_list:
        names.append(snapshot.changelog_manifest_list)
    return manifest_list.decode([source(table, name) for name in names])


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_java_decodes_and_encodes_back_to_the_same_records(kind):
    module = MODULES[kind]
    for table in tables_with(kind):
        files = sources(table, kind)
        decoded = module.decode(files)
        assert decoded.schema.equals(module.SCHEMA)
        encoded = module.encode(decoded)
        assert records_of([AvroSource("again", data=encoded)]) == records_of(files), table
        assert module.decode([AvroSource("again", data=encoded)]).equals(decoded), table


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_text_is_that_of_java(kind):
    for table in tables_with(kind):
        assert {decode_container(file).schema_text for file in sources(table, kind)} == {MODULES[kind].SCHEMA_TEXT}


def test_java_uses_the_codec_of_the_table_and_so_can_we():
    codecs = {decode_container(file).codec for file in sources("manifest_codecs", "manifest-")}
    assert codecs == {"null", "snappy", "deflate", "zstandard"}
    entries = manifest.decode(sources("manifest_codecs", "manifest-"))
    for codec in codecs:
        encoded = AvroSource("f", manifest.encode(entries, codec=codec))
        assert decode_container(encoded).codec == codec
        assert manifest.decode([encoded]).equals(entries)


def test_live_entries_are_the_files_that_java_shows():
    for table in golden_names():
        shown = system_rows(table, "files")
        if not shown:
            continue
        metas = latest_manifests(table).to_pylist()
        entries = manifest.decode([source(table, meta["file_name"]) for meta in metas]).to_pylist()
        gone = {identity(entry) for entry in entries if entry["kind"] == manifest.DELETE}
        live = [entry for entry in entries if entry["kind"] == manifest.ADD and identity(entry) not in gone]
        visible = {row["file_path"].rpartition("/")[2] for row in shown}
        found = {as_shown(entry) for entry in live if entry["file_name"] in visible}
        assert found == {shown_file(row) for row in shown}, table


def identity(entry):
    return tuple(tuple(value) if isinstance(value := entry[name], list) else value for name in manifest.IDENTITY)


def as_shown(entry):
    created = entry["creation_time"].isoformat(" ", "milliseconds")
    write_columns = None if entry["write_cols"] is None else tuple(entry["write_cols"])
    return (
        entry["bucket"], entry["file_name"], entry["schema_id"], entry["level"], entry["row_count"],
        entry["file_size"], entry["min_sequence_number"], entry["max_sequence_number"], created,
        entry["delete_row_count"], SOURCES[entry["file_source"]], entry["first_row_id"], write_columns,
    )  # fmt: skip


def shown_file(row):
    write_columns = None if row["write_cols"] is None else tuple(row["write_cols"])
    return (
        row["bucket"], row["file_path"].rpartition("/")[2], row["schema_id"], row["level"], row["record_count"],
        row["file_size_in_bytes"], row["min_sequence_number"], row["max_sequence_number"], row["creation_time"],
        row["deleteRowCount"], row["file_source"], row["first_row_id"], write_columns,
    )  # fmt: skip


def test_manifest_lists_name_the_manifests_that_java_shows():
    columns = (
        "file_name",
        "file_size",
        "num_added_files",
        "num_deleted_files",
        "schema_id",
        "min_row_id",
        "max_row_id",
    )
    for table in golden_names():
        shown = system_rows(table, "manifests")
        if shown:
            found = {
                tuple(meta[name] for name in columns) for meta in latest_manifests(table, changelog=True).to_pylist()
            }
            assert found == {tuple(row[name] for name in columns) for row in shown}, table


def test_index_manifests_name_the_index_files_that_java_shows():
    for table in golden_names():
        shown = system_rows(table, "table_indexes")
        if not shown:
            continue
        entries = index_manifest.decode([source(table, latest_snapshot(table).index_manifest)]).to_pylist()
        found = sorted(as_shown_index(entry) for entry in entries)
        names = ("bucket", "index_type", "file_name", "file_size", "row_count", "dv_ranges")
        ranges = ("row_range_start", "row_range_end", "index_field_id")
        assert found == sorted(([row[name] for name in names], [row[name] for name in ranges]) for row in shown), table


def as_shown_index(entry):
    ranges = None if entry["dv_ranges"] is None else [list(each.values()) for each in entry["dv_ranges"]]
    index = entry["global_index"] or dict.fromkeys(("row_range_start", "row_range_end", "index_field_id"))
    plain = [entry[name] for name in ("bucket", "index_type", "file_name", "file_size", "row_count")]
    return [*plain, ranges], [index[name] for name in ("row_range_start", "row_range_end", "index_field_id")]


def test_the_meta_of_every_manifest_is_what_java_wrote_in_its_lists():
    for table in tables_with("manifest-list-"):
        path = max((golden_table(table) / "schema").iterdir(), key=lambda path: int(path.name.removeprefix("schema-")))
        schema = schema_file.decode(path.read_bytes(), name=path.name)
        types = {field.name: to_arrow_type(field.type) for field in schema.fields}
        partition_types = [types[name] for name in schema.partition_by]
        kept = {file.name: file for file in sources(table, "manifest-")}
        metas = {meta["file_name"]: meta for meta in manifest_list.decode(sources(table, "manifest-list-")).to_pylist()}
        files = [kept[name] for name in metas if name in kept]
        decoded = manifest.decode_sources(files)
        starts = (0, *decoded.row_ends)
        for file, start, end in zip(files, starts, decoded.row_ends, strict=False):
            meta = metas[file.name]
            entries = decoded.table.slice(start, end - start)
            made = manifest.meta_of(entries, file.name, meta["file_size"], partition_types)
            assert made.to_pylist() == [meta], (table, file.name)


def test_float_partitions_are_bounded_as_java_orders_them():
    bounds = [manifest._bounds(pa.array([0.0, -0.0, None, float("nan"), 1.5]))[side][0].as_py() for side in (0, 1)]
    assert str(bounds) == "[-0.0, nan]"


def test_a_projection_gives_the_columns_asked_for_in_their_order():
    files = sources("dv_append", "manifest-")
    whole = manifest.decode(files)
    assert manifest.decode(files, ["level", "file_name"]).equals(whole.select(["level", "file_name"]))
    with pytest.raises(InvalidInputError, match="no column 'colour'"):
        manifest.decode(files, ["colour"])


def test_blocks_of_java_can_be_copied_into_one_manifest():
    files = [file for file in sources("many_commits", "manifest-") if decode_container(file).codec == "zstandard"]
    blocks = [block for file in files for block in decode_container(file).blocks]
    copied = encode_container(manifest.SCHEMA_TEXT, "zstandard", blocks)
    assert manifest.decode([AvroSource("f", copied)]).equals(manifest.decode(files))


@pytest.mark.parametrize("module", MODULES.values())
def test_an_empty_file_has_no_rows(module):
    assert module.decode([AvroSource("f", module.encode(module.empty()))]).equals(module.empty())
    assert module.decode([]).equals(module.empty())


def sample():
    """Entries of which one has extra files."""
    entries = manifest.decode(sources("fi_bloom_file", "manifest-"))
    assert pc.max(pc.list_value_length(entries["extra_files"])).as_py() > 0
    return entries


def replaced(table, column, value):
    index = table.column_names.index(column)
    return table.set_column(index, column, pa.array([value] * table.num_rows, table.schema.field(column).type))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\x00b"])
def test_a_file_name_that_leaves_its_folder_is_corrupt(name):
    for column, value in (("file_name", name), ("extra_files", ["fine", name])):
        good, bad = (AvroSource(title, manifest.encode(entries)) for title, entries in
                     (("good", sample()), ("bad", replaced(sample(), column, value))))  # fmt: skip
        with pytest.raises(
            CorruptFileError, match=re.escape(f"'bad': {column}: expected plain file names, found {value!r}")
        ):
            manifest.decode([good, bad])


CODES = [
    ("kind", 2, "0 (ADD) or 1 (DELETE)"),
    *(("file_source", code, "0 (APPEND) or 1 (COMPACT)") for code in (7, -1)),
]


@pytest.mark.parametrize(("column", "code", "known"), CODES)
def test_a_code_without_a_meaning_is_corrupt_and_shown(column, code, known):
    with pytest.raises(CorruptFileError, match=re.escape(f"'f': {column}: expected {known}, found {code}")):
        manifest.decode([AvroSource("f", manifest.encode(replaced(sample(), column, code)))])


@pytest.mark.parametrize(("version", "error"), [(3, UnsupportedError), (1, UnsupportedError), (-7, CorruptFileError)])
def test_another_version_is_refused(version, error, monkeypatch):
    kind = manifest._KIND
    other = type(kind)(kind.title, version, kind.schema_text, kind.columns)
    with pytest.raises(error, match=f"'f': .*{version}"):
        manifest.decode([AvroSource("f", other.encode(sample(), "null", None))])


def test_entries_of_older_writers_have_nulls_for_newer_fields():
    kind = manifest._KIND
    cut = kind.schema_text.index(',{"name":"_EXTERNAL_PATH"')
    text = kind.schema_text[:cut] + "]}}]}"
    older = type(kind)(kind.title, kind.version, text, kind.columns)
    entries = manifest.decode([AvroSource("f", older.encode(sample(), "null", None))])
    assert entries.equals(sample())
    assert entries["write_cols"].null_count == entries.num_rows


def test_a_missing_column_is_refused_on_writing():
    with pytest.raises(InvalidInputError, match="columns are missing: level"):
        manifest.encode(sample().drop_columns(["level"]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_corrupt(kind):
    data = Path(sources("dv_append_64", kind)[-1].path).read_bytes()
    for length in range(len(data)):
        with pytest.raises(CorruptFileError, match="'cut'"):
            MODULES[kind].decode([AvroSource("cut", data=data[:length], size_bytes=len(data))])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(flips=st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 7)), min_size=1, max_size=4))
def test_flipped_bits_raise_nothing_but_named_errors(kind, flips):
    plain = MODULES[kind].encode(MODULES[kind].decode(sources("dv_append_64", kind)[-1:]), codec="null")
    damaged = bytearray(plain)
    for position, bit in flips:
        damaged[position % len(damaged)] ^= 1 << bit
    message = "'damaged'"
    try:
        MODULES[kind].decode([AvroSource("damaged", data=bytes(damaged))])
    except (CorruptFileError, UnsupportedError) as error:
        message = str(error)
    assert "'damaged'" in message


CONTRADICTIONS = [
    ("index_type", "DELETION_VECTORZ", "dv_ranges: expected with index_type DELETION_VECTORS and no other"),
    ("index_type", "HASH", "found 'HASH'"),
    ("dv_ranges", None, "found 'DELETION_VECTORS'"),
    ("dv_ranges", [None], "expected a range for each vector, found null"),
]


@pytest.mark.parametrize(("column", "value", "message"), CONTRADICTIONS)
def test_deletion_vectors_are_never_lost_to_a_damaged_type_or_range(column, value, message):
    entries = index_manifest.decode(sources("dv_append", "index-manifest-")[-1:])
    with pytest.raises(CorruptFileError, match=rf"'f': .*{re.escape(message)}"):
        index_manifest.decode([AvroSource("f", index_manifest.encode(replaced(entries, column, value)))])
