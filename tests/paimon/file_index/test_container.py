import pytest
from hypothesis import given
from hypothesis import strategies as st

from polynya.errors import CorruptFileError, InvalidInputError
from polynya.paimon.file_index import container

WORKED = bytes.fromhex(
    "00054e4ed01a35ae 00000001 00000036 00000001 0002 6964 00000001 000c 626c6f6f6d2d66696c746572 00000036 0000000a"
    "00000000 00000003 882101414000"
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def test_the_worked_container_decodes_and_encodes_to_itself():
    index = container.decode(WORKED, "f.index")
    body = index.body("id", "bloom-filter")
    assert (index.types("id"), body) == (("bloom-filter",), bytes.fromhex("00000003 882101414000"))
    assert container.encode({"id": {"bloom-filter": body}}) == WORKED


def test_a_column_without_an_index_has_no_types():
    assert container.decode(WORKED, "f.index").types("other") == ()


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.none() | st.binary(max_size=9), max_size=3), max_size=4))
def test_containers_round_trip(columns):
    index = container.decode(container.encode(columns), "f.index")
    found = {column: {type: index.body(column, type) for type in index.types(column)} for column in index.slots}
    assert found == columns


def test_names_are_in_modified_utf_8():
    data = container.encode({"a\0𝒳": {"t": b""}})
    assert b"\x00\x09a\xc0\x80\xed\xa0\xb5\xed\xb2\xb3" in data


def test_an_index_over_no_row_starts_at_minus_1():
    assert container.encode({"m[k]": {"t": None}}).endswith(b"t" + b"\xff" * 4 + bytes(8))


def test_a_name_too_long_for_java_is_refused():
    with pytest.raises(InvalidInputError, match="at most 65535 bytes"):
        container.encode({"x" * 65536: {}})


def test_bytes_that_a_later_version_adds_to_the_head_are_passed_over():
    data = WORKED[:12] + b"\0\0\0\x38" + WORKED[16:42] + b"\0\0\0\x38" + WORKED[46:50] + b"\0\0\0\2??" + WORKED[54:]
    assert container.decode(data, "f").body("id", "bloom-filter") == WORKED[54:]


@pytest.mark.parametrize("size", range(54))
def test_a_container_cut_short_is_corrupt(size):
    with pytest.raises(CorruptFileError, match=r"f\.index"):
        container.decode(WORKED[:size], "f.index")


@pytest.mark.parametrize("at", [7, 11, 14, 16, 20, 38, 42])
def test_a_damaged_head_is_corrupt(at):
    data = bytearray(WORKED)
    data[at] ^= 0x80
    with pytest.raises(CorruptFileError, match=r"f\.index"):
        container.decode(bytes(data), "f.index")
