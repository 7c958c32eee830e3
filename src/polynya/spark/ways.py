"""Which way each file of a plan is read: by Spark's own scan, or by our reader in a Python worker.

The native way is for raw files that Spark reads to the same values: Parquet or ORC on a local disk, whose columns have
types that Spark stores alike, and whose older columns become today's by a cast on which Spark and Paimon agree. Columns
are matched by field id, so a name that was dropped and given again is never confused. Everything else goes to Python,
with the reason.

Values of partition columns come from the manifests. Where the folder's text says the same to Spark (texts, integers,
days), Spark takes it from there and prunes by it; the few other partitions get a scan each, with literals.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.model import partition as partitions
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options_data import DATA_EVOLUTION_ENABLED, DATA_FILE_PATH_DIRECTORY
from polynya.model.schema import SYSTEM_FIELDS, Schema
from polynya.paimon.layout import format_of
from polynya.table.paths import data_folders, partition_names

LITERAL_PARTITIONS_MAX = 16  # so many partitions may have a scan of their own
FOLDER_TYPES = (t.Char, t.VarChar, t.TinyInt, t.SmallInt, t.Int, t.BigInt, t.Date)
PLAIN_NAME = r"^[A-Za-z0-9._~-]+$"  # Spark shows such names as they are
VECTOR_BYTES_MAX = 128 * 2**20  # bitmaps that every executor gets
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"  # the text that means null to Spark
_INTEGERS: tuple[type[t.DataType], ...] = (t.TinyInt, t.SmallInt, t.Int, t.BigInt)
_DIGITS = {t.TinyInt: 3, t.SmallInt: 5, t.Int: 10, t.BigInt: 19}
_ALIKE: tuple[type[t.DataType], ...] = (t.Boolean, *_INTEGERS, t.Decimal, t.VarChar, t.VarBinary)
# Not in ORC: there a filter of a caller for 0.0 would lose -0.0, because Spark pushes it to statistics.
_ALIKE_IN_PARQUET: tuple[type[t.DataType], ...] = (*_ALIKE, t.Float, t.Double, t.Char, t.Binary, t.Date)

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NativeGroup:
    """Files for one native scan: of one format and schema, all with deletion vectors or none.

    `partition` holds the values of the partition columns where they do not come from the folders.
    """

    format: str
    schema_id: int
    has_vectors: bool
    files: pa.Table
    partition: Mapping[str, pa.Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Ways:
    """The files of a plan by the way they are read; `reasons` tells for Python how many files go there and why."""

    native: tuple[NativeGroup, ...]
    python: pa.Table
    reasons: Mapping[str, int]


@dataclass(frozen=True)
class Wish:
    """What a read needs of every file: today's columns, with those that only the filter looks at."""

    schema: Schema
    fields: tuple[t.Field, ...]
    file_schemas: Mapping[int, Schema]
    local_root: str | None  # where the table is on the local disk


def choose(files: pa.Table, wish: Wish) -> Ways:
    """The way of each file of a plan."""
    kinds = _kinds(files)
    reasons = _reasons(kinds, wish)
    is_native = np.array([reason is None for reason in reasons.dictionary.to_pylist()], bool)[reasons.indices]
    counts = _counts(reasons, ~is_native)
    groups: list[NativeGroup] = []
    refused, native = pa.array(~is_native), pa.array(is_native)
    for group in _grouped(_placed(files.filter(native), wish), kinds.filter(native)):
        own, others, reason = _by_partition(group, wish)
        groups += own
        if others.num_rows:
            counts[reason] = counts.get(reason, 0) + others.num_rows
            refused = pc.or_(refused, pc.is_in(files["file_name"], others["file_name"]))
    return Ways(tuple(groups), files.filter(refused), counts)


def _reasons(kinds: pa.Table, wish: Wish) -> pa.DictionaryArray:
    """Why each file is not read natively, or null; decided once for each kind of file."""
    first, kind = _distinct(kinds)
    texts = [_reason(one, wish) for one in kinds.take(pa.array(first)).to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(kind, pa.int32()), pa.array(texts, pa.string()))


