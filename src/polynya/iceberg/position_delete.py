"""Position delete files: the deleted rows of data files, as Parquet with two columns, sorted by both.

| column | id | meaning |
|---|---|---|
| file_path | 2147483546 | the data file, exactly as its manifest names it |
| pos | 2147483545 | the position of a deleted row, from 0 |
"""

import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from polynya.codec.bitmap import Bitmap

FILE_PATH_ID, POSITION_ID = 2147483546, 2147483545
SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": str(FILE_PATH_ID)}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": str(POSITION_ID)}),
    ]
)


def encode(data_file: str, positions: Bitmap) -> bytes:
    """The file that deletes these rows of one data file."""
    rows = np.array(positions, np.int64)
    table = pa.table([pa.repeat(pa.scalar(data_file), len(rows)), pa.array(rows)], schema=SCHEMA)
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def bounds_of(data_file: str, positions: Bitmap) -> tuple[Sequence[dict[str, object]], Sequence[dict[str, object]]]:
    """Lower and upper bounds of such a file; whole paths, since equal ones say that it is about one data file."""
    path, least, most = data_file.encode(), positions.min(), positions.max()
    return tuple(
        [{"key": FILE_PATH_ID, "value": path}, {"key": POSITION_ID, "value": int(end).to_bytes(8, "little")}]
        for end in (least, most)
    )  # type: ignore[return-value]  # two of them
