"""How a budget of Arrow memory is shared by those who read at once.

| who | share |
|---|---|
| rows that wait for their reader | half of the budget, in equal parts for the streams that are read at once |
| each of these streams | an equal part of the other half |
| a stream of single files | batches of an eighth of its part: as read, as converted, as filtered |
| a stream that merges | a sixth of its part for the heads of all runs, in batches of half a head |

What stays outside of the budget, for each file that is open: of Parquet the pages at hand, one of every column that is
read (and the stored bytes of a row group, when the file is not on a local disk); of ORC a stripe; of Avro the stored
file. No batch is made smaller than 64 KiB, or than a row.
"""

import os

from polynya.arrow.files import BatchSize

DEFAULT_BYTES_MAX = 512 * 2**20  # more makes no read faster


def default_budget_bytes() -> int:
    """A quarter of this machine's memory, but no more than is of use."""
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(machine_bytes // 4, DEFAULT_BYTES_MAX)


def stream_bytes(budget_bytes: int, stream_count: int) -> int:
    """The part of one of several streams that are read at once; as much waits for the reader of each."""
    return max(1, budget_bytes // (2 * stream_count))


def raw_batches(stream_bytes: int) -> BatchSize:
    """The batches of a stream that reads one file after the other."""
    return BatchSize(size_bytes=stream_bytes // 8)


def head_bytes(stream_bytes: int, run_count: int) -> int:
    """How much of each run is loaded by a stream that merges."""
    return stream_bytes // (6 * max(1, run_count))


def run_batches(stream_bytes: int, run_count: int) -> BatchSize:
    """The batches of each run of a stream that merges."""
    return BatchSize(size_bytes=head_bytes(stream_bytes, run_count) // 2)
