"""Delete files of an Iceberg table as the reader of its data files takes them."""

import pyarrow as pa
import pyarrow.parquet as pq

from polynya.arrow.iceberg_deletes import DeleteFile, Deletes
from polynya.iceberg.manifest import EQUALITY_DELETES
from polynya.model import types as t
from polynya.storage.local import LocalStorage

FIELD = t.Field(1, "id", t.BigInt())


def write_deletes(folder, name, ids):
    schema = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    pq.write_table(pa.table({"id": ids}, schema), folder / name)
    return DeleteFile(name, "parquet", EQUALITY_DELETES, len(ids), 0, None, None, (1,))


def test_an_equality_delete_file_without_rows_deletes_nothing(tmp_path):
    deletes = Deletes(LocalStorage(str(tmp_path)), None, {1: FIELD})
    empty, some = write_deletes(tmp_path, "a", []), write_deletes(tmp_path, "b", [2, None])
    assert deletes.rows([empty]) == []
    (both,) = deletes.rows([empty, some])
    assert both.hit([pa.array([1, 2, None])]).tolist() == [False, True, True]
