"""Hash index files: what Paimon wrote, the round trip, damage."""

import numpy as np
import pyarrow as pa
import pytest

from golden_data import golden_expected
from golden_metadata import index_entries
from polynya.codec.murmur import row_hashes
from polynya.errors import CorruptFileError
from polynya.paimon import hash_index

TABLES = ["dyn_bucket", "dyn_bucket_partitioned", "dyn_bucket_overwrite", "dyn_bucket_index_in_dir"]


@pytest.mark.parametrize("table", TABLES)
def test_golden_file_decodes_and_encodes_to_the_same_bytes(table):
    entries = index_entries(table, "HASH")
    assert entries
    for entry, data in entries:
        hashes = hash_index.decode(data, name=entry["_FILE_NAME"])
        assert len(hashes) == entry["_ROW_COUNT"]
        assert hash_index.encode(hashes) == data


def test_golden_file_holds_the_hashes_of_the_keys():
    (key,) = golden_expected("dyn_bucket")["primaryKeys"]
    columns = [name for name, _ in golden_expected("dyn_bucket")["columns"]]
    keys = [row[columns.index(key)] for row in golden_expected("dyn_bucket")["rows"]]
    stored = np.concatenate([hash_index.decode(data, name="index") for _, data in index_entries("dyn_bucket", "HASH")])
    assert set(row_hashes([pa.array(keys, pa.int32())]).tolist()) == set(stored.tolist())


def test_worked_example_has_its_bytes():
    hashes = np.array([-771300025, 1340390384, 1465514398], dtype=np.int32)
    assert hash_index.encode(hashes).hex() == "d206e5474fe4bbf05759f99e"


def test_empty_file_has_no_hashes():
    assert len(hash_index.decode(b"", name="index-1")) == 0


def test_file_that_ends_inside_a_hash_is_corrupt():
    with pytest.raises(CorruptFileError, match=r"index-1.*multiple of 4 bytes, found 7"):
        hash_index.decode(bytes(7), name="index-1")
