import pyarrow as pa
import pyarrow.compute as pc
import pytest

from polynya.errors import CorruptFileError
from polynya.storage import BAD_FILE_NAME, require_file_name

GOOD = ["data-1.parquet", "a b", "a..b", "...", ".hidden", "größe", "a%2Fb", "a\nb"]
BAD = ["", ".", "..", "/", "a/b", "../a", "/etc/passwd", "a/", "a\0", "\0"]


@pytest.mark.parametrize("name", GOOD)
def test_a_plain_file_name_is_believed(name):
    assert require_file_name(name, "manifest-1") == name


@pytest.mark.parametrize("name", BAD)
def test_a_file_name_that_could_leave_its_folder_is_corruption(name):
    with pytest.raises(CorruptFileError, match="manifest-1, entry 3: expected a plain file name"):
        require_file_name(name, "manifest-1, entry 3")


def test_the_pattern_checks_a_column_alike():
    found = pc.match_substring_regex(pa.array(GOOD + BAD), BAD_FILE_NAME)
    assert found.to_pylist() == [False] * len(GOOD) + [True] * len(BAD)
