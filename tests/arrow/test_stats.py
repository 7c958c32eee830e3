"""Statistics of our files equal those Java stored for the same rows."""

import io
import math

import pyarrow as pa
import pytest

from arrow.golden_files import data_files, manifest_files, read_all, schemas
from polynya.arrow import files
from polynya.arrow.bounds import Nan, column_stats, merge
from polynya.arrow.stats import (
    COUNTS,
    FULL,
    NONE,
    ColumnStats,
    apply_mode,
    column_modes,
    level_mode,
    parse_mode,
    simple_stats,
)
from polynya.errors import InvalidInputError
from polynya.model import types as t


def written(format, fields, table):
    writer = files.open_writer(io.BytesIO(), format=format, fields=fields)
    for batch in table.to_batches():
        writer.write(batch)
    return writer.close()


def stored(meta):
    stats, names = meta["_VALUE_STATS"], meta["_VALUE_STATS_COLS"]
    return (
        stats["_MIN_VALUES"],
        stats["_MAX_VALUES"],
        tuple(stats["_NULL_COUNTS"]),
        None if names is None else tuple(names),
    )


def ours(columns, fields, options):
    dense = options.get("metadata.stats-dense-store", "true") == "true"
    stats, names = simple_stats(columns, fields, column_modes(fields, options), dense=dense)
    return stats.min_values, stats.max_values, stats.null_counts, names


@pytest.mark.parametrize("table", ["types_append", "types_append_avro", "wide_nulls", "fmt_avro", "pk_multi_file"])
def test_statistics_of_the_same_rows_are_those_of_java(table):
    (schema,) = schemas(table).values()
    paths = {path.rsplit("/", 1)[-1]: path for path in data_files(table)}
    for name, meta in manifest_files(table).items():
        if name in paths:
            rows = read_all(table, paths[name], schema.fields)
            columns = written(files.format_of(name), schema.fields, rows).columns
            assert ours(columns, schema.fields, schema.options) == stored(meta)


STATS_MODES = {
    1: {},
    2: {"metadata.stats-mode": "none"},
    3: {"metadata.stats-mode": "counts"},
    4: {"metadata.stats-mode": "full"},
    5: {"metadata.stats-mode": "truncate(3)"},
    6: {"fields.s.stats-mode": "none", "fields.n.stats-mode": "full"},
    7: {"metadata.stats-mode": "none", "metadata.stats-dense-store": "false"},
    8: {"metadata.stats-keep-first-n-columns": "2"},
}


def test_every_mode_stores_what_java_stores():
    (schema,) = schemas("stats_modes").values()
    metas = manifest_files("stats_modes")
    for path in data_files("stats_modes"):
        rows = read_all("stats_modes", path, schema.fields)
        options = STATS_MODES[rows["id"][0].as_py()]
        columns = written("parquet", schema.fields, rows).columns
        assert ours(columns, schema.fields, options) == stored(metas[path.rsplit("/", 1)[-1]])


def test_a_mode_per_level_is_found():
    options = {"metadata.stats-mode.per.level": "0:none,5:full"}
    assert (level_mode(options, 0), level_mode(options, 5), level_mode(options, 3)) == ("none", "full", None)
    assert column_modes([t.Field(0, "a", t.Int())], {}, mode="none") == (NONE,)


def test_key_columns_of_thin_files_are_kept_longer():
    fields = [t.Field(0, "k", t.VarChar()), t.Field(1, "v", t.VarChar())]
    modes = column_modes(fields, {"metadata.stats-mode": "none"}, key_columns={"k"})
    assert modes == (parse_mode("truncate(128)"), NONE)


def test_key_columns_do_not_count_among_the_first():
    fields = [t.Field(id, name, t.Int()) for id, name in enumerate(("k", "own", "v", "w"))]
    options = {"metadata.stats-keep-first-n-columns": "2", "fields.own.stats-mode": "counts"}
    kept, own, key = parse_mode("truncate(16)"), parse_mode("counts"), parse_mode("truncate(128)")
    assert column_modes(fields, options, key_columns={"k"}) == (key, own, kept, NONE)


