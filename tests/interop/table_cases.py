"""Kinds of tables, each with a few commits that try its limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from interop.twins import Case

ONE_BUCKET = {"bucket": "1", "write-only": "true"}
PAIR = {"k": "INT", "v": "STRING"}
EMOJI = "\U0001f600"
LAST = "\U0010ffff"
TEXTS = ["", " ", "a", "a" * 16, "a" * 17, "é" * 20, EMOJI * 16, EMOJI * 17, "b" * 15 + EMOJI * 3]
HARD_TEXTS = [
    [LAST * 17, "z"],  # no code point of the prefix can grow
    ["y" + LAST * 16, "x"],  # the first can
    ["\ud7ff".encode("utf-16", "surrogatepass").decode("utf-16") * 17],  # the next code point is a surrogate
    ["\uffff" * 17, "\uffff" * 3 + EMOJI],  # order by bytes, not by UTF-16 units
    ["\x00", "\x00\x00", "\x7f" * 17],
]
SCALARS = {
    "f_bool": "BOOLEAN",
    "f_tiny": "TINYINT",
    "f_small": "SMALLINT",
    "f_int": "INT",
    "f_big": "BIGINT",
    "f_float": "FLOAT",
    "f_double": "DOUBLE",
    "f_dec5": "DECIMAL(5, 2)",
    "f_dec18": "DECIMAL(18, 4)",
    "f_dec19": "DECIMAL(19, 0)",
    "f_dec38": "DECIMAL(38, 10)",
    "f_char": "CHAR(5)",
    "f_varchar": "VARCHAR(20)",
    "f_string": "STRING",
    "f_bin": "BINARY(4)",
    "f_varbin": "VARBINARY(8)",
    "f_bytes": "BYTES",
    "f_date": "DATE",
    "f_time": "TIME(0)",
    "f_time3": "TIME(3)",
    "f_ts0": "TIMESTAMP(0)",
    "f_ts3": "TIMESTAMP(3)",
    "f_ts6": "TIMESTAMP(6)",
    "f_ltz3": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "f_ltz6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}
NANOS = {"f_ts9": "TIMESTAMP(9)", "f_ltz9": "TIMESTAMP(9) WITH LOCAL TIME ZONE"}
NESTED = {
    "f_arr": "ARRAY<INT>",
    "f_map": "MAP<STRING, BIGINT>",
    "f_row": "ROW<x INT, y STRING>",
    "f_deep": "ARRAY<ROW<a INT, m MAP<STRING, ARRAY<DOUBLE>>>>",
    "f_multi": "MULTISET<STRING>",
    "f_lists": "ARRAY<ARRAY<STRING>>",
    "f_times": "MAP<INT, ROW<q DECIMAL(5, 2), w TIMESTAMP(6)>>",
    "f_not_null": "ARRAY<INT NOT NULL>",
}
LOW = [
    False, -128, -32768, -(2**31), -(2**63), "-Infinity", -1.7976931348623157e308, "-999.99", "-99999999999999.9999",
    "-9999999999999999999", "-9999999999999999999999999999.9999999999", "a", "", "", "00000000", "", "",
    "0001-01-01", "00:00:00.000", "00:00:00.001", "1969-12-31 23:59:59", "1969-12-31 23:59:59.999",
    "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999Z", "1969-12-31 23:59:59.999999Z",
]  # fmt: skip
HIGH = [
    True, 127, 32767, 2**31 - 1, 2**63 - 1, "Infinity", 1.7976931348623157e308, "999.99", "99999999999999.9999",
    "9999999999999999999", "9999999999999999999999999999.9999999999", "zz", "größe", EMOJI * 17, "ffffffff",
    "ffffffffffffffff", "ff" * 20, "9999-12-31", "23:59:59.000", "23:59:59.999", "9999-12-31 23:59:59",
    "9999-12-31 23:59:59.999", "9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999Z", "9999-12-31 23:59:59.999999Z",
]  # fmt: skip
SMALL = [
    False, 0, 0, 0, 0, -0.0, -0.0, "0.00", "0.0000", "0", "0.0000000001", "日本", " ", "\x00", "00000001", "00", "00",
    "1969-12-31", "12:34:56.000", "12:34:56.789", "0001-01-01 00:00:00", "0001-01-01 00:00:00.000",
    "0001-01-01 00:00:00.000000", "0001-01-01 00:00:00.000Z", "0001-01-01 00:00:00.000000Z",
]  # fmt: skip
MODERN = [
    None, 1, 1, 1, 1, 1.25e-38, 5e-324, "0.01", "1.0000", "1", "-0.0000000001", "abc", "varchar", "hello",
    "01020304", "0102", "ff00ff", "2024-02-29", "01:02:03.000", "01:02:03.004", "2024-01-02 03:04:05",
    "2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678901", "2024-01-02 03:04:05.678Z", "2024-01-02 03:04:05.678901Z",
]  # fmt: skip
NANO_VALUES = [
    ["1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999999Z"],
    ["2262-04-11 23:47:16.854775807", "2262-04-11 23:47:16.854775807Z"],
    ["1677-09-21 00:12:43.145224193", "1677-09-21 00:12:43.145224193Z"],
    ["1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000001Z"],
]
NESTED_VALUES = [
    [[1, 2, 3], [["a", 1], ["b", 2]], [7, "x"], [[1, [["k", [1.5, None]]]]], [["m", 2], ["n", 1]], [["p"], []],
     [[5, ["1.25", "2024-01-02 03:04:05.678901"]]], [1]],
    [[], [], [None, None], [], [], [], [], []],
    [[None], [["", None]], [None, ""], [None, [None, None]], [["", 1]], [None, [None, ""]], [[0, None]], [0]],
    [None] * 8,
]  # fmt: skip
ALL_TYPES = {"id": "INT"} | SCALARS | NANOS | NESTED
ALL_ROWS = [
    [id, *plain, *nanos, *nested]
    for id, (plain, nanos, nested) in enumerate(zip((LOW, HIGH, SMALL, MODERN), NANO_VALUES, NESTED_VALUES, strict=True))
]
NULLS = [None] * (len(ALL_TYPES) - 1)


def all_types(without: Sequence[str] = (), **more: Any) -> Case:
    """A table with every type but some, filled with the limits of each."""
    kept = [position for position, name in enumerate(ALL_TYPES) if name not in without]
    columns = {name: type for name, type in ALL_TYPES.items() if name not in without}
    commits = [ALL_ROWS[:2], ALL_ROWS[2:], [[9, *NULLS]], [*ALL_ROWS, [9, *NULLS]]]
    if more.get("primary_key"):
        commits = [[[*row[:1], *row[1:]] for row in rows] for rows in commits]
    return Case(columns, [[[row[at] for at in kept] for row in rows] for rows in commits], **more)


def texts() -> Iterator[tuple[str, Case]]:
    for position, values in enumerate(([t] for t in TEXTS)):
        yield f"text-{position}", Case(PAIR, [[[1, *values]]])
    for position, hard in enumerate(HARD_TEXTS):
        yield f"hard-text-{position}", Case(PAIR, [[[1, value] for value in hard]])


def partitions() -> Iterator[tuple[str, Case]]:
    types = SCALARS | {"f_ts9": "TIMESTAMP(9)"}
    without = ("f_bin", "f_varbin", "f_bytes", "f_ltz6")
    names = [name for name in types if name not in without]
    values = [dict(zip(types, [*row, nano[0]], strict=True)) for row, nano in zip((LOW, HIGH, SMALL, MODERN), NANO_VALUES, strict=True)]
    for legacy in ("true", "false"):
        rows = [[id, *(row[name] for name in names)] for id, row in enumerate(values)]
        rows = [*rows, [7, *[None] * len(names)]]
        case = Case({"id": "INT"} | {n: types[n] for n in names}, [rows, rows[:2]], partition_by=names, options={"partition.legacy-name": legacy})
        yield f"partition-types-legacy-{legacy}", case
    odd = [None, "", " ", "  ", "a b", "a/b", "a=b", "ü", "%", "\x01", "__DEFAULT_PARTITION__", "a:b", "{x}", "a'b\"c", "a\\b", "#?*<>|^[]", "\x7f", EMOJI]
    yield "partition-odd-text", Case({"p": "STRING", "q": "INT", "v": "INT"}, [[[p, q, i] for i, p in enumerate(odd) for q in (1, None)]] * 2, partition_by=["p", "q"], options={"write-max-writers-to-spill": "100"})
    yield "partition-default-name", Case({"p": "STRING", "v": "INT"}, [[[None, 1], ["x", 2]]], partition_by=["p"], options={"partition.default-name": "none"})
    yield "partition-nan", Case({"p": "DOUBLE", "v": "INT"}, [[["NaN", 1], [-0.0, 2], [0.0, 3], [1e7, 4], [1e-3, 5], [123456789.125, 6], [5e-324, 7]]], partition_by=["p"])
    yield "partition-float", Case({"p": "FLOAT", "v": "INT"}, [[["NaN", 1], [-0.0, 2], [0.0, 3], [1e7, 4], [1e-3, 5], [3.4028234663852886e38, 6]]], partition_by=["p"])


def buckets() -> Iterator[tuple[str, Case]]:
    rows = [[id, *row] for id, row in enumerate((LOW, HIGH, SMALL, MODERN, [None] * len(SCALARS)))]
    for name in (*SCALARS, *NANOS):
        at = 1 + list(SCALARS).index(name) if name in SCALARS else 0
        values = [row[at] for row in rows] if at else [*(n[list(NANOS).index(name)] for n in NANO_VALUES), None]
        type = (SCALARS | NANOS)[name]
        many = [[value, id] for id, value in enumerate(values)]
        yield f"bucket-{name}", Case({"b": type, "v": "INT"}, [many], options={"bucket": "997", "bucket-key": "b"})
    yield "bucket-all", Case({"id": "INT"} | SCALARS, [rows], options={"bucket": "1009", "bucket-key": ",".join(SCALARS)})
    texts = [[None, None], ["", ""], ["1234567", "12345678"], ["é" * 4, EMOJI * 2], ["\x00", "\uffff"]]
    yield "bucket-text", Case({"a": "STRING", "b": "STRING"}, [texts], options={"bucket": "997", "bucket-key": "b,a"})
    ints = [[id, v] for id, v in enumerate((None, 0, 1, -1, 7, -7, 2**31 - 1, -(2**31)))]
    for function in ("default", "mod", "hive"):
        kept = ints if function != "mod" else ints[1:]
        yield f"bucket-{function}-int", Case({"v": "INT", "b": "INT"}, [kept], options={"bucket": "5", "bucket-key": "b", "bucket-function.type": function})
        yield f"bucket-{function}-bigint", Case({"v": "INT", "b": "BIGINT"}, [[*kept, [9, 2**63 - 1], [10, -(2**63)]]], options={"bucket": "5", "bucket-key": "b", "bucket-function.type": function})
    for name in ("f_bool", "f_tiny", "f_small", "f_float", "f_double", "f_dec5", "f_dec38", "f_char", "f_string", "f_bytes", "f_date", "f_time3"):
        at = 1 + list(SCALARS).index(name)
        yield f"bucket-hive-{name}", Case({"b": SCALARS[name], "v": "INT"}, [[[row[at], row[0]] for row in rows]], options={"bucket": "997", "bucket-key": "b", "bucket-function.type": "hive"})


def formats() -> Iterator[tuple[str, Case]]:
    yield "types-parquet", all_types()
    times = [name for name in SCALARS | NANOS if "_ts" in name or "_ltz" in name]
    yield "types-orc", all_types(without=[*times, "f_double", "f_float", "f_char"], options={"file.format": "orc"})
    columns = {name: (SCALARS | NANOS)[name] for name in times}
    modern = [*MODERN[list(SCALARS).index(times[0]) :], "2024-01-02 03:04:05.678901234", "2024-01-02 03:04:05.678901234Z"]
    old = [text if "." not in text else text.split(".")[0] + "." + "0" * (len(text.split(".")[1].rstrip("Z"))) + ("Z" if text.endswith("Z") else "") for text in [t.replace("2024", "1969") for t in modern]]
    yield "times-orc", Case(columns, [[modern], [old], [[None] * len(times)]], options={"file.format": "orc"})
    yield "types-avro", all_types(without=("f_ts9", "f_ltz9"), options={"file.format": "avro"})
    for codec in ("zstd", "snappy", "gzip", "lz4", "none"):
        options = {"file.compression": codec, "file.suffix.include.compression": "true"}
        yield f"parquet-{codec}", Case(PAIR, [[[1, "a" * 100], [2, None]]], options=options)
    for codec in ("zstd", "snappy", "zlib", "lz4", "none"):
        yield f"orc-{codec}", Case(PAIR, [[[1, "a" * 100]]], options={"file.compression": codec, "file.format": "orc"})
    for codec in ("zstd", "snappy", "deflate", "null"):
        yield f"avro-{codec}", Case(PAIR, [[[1, "a" * 100]]], options={"file.compression": codec, "file.format": "avro"})
    for codec in ("zstd", "snappy", "deflate", "null"):
        yield f"manifest-{codec}", Case(PAIR, [[[1, "a"]], [[2, "b"]]], options={"manifest.compression": codec})


def statistics() -> Iterator[tuple[str, Case]]:
    rows = [[1, "abcdef", "00ff", [1]], [None, "zz" + LAST * 3, "ffffffff", None]]
    columns = {"k": "INT", "v": "STRING", "b": "BYTES", "l": "ARRAY<INT>"}
    for format in ("parquet", "orc", "avro"):
        for mode in ("none", "counts", "full", "truncate(3)", "truncate(1)"):
            for dense in ("true", "false"):
                options = {"file.format": format, "metadata.stats-mode": mode, "metadata.stats-dense-store": dense}
                yield f"stats-{format}-{mode}-{dense}", Case(columns, [rows], options=options)
    for format in ("parquet", "orc", "avro"):
        options = {"fields.v.stats-mode": "none", "fields.k.stats-mode": "counts", "file.format": format}
        yield f"stats-column-{format}", Case(columns, [rows], options=options)
        yield f"stats-column-keyed-{format}", Case(columns, [rows[:1]], primary_key=["k"], options=options | ONE_BUCKET)
        options = {"metadata.stats-keep-first-n-columns": "2", "file.format": format}
        yield f"stats-first-columns-{format}", Case(columns, [rows], options=options)
        own = options | {"fields.v.stats-mode": "counts", "metadata.stats-keep-first-n-columns": "1"}
        yield f"stats-first-columns-own-{format}", Case(dict(reversed(columns.items())), [[row[::-1] for row in rows]], options=own)
        yield f"stats-first-columns-own-first-{format}", Case({"v": "STRING", "k": "INT", "c": "INT"}, [[["a", 1, 1]]], options=own)
        yield f"stats-first-columns-keyed-{format}", Case(columns, [rows[:1]], primary_key=["k"], options=options | ONE_BUCKET)
        yield f"stats-first-columns-thin-{format}", Case(columns, [rows[:1]], primary_key=["k"], options=options | ONE_BUCKET | {"data-file.thin-mode": "true"})
    yield "floats", Case({"f": "FLOAT", "d": "DOUBLE"}, [[["NaN", "NaN"]], [["NaN", 1.0], [1.5, "NaN"]], [[-0.0, 0.0]], [[0.0, -0.0]], [["-Infinity", "Infinity"]], [[0.1, 0.1]]])
    for format in ("orc", "avro"):
        yield f"floats-{format}", Case({"f": "FLOAT", "d": "DOUBLE"}, [[["-Infinity", 1.0], ["NaN", "NaN"]], [[-0.0, 0.0], [0.0, -0.0]], [["NaN", "NaN"]]][: 1 if format == "orc" else 3], options={"file.format": format})
    orc = {"file.format": "orc"}
    yield "char-orc", Case({"c": "CHAR(5)", "v": "VARCHAR(5)"}, [[["a", "a"], ["b ", "b "], ["", ""], [None, None]]], options=orc)
    yield "zeros-orc", Case({"f": "FLOAT", "d": "DOUBLE"}, [[[-0.0, 0.0], [0.0, -0.0]]], options=orc)
    yield "nan-orc", Case({"f": "FLOAT", "d": "DOUBLE"}, [[["NaN", "NaN"], [1.0, 2.0]], [["NaN", None]]], options=orc)
    keyed = {"k": "STRING", "b": "BYTES", "d": "DOUBLE", "t": "TIMESTAMP(9)", "v": "INT"}
    keyed_rows = [["a" * 200, "00" * 200, 1.5, NANO_VALUES[3][0], 1], ["b", "ff" * 200, "NaN", NANO_VALUES[1][0], None]]
    for format in ("parquet", "orc", "avro"):
        for mode in ("none", "counts", "full", "truncate(3)"):
            without = 3 if format == "avro" else None
            columns_of = {name: type for at, (name, type) in enumerate(keyed.items()) if at != without}
            rows_of = [[value for at, value in enumerate(row) if at != without] for row in keyed_rows]
            for more in ({}, {"data-file.thin-mode": "true"}):
                options = ONE_BUCKET | more | {"file.format": format, "metadata.stats-mode": mode}
                yield f"stats-keyed-{format}-{mode}-{len(more)}", Case(columns_of, [rows_of], primary_key=[n for n in columns_of if n != "v"], options=options)
        options = ONE_BUCKET | {"file.format": format, "metadata.stats-mode.per.level": "0:none"}
        yield f"stats-level-{format}", Case(PAIR, [[[1, "a"]]], primary_key=["k"], options=options)
        yield f"stats-level-thin-{format}", Case(PAIR, [[[1, "a"]]], primary_key=["k"], options=options | {"data-file.thin-mode": "true"})
    wide = {f"c{n}": "INT" for n in range(71)}
    yield "wide", Case(wide, [[list(range(71))], [[None if n % 2 else n for n in range(71)]]])
    yield "wide-keyed", Case(wide, [[list(range(71))], [[n if n < 65 else None for n in range(71)]]], primary_key=[f"c{n}" for n in range(65)], options=ONE_BUCKET)


def layouts() -> Iterator[tuple[str, Case]]:
    keyed = {"primary_key": ["k"]}
    rows = [[[1, "a"], [2, None]], [[1, "b"], [3, "c" * 200]]]
    yield "append", Case(PAIR, [[[1, "a"], [2, None]], [[None, ""]], [[3, "c" * 40]]])
    yield "write-only", Case(PAIR, rows, options={"write-only": "true"})
    yield "thin", Case(PAIR, rows, options=ONE_BUCKET | {"data-file.thin-mode": "true"}, **keyed)
    for format in ("orc", "avro"):
        yield f"keyed-{format}", Case(PAIR, rows, options=ONE_BUCKET | {"file.format": format}, **keyed)
    levels = {"file.format.per.level": "0:avro,5:orc", "file.compression.per.level": "0:snappy,5:zstd", "metadata.stats-mode.per.level": "0:none"}
    yield "levels", Case(PAIR, rows, options=ONE_BUCKET | levels, **keyed)
    for key, value in {"data-file.path-directory": "data", "data-file.prefix": "rows-", "commit.user-prefix": "me", "row-tracking.enabled": "true", "file.suffix.include.compression": "true"}.items():
        yield key, Case(PAIR, rows, options={key: value})
    yield "directory-partitioned", Case(PAIR, rows, partition_by=["k"], options={"data-file.path-directory": "data"})
    yield "row-tracking-partitioned", Case({"k": "INT", "v": "STRING", "p": "INT"}, [[[1, "a", 1], [2, "b", 1]], [[3, "c", 2]]], partition_by=["p"], options={"row-tracking.enabled": "true"})
    yield "many-commits", Case(PAIR, [[[n, str(n)]] for n in range(12)], options={"manifest.merge-min-count": "4", "write-only": "true"})
    yield "vectors-on", Case(PAIR, rows, options={"deletion-vectors.enabled": "true"})


def overwrites() -> Iterator[tuple[str, Case]]:
    columns = {"p": "STRING", "k": "INT", "v": "STRING"}
    first, second = [["a", 1, "x"], ["b", 2, "y"], [None, 3, "z"]], [["a", 1, "new"], ["c", 4, "w"]]
    for name, keys in {"append": {}, "keyed": {"primary_key": ["p", "k"], "options": ONE_BUCKET}}.items():
        rows = first[:2] if keys else first
        base = {"partition_by": ["p"]} | keys
        yield f"overwrite-dynamic-{name}", Case(columns, [rows, second], overwrites={1: {}}, **base)
        yield f"overwrite-static-{name}", Case(columns, [rows, second[:1]], overwrites={1: {"p": "a"}}, **base)
        yield f"overwrite-empty-{name}", Case(columns, [rows, []], overwrites={1: {"p": "a"}}, **base)
        whole = base | {"options": base.get("options", {}) | {"dynamic-partition-overwrite": "false"}}
        yield f"overwrite-whole-{name}", Case(columns, [rows, second], overwrites={1: {}}, **whole)
    yield "overwrite-plain", Case(PAIR, [[[1, "a"]], [[2, "b"]]], overwrites={1: {}})
    yield "overwrite-keyed-duplicates", Case(PAIR, [[[1, "a"]], [[2, "b"], [2, "c"], [1, "d"]]], overwrites={1: {}}, primary_key=["k"], options=ONE_BUCKET)
    yield "overwrite-first", Case(PAIR, [[[2, "b"]]], overwrites={0: {}})


def keys() -> Iterator[tuple[str, Case]]:
    yield "dedup", Case(PAIR, [[["+I", 1, "a"], ["+I", 2, None], ["+I", 2, "b"]], [["-D", 1, "a"], ["-U", 2, "b"], ["+U", 2, "x"], ["-D", 7, None]], [["-D", 2, "x"], ["+I", 2, "y"], ["-D", 2, "y"]]], primary_key=["k"], options={"bucket": "2", "write-only": "true"}, kinds=True)
    yield "dedup-only-deletes", Case(PAIR, [[["-D", 1, "a"], ["-U", 2, None]]], primary_key=["k"], options=ONE_BUCKET, kinds=True)
    yield "dedup-partitioned", Case({"p": "STRING", "k": "INT", "v": "INT"}, [[["+I", "x", 1, 1], ["+I", "", 1, 2], ["+I", " ", 1, 3]], [["+U", "x", 1, 9], ["-D", "", 1, 2]]], primary_key=["k", "p"], partition_by=["p"], options=ONE_BUCKET, kinds=True)
    yield "key-order", Case({"a": "INT", "v": "INT", "b": "STRING"}, [[[2, 1, "b"], [1, 2, "b"], [-5, 3, "é"], [7, 4, ""], [7, 5, "\uffff"], [7, 6, EMOJI]]], primary_key=["b", "a"], options=ONE_BUCKET)
    yield "bucket-key", Case({"a": "INT", "b": "STRING", "v": "INT"}, [[[n, str(n), n] for n in range(20)]], primary_key=["b", "a"], options={"bucket": "5", "bucket-key": "a", "write-only": "true"})
    yield "double-key", Case({"d": "DOUBLE", "v": "INT"}, [[["NaN", 1], [-0.0, 2], [0.0, 3], ["-Infinity", 4], ["Infinity", 5], [5e-324, 6]], [["NaN", 7], [0.0, 8]]], primary_key=["d"], options=ONE_BUCKET)
    yield "double-key-buckets", Case({"d": "DOUBLE", "f": "FLOAT", "v": "INT"}, [[["NaN", "NaN", 1], [-0.0, -0.0, 2], [0.0, 0.0, 3]], [["NaN", "NaN", 7], [0.0, 0.0, 8]]], primary_key=["d", "f"], options={"bucket": "31", "write-only": "true"})
    for name, values in {"f_dec38": (LOW, HIGH, SMALL, MODERN), "f_ts6": (LOW, HIGH, SMALL, MODERN), "f_bytes": (LOW, HIGH, SMALL, MODERN), "f_string": (LOW, HIGH, SMALL, MODERN), "f_bool": (LOW, HIGH), "f_ltz3": (LOW, HIGH, SMALL, MODERN), "f_date": (LOW, HIGH, SMALL), "f_time3": (LOW, HIGH, SMALL), "f_tiny": (LOW, HIGH, SMALL)}.items():
        at = list(SCALARS).index(name)
        rows = [[row[at], n] for n, row in enumerate(values)]
        yield f"key-{name}", Case({"k": SCALARS[name], "v": "INT"}, [rows, rows[1:]], primary_key=["k"], options={"bucket": "3", "write-only": "true"})
    yield "key-ts9", Case({"k": "TIMESTAMP(9)", "v": "INT"}, [[[row[0], n] for n, row in enumerate(NANO_VALUES)]], primary_key=["k"], options=ONE_BUCKET)
    types = all_types(primary_key=["id", "f_string", "f_dec38", "f_ts6"], options=ONE_BUCKET)
    yield "types-keyed", Case(types.columns, [rows if n != 2 else rows[:0] for n, rows in enumerate([types.commits[0], types.commits[1], [], ALL_ROWS])][:2], primary_key=types.primary_key, options=ONE_BUCKET)
    yield "key-long-text", Case({"k": "STRING", "v": "INT"}, [[["a" * 200, 1], [LAST * 130, 2], ["", 3]]], primary_key=["k"], options=ONE_BUCKET)


def engines() -> Iterator[tuple[str, Case]]:
    def engine(name: str, columns: Mapping[str, str], commits: Any, **options: str) -> Case:
        return Case(columns, commits, primary_key=["k"], options=ONE_BUCKET | {"merge-engine": name} | {key.replace("__", "."): value for key, value in options.items()}, kinds=True)

    triple = {"k": "INT", "a": "INT", "b": "STRING"}
    updates = [[["+I", 1, 1, "a"], ["+I", 1, None, "b"], ["+I", 2, 2, None]], [["+I", 1, 5, None], ["+I", 3, None, None]], [["+I", 2, None, "z"]]]
    yield "partial-update", engine("partial-update", triple, updates)
    yield "partial-update-ignore-delete", engine("partial-update", triple, [*updates, [["-D", 1, 5, None], ["-U", 2, 1, None]]], **{"ignore-delete": "true"})
    yield "partial-update-remove", engine("partial-update", triple, [*updates[:2], [["-D", 1, 5, None], ["+I", 1, None, "again"], ["-D", 2, None, None]]], **{"partial-update.remove-record-on-delete": "true"})
    yield "partial-update-sequence", engine("partial-update", triple, updates, **{"sequence.field": "a"})
    groups = {"k": "INT", "a": "INT", "g1": "INT", "b": "INT", "s": "BIGINT", "g2": "INT", "g3": "INT", "l": "STRING", "d": "INT"}
    history = [
        [["+I", 1, 1, 1, 1, 10, 1, 1, "x", 1], ["+I", 2, 1, 1, 1, 10, 1, 1, "x", 1]], [["+I", 1, 2, 2, 2, 20, 0, 9, "y", 2]],
        [["+I", 1, None, 3, 3, 30, 2, None, "z", None]], [["+I", 1, 9, None, 4, 40, 1, 5, "late", 3], ["+I", 2, 5, 1, None, None, None, None, None, None]],
        [["-D", 2, 7, 2, 7, 7, 3, 3, "d", 7], ["+I", 3, 1, 1, 1, 1, 1, 1, "only", 1], ["-D", 3, 1, 0, 1, 1, 2, 2, "d", 1]],
    ]  # fmt: skip
    group_options = {"fields.g1.sequence-group": "a", "fields.g2,g3.sequence-group": "b,s,l", "fields.s.aggregate-function": "sum", "fields.l.aggregate-function": "listagg", "fields.l.ignore-retract": "true"}
    yield "partial-update-groups", engine("partial-update", groups, history, **group_options)
    default = {"fields.g1.sequence-group": "a", "fields.g2,g3.sequence-group": "b,s,l", "fields.default-aggregate-function": "last_non_null_value"}
    yield "partial-update-groups-default", engine("partial-update", groups, history[:4], **default)
    removal = {"fields.g1.sequence-group": "a", "fields.g2,g3.sequence-group": "b,s,l", "partial-update.remove-record-on-sequence-group": "g2"}
    yield "partial-update-groups-remove", engine("partial-update", groups, history, **removal)
    yield "first-row", engine("first-row", triple, [[["+I", 1, 1, "a"], ["+I", 1, 2, "b"]], [["+I", 1, 3, "c"], ["+I", 2, 1, None]]])
    yield "first-row-ignore-delete", engine("first-row", triple, [[["+I", 1, 1, "a"], ["-D", 1, 2, "b"]], [["-D", 1, 3, "c"], ["+I", 2, 1, None]]], **{"ignore-delete": "true"})
    sequences = [[["+I", 1, 5, "a"], ["+I", 1, 5, "tie"], ["+I", 2, None, "n"], ["+I", 3, 1, "c"]], [["+I", 1, 4, "late"], ["+I", 2, None, "m"], ["-D", 3, 0, "late"]], [["-D", 1, 5, "x"], ["+I", 3, None, "null"]]]
    for order in ("ascending", "descending"):
        yield f"sequence-{order}", engine("deduplicate", triple, sequences, **{"sequence.field": "a", "sequence.field.sort-order": order})
    yield "sequence-two", engine("deduplicate", triple, sequences, **{"sequence.field": "a,b"})
    yield "dedup-ignore-delete", engine("deduplicate", triple, sequences, **{"ignore-delete": "true"})
    yield "dedup-ignore-update-before", engine("deduplicate", triple, [[["+I", 1, 1, "a"], ["-U", 1, 1, "a"]], [["-U", 1, 1, "a"], ["-D", 2, 1, "b"]]], **{"ignore-update-before": "true"})
    yield "rowkind-field", Case({"k": "INT", "rk": "STRING"}, [[[1, "+I"], [2, "+I"], [2, "-D"]], [[1, "-D"], [3, "+U"]]], primary_key=["k"], options=ONE_BUCKET | {"rowkind.field": "rk"})
    yield from aggregates(engine)


def aggregates(engine: Any) -> Iterator[tuple[str, Case]]:
    """Each aggregate function over values, nulls, ties and retractions."""
    numbers = {"sum": "BIGINT", "min": "INT", "max": "INT", "product": "INT", "last_value": "INT", "last_non_null_value": "INT", "first_value": "INT", "first_non_null_value": "INT"}
    values = [[["+I", 1, 5], ["+I", 2, None], ["+I", 1, 3], ["+I", 3, 7]], [["+I", 1, None], ["+I", 2, 2], ["+I", 4, -1]], [["+I", 1, 9], ["+I", 2, 4], ["+I", 4, None]]]
    retracts = [*values, [["-D", 1, 9], ["-U", 2, 1], ["+U", 2, 8], ["-D", 5, 5]]]
    for name, type in numbers.items():
        history = retracts if name in ("sum", "product", "last_value", "last_non_null_value") else values
        yield f"aggregate-{name}", engine("aggregation", {"k": "INT", "v": type}, history, **{"fields.v.aggregate-function": name})
        yield f"aggregate-{name}-ignore", engine("aggregation", {"k": "INT", "v": type}, retracts, **{"fields.v.aggregate-function": name, "fields.v.ignore-retract": "true"})
    for name in ("sum", "min", "max", "product"):
        for type in ("SMALLINT", "DOUBLE", "FLOAT"):
            floats = [[[row[0], row[1], row[2] and float(row[2])] for row in rows] for rows in values] if type != "SMALLINT" else values
            yield f"aggregate-{name}-{type}", engine("aggregation", {"k": "INT", "v": type}, floats, **{"fields.v.aggregate-function": name})
    decimals = [[[row[0], row[1], None if row[2] is None else f"{row[2]}.25"] for row in rows] for rows in values]
    yield "aggregate-sum-decimal", engine("aggregation", {"k": "INT", "v": "DECIMAL(20, 2)"}, decimals, **{"fields.v.aggregate-function": "sum"})
    yield "aggregate-product-decimal", engine("aggregation", {"k": "INT", "v": "DECIMAL(20, 2)"}, decimals, **{"fields.v.aggregate-function": "product"})
    nans = [[["+I", 1, "NaN"], ["+I", 1, 1.0], ["+I", 2, -0.0], ["+I", 2, 0.0], ["+I", 3, 0.0]], [["+I", 1, "Infinity"], ["+I", 3, -0.0]]]
    for name in ("min", "max", "sum"):
        yield f"aggregate-{name}-nan", engine("aggregation", {"k": "INT", "v": "DOUBLE"}, nans, **{"fields.v.aggregate-function": name})
    flags = [[["+I", 1, True], ["+I", 2, None], ["+I", 3, False]], [["+I", 1, False], ["+I", 2, True], ["+I", 3, None]]]
    for name in ("bool_and", "bool_or"):
        yield f"aggregate-{name}", engine("aggregation", {"k": "INT", "v": "BOOLEAN"}, flags, **{"fields.v.aggregate-function": name})
    words = [[["+I", 1, "a"], ["+I", 1, "b"], ["+I", 2, None], ["+I", 3, ""]], [["+I", 1, "a"], ["+I", 2, "x"], ["+I", 3, "y"]], [["+I", 1, ""], ["+I", 2, None], ["+I", 3, ""], ["+I", 3, "y;y"]]]
    for distinct in ("true", "false"):
        for delimiter in (",", ";"):
            yield f"aggregate-listagg-{delimiter}-{distinct}", engine("aggregation", {"k": "INT", "v": "STRING"}, words, **{"fields.v.aggregate-function": "listagg", "fields.v.distinct": distinct, "fields.v.list-agg-delimiter": delimiter})
    lists = [[["+I", 1, [1, 2, 2]], ["+I", 2, None], ["+I", 1, [2, None]]], [["+I", 1, [1]], ["+I", 2, [3]], ["+I", 3, []]], [["-D", 1, [2]], ["+I", 2, None]]]
    yield "aggregate-collect", engine("aggregation", {"k": "INT", "v": "ARRAY<INT>"}, lists, **{"fields.v.aggregate-function": "collect"})
    maps = [[["+I", 1, [["a", 1], ["b", 2]]], ["+I", 2, None]], [["+I", 1, [["b", None], ["c", 3]]], ["+I", 2, [["", 1]]]], [["-D", 1, [["a", 1]]], ["+I", 2, []]]]
    yield "aggregate-merge_map", engine("aggregation", {"k": "INT", "v": "MAP<STRING, INT>"}, maps, **{"fields.v.aggregate-function": "merge_map"})
    removal = [[["+I", 1, 5], ["+I", 2, 1]], [["-D", 1, 5], ["+I", 1, 2], ["-D", 2, 1]], [["+I", 2, 7]]]
    yield "aggregate-remove", engine("aggregation", {"k": "INT", "v": "BIGINT"}, removal, **{"fields.v.aggregate-function": "sum", "aggregation.remove-record-on-delete": "true"})
    yield "aggregate-sequence", engine("aggregation", {"k": "INT", "v": "INT", "s": "INT"}, [[["+I", 1, 5, 5], ["+I", 1, 3, 1], ["+I", 2, 1, None]], [["+I", 1, 9, 4], ["+I", 2, 2, None]]], **{"fields.v.aggregate-function": "last_value", "sequence.field": "s"})


def file_indexes() -> Iterator[tuple[str, Case]]:
    columns = {"a": "INT", "s": "STRING", "b": "BIGINT", "d": "DATE"}
    rows = [[1, "a", 5, "2024-01-01"], [None, None, None, None], [-7, "", -5, "1969-12-31"], [1, "a" * 30, 2**40, "1970-01-01"]]
    for threshold in ("500B", "10B"):
        for kind, names in {"bloom-filter": "a,s,b", "bitmap": "a,s,d", "bsi": "a,b,d", "range-bitmap": "a,s,b"}.items():
            options = {f"file-index.{kind}.columns": names, "file-index.in-manifest-threshold": threshold}
            options |= {f"file-index.bloom-filter.{name}.items": "20" for name in names.split(",")} if kind == "bloom-filter" else {}
            yield f"index-{kind}-{threshold}", Case(columns, [rows, rows[:1]], options=options)
    yield "index-keyed", Case(PAIR, [[[1, "a"]], [[1, "b"], [2, "c"]]], primary_key=["k"], options=ONE_BUCKET | {"file-index.bloom-filter.columns": "v", "file-index.bloom-filter.v.items": "10"})
    yield "index-map", Case({"id": "INT", "m": "MAP<STRING, STRING>"}, [[[1, [["a", "x"], ["b", "y"]]], [2, None], [3, [["a", "z"]]]]], options={"file-index.bloom-filter.columns": "m[a],m[b]", "file-index.bloom-filter.m.items": "10", "file-index.in-manifest-threshold": "10B"})


UNLIKE = {
    "char-orc": "Java pads CHAR in ORC files with blanks, and so its bounds",
    "zeros-orc": "Java knows one zero in the bounds of ORC files, the first that came",
    "nan-orc": "Java's bounds in ORC files are NaN where the first value is",
    "hard-text-2": "Java raises U+D7FF to a surrogate, which it stores as a question mark: below the maximum",
    "index-bloom-filter-500B": "Java orders the columns of an index by their hash",
    "index-range-bitmap-500B": "Java orders the columns of an index by their hash",
}
"""Tables whose statistics differ, and why that is no loss."""


CASES = {
    name: case
    for family in (layouts, texts, partitions, buckets, formats, statistics, overwrites, keys, engines, file_indexes)
    for name, case in family()
}
