"""Hash 1 M keys of a bigint and a string: by column, against one row at a time. Prints seconds and the ratio."""

import time

import numpy as np
import pyarrow as pa

from polynya.arrow.route import bucket_ids
from polynya.codec.binary_row import encode_row
from polynya.codec.binary_rows import decode_rows, encode_rows
from polynya.codec.murmur import hash_words, row_hashes

ROWS = 1_000_000
SAMPLE = 50_000
TYPES = [pa.int64(), pa.string()]


def seconds(work, repeat=5):
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    numbers = np.random.default_rng(1).integers(-(2**60), 2**60, ROWS)
    columns = [pa.array(numbers), pa.array([f"customer-{number % ROWS}" for number in numbers.tolist()])]
    sample = list(zip(*(column[:SAMPLE].to_pylist() for column in columns), strict=True))
    encoded = encode_rows(columns)
    vector = seconds(lambda: row_hashes(columns))
    scalar = seconds(lambda: [hash_words(encode_row(row, TYPES)[4:]) for row in sample], 2) * ROWS / SAMPLE
    assert row_hashes(columns)[:SAMPLE].tolist() == [hash_words(encode_row(row, TYPES)[4:]) for row in sample]
    print(f"hash by column {vector:8.3f} s")
    print(f"hash by row    {scalar:8.3f} s (from {SAMPLE} rows)")
    print(f"ratio          {scalar / vector:8.1f}")
    print(f"bucket         {seconds(lambda: bucket_ids(columns, 64, 'default')):8.3f} s")
    print(f"encode rows    {seconds(lambda: encode_rows(columns)):8.3f} s")
    print(f"decode rows    {seconds(lambda: decode_rows(encoded, TYPES, name='rows')):8.3f} s")


if __name__ == "__main__":
    main()