def _kinds(files: pa.Table) -> pa.Table:
    """What the way of a file depends on."""
    return pa.table(
        {
            "raw": files["raw"],
            "inside": pc.is_null(files["external_path"]),
            "vector": pc.is_valid(files["dv_file"]),
            "plain": pc.match_substring_regex(files["file_name"], PLAIN_NAME),
            "schema_id": files["schema_id"],
            "format": _formats(files["file_name"]),
        }
    )


def _distinct(table: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first row of each distinct one, and for every row which of those it equals."""
    key = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        codes = column.combine_chunks().dictionary_encode()
        key = key * max(1, len(codes.dictionary)) + codes.indices.to_numpy()
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse


def _formats(names: pa.ChunkedArray) -> pa.Array:
    """The format of each file; names are cut to their extensions first, of which there are few."""
    endings = pc.replace_substring_regex(names.combine_chunks(), r"^[^.]*", "").dictionary_encode()
    return pa.array([format_of(ending) for ending in endings.dictionary.to_pylist()], pa.string()).take(endings.indices)


def _reason(kind: Mapping[str, object], wish: Wish) -> str | None:
    format = kind["format"]
    if DATA_EVOLUTION_ENABLED.of(wish.schema.options):
        return "columns of a row in several files"
    if not kind["raw"]:
        return "overlapping files must be merged"
    if format not in ("parquet", "orc"):
        return f"Spark has no {format} reader"
    if wish.local_root is None or not kind["inside"]:
        return "not on a local disk"
    if not kind["plain"]:
        return "file names that Spark would encode"
    if kind["vector"] and format == "orc":
        return "deletion vectors of ORC files"
    schema_id = kind["schema_id"]
    assert isinstance(schema_id, int)
    return _column_reason(wish, wish.file_schemas[schema_id], str(format))


def _column_reason(wish: Wish, old: Schema, format: str) -> str | None:
    names = [name.lower() for name in (*old.names, *wish.schema.names)]
    if len(set(names)) < len({*old.names, *wish.schema.names}):
        return "column names that differ only in case"
    for field_ in wish.fields:
        if field_.name in wish.schema.partition_by:
            continue
        if field_ in SYSTEM_FIELDS:
            return f"row tracking column '{field_.name}'"
        stored = old.find_id(field_.id)
        if stored is None:
            continue
        if not is_alike(stored.type, format):
            return f"column '{stored.name}' of {_name(stored.type)} in {format}"
        if not casts_alike(stored.type, field_.type):
            return f"column '{field_.name}' was {_name(stored.type)}"
    return None


def _name(type: t.DataType) -> str:
    return type.__class__.__name__.upper()


def is_alike(type: t.DataType, format: str) -> bool:
    """Whether Spark's reader of the format gives the values that Paimon stored."""
    match type:
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision):
            return format == "parquet" and precision <= 6
        case t.Array(element=element):
            return is_alike(element, format)
        case t.Map(key=key, value=value):
            return is_alike(key, format) and is_alike(value, format)
        case t.Row(fields=fields):
            return all(is_alike(member.type, format) for member in fields)
        case _:
            return isinstance(type, _ALIKE_IN_PARQUET if format == "parquet" else _ALIKE)


def casts_alike(old: t.DataType, new: t.DataType) -> bool:
    """Whether Spark's cast gives every value of the old type as Paimon gives it."""
    if old.with_nullable(True) == new.with_nullable(True):
        return True
    match old, new:
        case t.Decimal(), t.Decimal():
            return old.scale <= new.scale and old.precision - old.scale <= new.precision - new.scale
        case ((t.Char() | t.VarChar()), t.VarChar()):
            return old.length <= new.length
        case ((t.Binary() | t.VarBinary()), t.VarBinary()):
            return old.length <= new.length
        case (t.Timestamp(), t.Timestamp()) | (t.LocalTimestamp(), t.LocalTimestamp()):
            return _precision(old) <= _precision(new) <= 6
        case t.Float(), t.Double():
            return True
    if isinstance(old, _INTEGERS):
        if isinstance(new, t.Decimal):
            return _DIGITS[old.__class__] <= new.precision - new.scale
        if isinstance(new, _INTEGERS):
            return _DIGITS[old.__class__] <= _DIGITS[new.__class__]
        return isinstance(new, t.Double)
    return False


