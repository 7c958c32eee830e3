"""Every JSON file kind of a table: golden files, round trips, damage."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_data import golden_expected, golden_names, golden_table
from polynya.codec import json_text
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.paimon import consumer, hint, schema_file, snapshot, statistics, tag
from polynya.paimon.snapshot import CommitKind, Snapshot

KINDS = {
    "schema": (schema_file.decode, schema_file.encode, "schema/schema-*"),
    "snapshot": (snapshot.decode, snapshot.encode, "snapshot/snapshot-*"),
    "changelog": (snapshot.decode, snapshot.encode, "changelog/changelog-*"),
    "tag": (tag.decode, tag.encode, "tag/tag-*"),
    "consumer": (consumer.decode, consumer.encode, "consumer/consumer-*"),
    "statistics": (statistics.decode, statistics.encode, "statistics/stat-*"),
}


def golden_files(pattern: str) -> Iterator[Path]:
    for name in golden_names():
        yield from golden_table(name).glob(pattern)
        yield from golden_table(name).glob(f"branch/*/{pattern}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_golden_file_encodes_to_its_own_bytes(kind):
    decode, encode, pattern = KINDS[kind]
    files = list(golden_files(pattern))
    assert files
    different = [str(path) for path in files if encode(decode(path.read_bytes(), name=path.name)) != path.read_bytes()]
    assert different == []


def test_every_golden_hint_is_a_number():
    for pattern in ("snapshot/LATEST", "snapshot/EARLIEST", "changelog/LATEST"):
        for path in golden_files(pattern):
            assert hint.encode(hint.decode(path.read_bytes())) == path.read_bytes()


@pytest.mark.parametrize("data", [b"", b"x", b"-1", b"1\x00", b"9" * 20, b"9223372036854775808", "١".encode()])
def test_damaged_hint_is_none(data):
    assert hint.decode(data) is None


def test_snapshots_agree_with_what_paimon_reports():
    for name in golden_names():
        for known in golden_expected(name).get("snapshots", []):
            path = golden_table(name) / "snapshot" / f"snapshot-{known['id']}"
            found = snapshot.decode(path.read_bytes(), name=path.name)
            assert found.commit_kind == known["kind"]
            assert found.id == known["id"]


def test_keys_agree_with_what_paimon_reports():
    for name in golden_names():
        known = golden_expected(name)
        newest = max((golden_table(name) / "schema").glob("schema-*"), key=lambda path: int(path.name[7:]))
        found = schema_file.decode(newest.read_bytes(), name=newest.name)
        assert list(found.primary_key) == known["primaryKeys"]
        assert list(found.partition_by) == known["partitionKeys"]
        assert list(found.names) == [column[0] for column in known["columns"]]


def test_tag_keeps_wall_clock_and_retention():
    path = next(path for path in golden_files("tag/tag-*") if b"tagTimeRetained" in path.read_bytes())
    found = tag.decode(path.read_bytes(), name=path.name)
    assert found.create_time_ns % 10**9 == 152765714
    assert found.time_retained_ns == 3153600000 * 10**9
    assert found.snapshot.extra == {}


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "[ 1970, 1, 1, 0, 0 ]"),
        (5 * 10**9, "[ 1970, 1, 1, 0, 0, 5 ]"),
        (7, "[ 1970, 1, 1, 0, 0, 0, 7 ]"),
        (-(10**9), "[ 1969, 12, 31, 23, 59, 59 ]"),
    ],
)
def test_wall_clock_drops_trailing_zeros(time_ns, text):
    data = tag.encode(tag.Tag(example_snapshot(), time_ns, 5 * 10**9))
    assert f'"tagCreateTime" : {text},\n  "tagTimeRetained" : 5.000000000\n}}' in data.decode()
    assert tag.decode(data, name="t").create_time_ns == time_ns


def test_unknown_keys_of_a_snapshot_are_kept():
    original = replace(example_snapshot(), extra={"logOffsets": {"0": 1}, "new": [1, "a", None, True]})
    assert snapshot.decode(snapshot.encode(original), name="s") == original


def test_snapshot_of_an_old_version_may_lack_what_came_later():
    data = b"""{"id": 3, "schemaId": 0, "baseManifestList": "a", "deltaManifestList": "b", "commitUser": "u",
               "commitIdentifier": 1, "commitKind": "APPEND", "timeMillis": 5, "changelogManifestList": null}"""
    found = snapshot.decode(data, name="snapshot-3")
    assert (found.version, found.total_record_count, found.changelog_manifest_list) == (1, None, None)


@pytest.mark.parametrize("key", ["baseManifestList", "indexManifest", "statistics"])
@pytest.mark.parametrize("bad", ["../x", "a/b", "", "..", "a\\u0000b"])
def test_file_names_that_leave_their_folder_are_refused(key, bad):
    data = snapshot.encode(replace(example_snapshot(), index_manifest="i", statistics="s"))
    data = re.sub(f'"{key}" : "[^"]*"', f'"{key}" : "{bad.replace(chr(92), chr(92) * 2)}"', data.decode()).encode()
    with pytest.raises(CorruptFileError, match=rf"'snapshot-7', {key}: expected a plain file name"):
        snapshot.decode(data, name="snapshot-7")


@pytest.mark.parametrize(
    ("version", "options"),
    [(1, {"bucket": "1", "file.format": "orc"}), (2, {"file.format": "orc"}), (3, {})],
)
def test_schema_of_an_old_version_gets_the_defaults_of_its_time(version, options):
    data = b"""{"version": %d, "id": 0, "fields": [], "highestFieldId": -1, "partitionKeys": [], "primaryKeys": [],
               "options": {}, "surprise": {"a": 1}, "comment": null}"""
    found = schema_file.decode(data % version, name="schema-0")
    assert found.options == options
    assert found.comment is None
    assert schema_file.decode(schema_file.encode(found), name="schema-0") == found


def test_schema_without_version_is_the_first_version():
    data = b'{"id":0,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{}}'
    assert schema_file.decode(data, name="s").version == 1


SCHEMA = b"""{"version": 3, "id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"},
{"id": 1, "name": "b", "type": %s}],
"highestFieldId": 1, "partitionKeys": [], "primaryKeys": %s, "options": {}, "timeMillis": 0}"""


@pytest.mark.parametrize(
    ("type", "keys", "part"),
    [
        (b'"INT"', b'["zz"]', "primaryKeys"),
        (b'"INT"', b'["a", "a"]', "primaryKeys"),
        (b'"INT"', b"[1]", "primaryKeys"),
        (b'"INT"', b"{}", "primaryKeys"),
        (b'"NOPE"', b"[]", "type 'NOPE'"),
        (b"17", b"[]", "type"),
        (b'{"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}]}', b"[]", "fields"),
        (b'{"type": "ROW"}', b"[]", "type.fields"),
        (b'{"type": "ARRAY NULL NOT", "element": "INT"}', b"[]", "type.type"),
        (b'{"type": "VECTOR", "element": "STRING", "length": 3}', b"[]", "length"),
        (b'{"type": "VECTOR", "element": "INT", "length": 0}', b"[]", "length"),
        (b'{"type":"ARRAY","element":' * 150 + b'"INT"' + b"}" * 150, b"[]", "inside each other"),
        (b'{"type":"ARRAY","element":' * 100_000, b"[]", "whole file"),
        (b"[" * 100_000, b"[]", "whole file"),
        (b'"\\ud800"', b"[]", "whole file"),
        (b"1e999999999", b"[]", "type"),
        (b"9" * 5000, b"[]", "whole file"),
        (b"NaN", b"[]", "whole file"),
    ],
)
def test_schema_of_a_wrong_shape_names_file_and_part(type, keys, part):
    with pytest.raises(CorruptFileError, match="schema-9") as caught:
        schema_file.decode(SCHEMA % (type, keys), name="schema-9")
    assert part in str(caught.value)


@pytest.mark.parametrize("value", ["-1", "9223372036854775808", '"1"', "1.5", "true", "[]", "{}", "null"])
def test_absurd_snapshot_id_is_refused(value):
    data = re.sub(r'"id" : \d+', f'"id" : {value}', snapshot.encode(example_snapshot()).decode()).encode()
    with pytest.raises(CorruptFileError, match="'s', id: expected"):
        snapshot.decode(data, name="s")


@pytest.mark.parametrize("kind", KINDS)
def test_truncation_at_any_byte_is_corrupt(kind):
    decode, _, pattern = KINDS[kind]
    data = min((path.read_bytes() for path in golden_files(pattern)), key=len)
    for end in range(len(data)):
        with pytest.raises(CorruptFileError, match="file 'some-name'"):
            decode(data[:end], name="some-name")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b"", b"[]", b"1", b"null", b'"x"', b"{}", b"\xff\xfe{}", b"{]", b"{} {}"])
def test_other_json_is_corrupt(kind, data):
    with pytest.raises(CorruptFileError, match="file 'some-name'"):
        KINDS[kind][0](data, name="some-name")


def _changed(data: bytes, place: int, value: int) -> bytes:
    place %= len(data)
    return data[:place] + bytes([value]) + data[place + 1 :]


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_byte_is_read_or_corrupt_and_nothing_else(kind):
    decode: Callable[..., object] = KINDS[kind][0]
    data = min((path.read_bytes() for path in golden_files(KINDS[kind][2])), key=len)
    for place in range(len(data)):
        for value in (0, 0x22, 0x39, 0x5B, 0x7D, 0xFF):
            try:
                decode(_changed(data, place, value), name="some-name")
            except CorruptFileError as error:
                assert "some-name" in str(error)  # noqa: PT017  # most changes are harmless: there is nothing to expect


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values.filter(lambda v: v is not None)))
def test_what_is_printed_is_read_again(members):
    def without_nulls(value):
        if isinstance(value, dict):
            return {key: without_nulls(part) for key, part in value.items() if part is not None}
        return [without_nulls(part) for part in value] if isinstance(value, list) else value

    expected = {key: without_nulls(value) for key, value in members.items()}
    assert json_text.decode(json_text.encode(members), name="x").members == expected
    assert json_text.decode(json_text.render_flat(members).encode(), name="x").members == expected


def test_control_characters_are_escaped_as_paimon_does():
    assert json_text.quote('k\x01\x1f\x7f"\\/\b\t\n\f\ré😀') == '"k\\u0001\\u001F\x7f\\"\\\\/\\b\\t\\n\\f\\ré😀"'
    assert json_text.render(Decimal("5.000000000")) == "5.000000000"


def example_snapshot() -> Snapshot:
    return Snapshot(
        id=7,
        schema_id=0,
        base_manifest_list="manifest-list-a-0",
        delta_manifest_list="manifest-list-a-1",
        commit_user="u",
        commit_identifier=snapshot.BATCH_COMMIT_IDENTIFIER,
        commit_kind=CommitKind.APPEND,
        time_ms=1,
        total_record_count=1,
        delta_record_count=1,
        properties={"a": "b"},
    )


def with_member(text: str) -> bytes:
    """A golden tag with one more member."""
    data = next(golden_files("tag/tag-*")).read_bytes()
    return data.rstrip().removesuffix(b"}") + f', "more" : {text}}}'.encode()


@pytest.mark.parametrize("number", ["1E+99999999999999999999", "1E-99999999999999999999"])
def test_a_number_beyond_all_decimals_is_corrupt(number):
    with pytest.raises(CorruptFileError, match=re.escape("'tag-1', whole file: expected JSON")):
        tag.decode(with_member(number), name="tag-1")


def test_what_is_read_from_the_deep_is_written_again():
    found = tag.decode(with_member("[" * 300 + "]" * 300), name="tag-1")
    assert tag.decode(tag.encode(found), name="tag-1") == found


@pytest.mark.parametrize("depth", [400, 900, 100_000])
def test_json_too_deep_to_be_written_again_is_corrupt(depth):
    with pytest.raises(CorruptFileError, match="'tag-1', whole file: expected JSON of reasonable depth"):
        tag.decode(with_member("[" * depth + "]" * depth), name="tag-1")


TWINS = [{"id": 1, "name": "x", "type": "INT"}, {"id": 2, "name": "x", "type": "INT"}]
NUMBERLESS = [{"id": -1, "name": "x", "type": "INT"}]


@pytest.mark.parametrize(
    "type", [{"type": "ROW", "fields": TWINS}, {"type": "ROW", "fields": NUMBERLESS}, "ROW<x INT>"]
)
def test_members_of_a_row_have_names_and_ids_of_their_own(type):
    column = {"id": 0, "name": "a", "type": {"type": "ARRAY", "element": type}}
    members = {"id": 0, "fields": [column], "highestFieldId": 2, "partitionKeys": [], "primaryKeys": [], "options": {}}
    with pytest.raises(CorruptFileError, match="'schema-0', fields: expected every name once and every id once"):
        schema_file.decode(json_text.encode(members), name="schema-0")


def test_half_a_character_is_not_written():
    with pytest.raises(InvalidInputError, match="half of a character"):
        json_text.encode({"comment": "\ud800"})
