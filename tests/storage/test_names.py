import re

import pyarrow as pa
import pyarrow.compute as pc

from polynya.storage import BAD_FILE_NAME

GOOD = ["data-1.parquet", "a b", "a..b", "...", ".hidden", "größe", "a%2Fb", "a\nb"]
BAD = ["", ".", "..", "/", "a/b", "../a", "/etc/passwd", "a/", "a\0", "\0"]


def test_a_file_name_that_could_leave_its_folder_is_bad():
    assert [name for name in GOOD + BAD if re.search(BAD_FILE_NAME, name)] == BAD


def test_the_pattern_checks_a_column_alike():
    found = pc.match_substring_regex(pa.array(GOOD + BAD), BAD_FILE_NAME)
    assert found.to_pylist() == [False] * len(GOOD) + [True] * len(BAD)
