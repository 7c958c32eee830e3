"""Some rows of a Parquet file, read by the pages that hold them and no others.

Arrow reads whole column chunks. So the pages of a column that hold the rows, with the dictionary before them, are put
into a Parquet file of their own, in memory: one column, one row group, with a footer made from that of the file. Pages
of different columns begin at different rows; each column is cut to the rows wanted when it has been read.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polynya.arrow.files.page_index import PageIndex
from polynya.codec import thrift
from polynya.codec.thrift import I32, I64, LIST, STRUCT, Field, List, Struct
from polynya.errors import CorruptFileError

_MAGIC = b"PAR1"
_FOOTER_VERSION, _FOOTER_SCHEMA, _FOOTER_ROWS, _FOOTER_GROUPS = 1, 2, 3, 4
_ELEMENT_NAME, _ELEMENT_CHILDREN = 4, 5
_GROUP_CHUNKS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_CHUNK_OFFSET, _CHUNK_META = 2, 3
_KEPT_META = (1, 2, 3, 4, 6)  # type, encodings, path, codec, uncompressed bytes
_META_VALUES, _META_BYTES, _META_PAGES, _META_DICTIONARY = 5, 7, 9, 11


class _Cut(NamedTuple):
    """The pages of a column that hold some rows: their bytes, and which rows of the row group they are."""

    dictionary: bytes
    data: bytes
    start: int
    row_count: int


def read_rows(index: PageIndex, group: int, leaves: Sequence[int], rows: tuple[int, int]) -> pa.RecordBatch:
    """The rows of the row group, first to end, with the root columns of the leaves; a leaf has one value per row."""
    columns: dict[str, pa.Array] = {}
    for leaf in leaves:
        path = _path(index.schema, leaf, index.name)
        found = _read_leaf(index, group, leaf, path, rows)
        name = thrift.value(path[1], _ELEMENT_NAME, bytes, index.name).decode()
        columns[name] = _joined(columns[name], found) if name in columns else found
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _read_leaf(index: PageIndex, group: int, leaf: int, path: list[Struct], rows: tuple[int, int]) -> pa.Array:
    cut = _cut(index, group, leaf, rows)
    file = pq.ParquetFile(pa.BufferReader(_one_column_file(_kept_meta(index, group, leaf), path, cut, index.name)))
    column = file.read(use_threads=False).column(0)
    if len(column) != cut.row_count:
        raise CorruptFileError(
            f"data file '{index.name}', column {leaf}: expected {cut.row_count} rows in its pages, found {len(column)}"
        )
    wanted = column.slice(rows[0] - cut.start, rows[1] - rows[0])
    return wanted.combine_chunks() if wanted.num_chunks != 1 else wanted.chunk(0)


def _cut(index: PageIndex, group: int, leaf: int, rows: tuple[int, int]) -> _Cut:
    pages = index.pages(group, leaf)
    assert pages is not None, "the caller has looked"
    first, last = (int(at) - 1 for at in np.searchsorted(pages.first_rows, (rows[0], rows[1] - 1), side="right"))
    ends = np.append(pages.first_rows[1:], index.row_count(group))
    begin, end = int(pages.offsets[first]), int(pages.offsets[last] + pages.sizes[last])
    chunk = index.parquet.metadata.row_group(group).column(leaf)
    place = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    size = int(pages.offsets[0]) - place if place else 0
    dictionary = index.read(place, size) if place and size > 0 else b""
    start = int(pages.first_rows[first])
    return _Cut(dictionary, index.read(begin, end - begin), start, int(ends[last]) - start)


def _path(schema: list[Struct], leaf: int, name: str) -> list[Struct]:
    """The schema elements from the root to a leaf."""
    path: list[Struct] = []
    left: list[int] = []
    leaves = -1
    for element in schema:
        while left and left[-1] == 0:
            left.pop()
            path.pop()
        if left:
            left[-1] -= 1
        children = thrift.value(element, _ELEMENT_CHILDREN, int, name) if _ELEMENT_CHILDREN in element else 0
        path.append(element)
        left.append(children)
        leaves += not children
        if leaves == leaf:
            return path
    raise CorruptFileError(f"data file '{name}': its schema has no leaf {leaf}")


def _kept_meta(index: PageIndex, group: int, leaf: int) -> Struct:
    """What the footer says of a column chunk, whichever of its pages are read."""
    meta: Struct = thrift.value(index.chunk(group, leaf), _CHUNK_META, dict, index.name)
    if missing := [id for id in _KEPT_META if id not in meta]:
        raise CorruptFileError(f"data file '{index.name}', column {leaf}: its footer lacks the fields {missing}")
    return {id: meta[id] for id in _KEPT_META}


def _one_column_file(meta: Struct, path: list[Struct], cut: _Cut, name: str) -> bytes:
    """A Parquet file of one row group with the pages of one column."""
    size = len(cut.dictionary) + len(cut.data)
    own: Struct = meta | {
        _META_VALUES: Field(I64, cut.row_count),
        _META_BYTES: Field(I64, size),
        _META_PAGES: Field(I64, len(_MAGIC) + len(cut.dictionary)),
    }
    if cut.dictionary:
        own[_META_DICTIONARY] = Field(I64, len(_MAGIC))
    group = {
        _GROUP_CHUNKS: Field(
            LIST, List(STRUCT, [{_CHUNK_OFFSET: Field(I64, len(_MAGIC)), _CHUNK_META: Field(STRUCT, own)}])
        ),
        _GROUP_BYTES: Field(I64, size),
        _GROUP_ROWS: Field(I64, cut.row_count),
    }
    only_child = {_ELEMENT_CHILDREN: Field(I32, 1)}
    footer = thrift.encode(
        {
            _FOOTER_VERSION: Field(I32, 2),
            _FOOTER_SCHEMA: Field(LIST, List(STRUCT, [*(one | only_child for one in path[:-1]), path[-1]])),
            _FOOTER_ROWS: Field(I64, cut.row_count),
            _FOOTER_GROUPS: Field(LIST, List(STRUCT, [group])),
        },
        name,
    )
    return b"".join((_MAGIC, cut.dictionary, cut.data, footer, len(footer).to_bytes(4, "little"), _MAGIC))


def _joined(one: pa.Array, other: pa.Array) -> pa.Array:
    """Two readings of one ROW, with the members of both."""
    members = dict(zip((field.name for field in one.type), one.flatten(), strict=True))
    for field, found in zip(other.type, other.flatten(), strict=True):
        members[field.name] = _joined(members[field.name], found) if field.name in members else found
    mask = pc.is_null(one) if one.null_count else None
    return pa.StructArray.from_arrays(list(members.values()), list(members), mask=mask)
