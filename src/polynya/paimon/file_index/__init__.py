"""Indexes of data files: small summaries of columns that tell which rows of a file may match a predicate.

A container (`container`) holds, per column, bodies of the kinds in `kinds`: `bloom_filter`, `bitmap`, `bsi` and
`range_bitmap`. Here are only bytes and values; where a container is kept is the business of the caller.
"""

from polynya.paimon.file_index.container import FileIndex, decode, encode
from polynya.paimon.file_index.evaluate import evaluate
from polynya.paimon.file_index.kinds import KINDS
from polynya.paimon.file_index.plan import ColumnIndex, index_options
from polynya.paimon.file_index.result import REMAIN, SKIP, Result, Verdict
from polynya.paimon.file_index.writer import IndexWriter, build, open_index_writer

__all__ = [
    "KINDS",
    "REMAIN",
    "SKIP",
    "ColumnIndex",
    "FileIndex",
    "IndexWriter",
    "Result",
    "Verdict",
    "build",
    "decode",
    "encode",
    "evaluate",
    "index_options",
    "open_index_writer",
]