def _precision(type: t.DataType) -> int:
    assert isinstance(type, (t.Timestamp, t.LocalTimestamp))
    return type.precision


def _placed(files: pa.Table, wish: Wish) -> pa.Table:
    """The files with the folder of each, on the local disk."""
    if wish.local_root is None or files.num_rows == 0:
        return files.append_column("folder", pa.repeat(pa.scalar(""), files.num_rows))
    inside = data_folders(files, wish.schema)
    return files.append_column("folder", pc.binary_join_element_wise(wish.local_root, inside, "/"))


def _grouped(files: pa.Table, kinds: pa.Table) -> list[NativeGroup]:
    kinds = kinds.select(["format", "schema_id", "vector"])
    first, kind = _distinct(kinds)
    return [
        NativeGroup(one["format"], one["schema_id"], one["vector"], files.filter(pa.array(kind == index)))
        for index, one in enumerate(kinds.take(pa.array(first)).to_pylist())
    ]


def _by_partition(group: NativeGroup, wish: Wish) -> tuple[list[NativeGroup], pa.Table, str]:
    """Scans that get the partition columns right; and files that have to go to Python after all, with the reason."""
    none = group.files.slice(0, 0)
    if group.has_vectors and (pc.sum(group.files["row_count"]).as_py() or 0) > 8 * VECTOR_BYTES_MAX:
        return [], group.files, "deletion vectors too large to hand to every executor"
    fields = wish.schema.partition_fields
    if not any(one.name in wish.schema.partition_by for one in wish.fields):
        return [group], none, ""
    codes = group.files["partition"].combine_chunks().dictionary_encode()
    types = [to_arrow_type(one.type) for one in fields]
    columns = binary_rows.decode_rows(codes.dictionary, types, name="partition of a manifest entry")
    told = _told_by_folders(columns, wish)
    by_file = told[codes.indices.to_numpy()]
    groups = [_only(group, by_file)] if by_file.any() else []
    odd = np.flatnonzero(~told)
    if len(odd) > LITERAL_PARTITIONS_MAX:
        return groups, group.files.filter(pa.array(~by_file)), "partition values that folders do not tell"
    for index in odd.tolist():
        values = {one.name: column[index] for one, column in zip(fields, columns, strict=True)}
        groups.append(_only(group, codes.indices.to_numpy() == index, values))
    return groups, none, ""


def _only(group: NativeGroup, mask: Mask, values: Mapping[str, pa.Scalar] | None = None) -> NativeGroup:
    files = group.files.filter(pa.array(mask))
    return NativeGroup(group.format, group.schema_id, group.has_vectors, files, values or {})


def _told_by_folders(columns: list[pa.Array], wish: Wish) -> Mask:
    """Which partitions Spark reads right from the names of their folders."""
    schema, names = wish.schema, partition_names(wish.schema)
    told = np.ones(len(columns[0]), bool)
    if "=" in f"{wish.local_root}/{DATA_FILE_PATH_DIRECTORY.find(schema.options) or ''}":
        return ~told  # Spark would take the table's own folder for a partition
    for column, one in zip(columns, schema.partition_fields, strict=True):
        if not isinstance(one.type, FOLDER_TYPES) or (isinstance(one.type, t.Date) and not names.legacy):
            return np.zeros(len(told), bool)
        texts = partitions.value_texts(column, one.type, names)
        odd = pc.is_in(texts, pa.array([names.default_name, HIVE_NULL, ""]))
        told &= ~np.asarray(odd) & np.asarray(pc.is_valid(column))
    return told


def _counts(reasons: pa.DictionaryArray, mask: Mask) -> dict[str, int]:
    texts = reasons.dictionary.to_pylist()
    numbers = np.bincount(reasons.indices.to_numpy()[mask], minlength=len(texts))
    counts: dict[str, int] = {}
    for text, number in zip(texts, numbers.tolist(), strict=True):
        if text is not None and number:
            counts[text] = counts.get(text, 0) + number
    return counts
