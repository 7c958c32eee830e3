"""Bodies of 3000 rows, against the digests of those that Java Paimon 2.0.0 made of the same values."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from polynya.model import types as t
from polynya.paimon.file_index import build

NUMBERS = np.arange(3000, dtype=np.int64)
COLUMNS = {
    "int": (t.Int(), pa.array((NUMBERS * 7919 % 503 - 200).astype(np.int32))),
    "bigint": (t.BigInt(), pa.array(NUMBERS % 401 * 12345678912345 - 50000)),
    "text": (t.VarChar(), pa.array([f"kéy{number % 211}" + "-" * int(number % 5) * 90 for number in NUMBERS])),
    "timestamp": (t.Timestamp(3), pa.array(NUMBERS % 301 * 86400123 - 40000000000).cast(pa.timestamp("ms"))),
}
DIGESTS = [
    ("bitmap", "1", "int", "0ea8f3965609f3c7"),
    ("bitmap", "1", "bigint", "006e5b8bde8ba78f"),
    ("bitmap", "1", "text", "5b3e7d0bd7fcb3e2"),
    ("bitmap", "1", "timestamp", "c3b9b57b8b1cf68c"),
    ("bitmap", "2", "int", "a08701604190ec68"),
    ("bitmap", "2", "bigint", "60695f3c2cb73c0e"),
    ("bitmap", "2", "text", "3907ba4431f64abb"),
    ("bitmap", "2", "timestamp", "37555054512c064d"),
    ("range-bitmap", None, "int", "29fbb020b20b5ef5"),
    ("range-bitmap", None, "bigint", "e7287a6d79c64814"),
    ("range-bitmap", None, "text", "f72c8e7636d0fad3"),
    ("range-bitmap", None, "timestamp", "2d6c312f265c7e94"),
    ("bsi", None, "int", "82480ba62c013bc1"),
    ("bsi", None, "bigint", "7838162354129c58"),
    ("bsi", None, "timestamp", "6f8873b54254aa9a"),
    ("bloom-filter", None, "int", "d16837377b9c8e4d"),
    ("bloom-filter", None, "bigint", "f7966dc39c4889f1"),
    ("bloom-filter", None, "text", "02e6deec7ec41843"),
    ("bloom-filter", None, "timestamp", "86e8197c927a7316"),
]


@pytest.mark.parametrize(("kind", "version", "column", "digest"), DIGESTS)
def test_bodies_are_those_that_java_makes(kind, version, column, digest):
    type, values = COLUMNS[column]
    body = build(kind, values, type, {"version": version} if version else {})
    assert hashlib.sha256(body).hexdigest()[:16] == digest