@pytest.mark.parametrize("text", ["some", "truncate(0)", "truncate(x)", ""])
def test_an_unknown_mode_is_refused(text):
    with pytest.raises(InvalidInputError, match=r"metadata\.stats-mode"):
        parse_mode(text)


@pytest.mark.parametrize(
    ("largest", "cut"),
    [
        ("abcd", "abd"),
        ("abc", "abc"),
        ("ab\U0010ffffd", "ac"),
        ("ab\ud7ffd", "ab\ue000"),
        ("\U0010ffff" * 4, None),
        (b"abcd", b"abd"),
        (b"a\xff\xff\xff", b"b"),
        (b"\xff" * 4, None),
        (10**9, 10**9),
    ],
)
def test_a_cut_maximum_is_rounded_up_or_unknown(largest, cut):
    smallest = largest[:1] if isinstance(largest, (str, bytes)) else largest
    kept = apply_mode(ColumnStats(smallest, largest, 1), parse_mode("TRUNCATE(3)"))
    assert kept == (ColumnStats(smallest, cut, 1) if cut is not None else ColumnStats(null_count=1))


def test_counts_and_none_keep_no_bounds():
    stats = ColumnStats(1, 2, 3)
    assert apply_mode(stats, COUNTS) == ColumnStats(null_count=3)
    assert apply_mode(stats, NONE) == ColumnStats()
    assert apply_mode(stats, FULL) == stats


@pytest.mark.parametrize(
    ("values", "smallest", "largest"),
    [
        ([0.0, -0.0], -0.0, 0.0),
        ([-0.0, -0.0, None], -0.0, -0.0),
        ([0.0, 5.0], 0.0, 5.0),
        ([math.nan, 1.0], 1.0, math.nan),
        ([math.nan], math.nan, math.nan),
        ([-math.inf, math.inf], -math.inf, math.inf),
        ([None], None, None),
    ],
)
@pytest.mark.parametrize("type", [pa.float32(), pa.float64()])
def test_float_bounds_follow_the_total_order(values, smallest, largest, type):
    whole = column_stats(pa.array(values, type))
    parts = merge([column_stats(pa.array([value], type)) for value in values])
    for found in (whole, parts):
        assert (repr(found.min), repr(found.max)) == (repr(smallest), repr(largest))


def test_nan_is_left_out_where_the_format_leaves_it_out():
    assert column_stats(pa.array([math.nan, 2.0]), nan=Nan.IGNORED) == ColumnStats(2.0, 2.0, 0)
    assert column_stats(pa.array([math.nan]), nan=Nan.IGNORED) == ColumnStats(None, None, 0)


def test_values_too_long_for_the_footer_still_have_bounds():
    fields = (t.Field(0, "s", t.VarChar()), t.Field(1, "b", t.VarBinary()))
    table = pa.table({"s": ["z" * 9000, "a"], "b": [b"y" * 9000, b"b"]})
    columns = written("parquet", fields, table).columns
    assert columns == (ColumnStats("a", "z" * 9000, 0), ColumnStats(b"b", b"y" * 9000, 0))


def test_statistics_cover_all_row_groups():
    fields = (t.Field(0, "i", t.Int()), t.Field(1, "f", t.Double()))
    stream = io.BytesIO()
    writer = files.open_writer(stream, format="parquet", fields=fields, options={"file.block-size": "1 kb"})
    for start in range(0, 1000, 100):
        numbers = pa.array(range(start, start + 100), pa.int32())
        writer.write(pa.record_batch({"i": numbers, "f": numbers.cast(pa.float64())}))
    assert writer.close().columns == (ColumnStats(0, 999, 0), ColumnStats(0.0, 999.0, 0))
