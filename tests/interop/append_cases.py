"""Append tables: layouts, texts, partitions, buckets, formats, overwrites, file indexes."""

from collections.abc import Iterator, Sequence
from typing import Any

from interop.limit_values import (
    ALL_ROWS,
    ALL_TYPES,
    EMOJI,
    HARD_TEXTS,
    HIGH,
    LOW,
    MODERN,
    NANO_VALUES,
    NANOS,
    NULLS,
    SCALARS,
    SMALL,
    TEXTS,
)
from interop.twins import ONE_BUCKET, PAIR, Case


def layouts() -> Iterator[tuple[str, Case]]:
    keyed = {"primary_key": ["k"]}
    rows = [[[1, "a"], [2, None]], [[1, "b"], [3, "c" * 200]]]
    yield "append", Case(PAIR, [[[1, "a"], [2, None]], [[None, ""]], [[3, "c" * 40]]])
    yield "write-only", Case(PAIR, rows, options={"write-only": "true"})
    yield "thin", Case(PAIR, rows, options=ONE_BUCKET | {"data-file.thin-mode": "true"}, **keyed)
    for format in ("orc", "avro"):
        yield f"keyed-{format}", Case(PAIR, rows, options=ONE_BUCKET | {"file.format": format}, **keyed)
    levels = {
        "file.format.per.level": "0:avro,5:orc",
        "file.compression.per.level": "0:snappy,5:zstd",
        "metadata.stats-mode.per.level": "0:none",
    }
    yield "levels", Case(PAIR, rows, options=ONE_BUCKET | levels, **keyed)
    for key, value in {
        "data-file.path-directory": "data",
        "data-file.prefix": "rows-",
        "commit.user-prefix": "me",
        "row-tracking.enabled": "true",
        "file.suffix.include.compression": "true",
    }.items():
        yield key, Case(PAIR, rows, options={key: value})
    yield "directory-partitioned", Case(PAIR, rows, partition_by=["k"], options={"data-file.path-directory": "data"})
    yield (
        "row-tracking-partitioned",
        Case(
            {"k": "INT", "v": "STRING", "p": "INT"},
            [[[1, "a", 1], [2, "b", 1]], [[3, "c", 2]]],
            partition_by=["p"],
            options={"row-tracking.enabled": "true"},
        ),
    )
    yield (
        "many-commits",
        Case(PAIR, [[[n, str(n)]] for n in range(12)], options={"manifest.merge-min-count": "4", "write-only": "true"}),
    )
    yield "vectors-on", Case(PAIR, rows, options={"deletion-vectors.enabled": "true"})


def texts() -> Iterator[tuple[str, Case]]:
    yield "texts", Case(PAIR, [[[1, text]] for text in TEXTS])
    for position, hard in enumerate(HARD_TEXTS):
        yield f"hard-text-{position}", Case(PAIR, [[[1, value] for value in hard]])


def partitions() -> Iterator[tuple[str, Case]]:
    types = SCALARS | {"f_ts9": "TIMESTAMP(9)"}
    without = ("f_bin", "f_varbin", "f_bytes", "f_ltz6")
    names = [name for name in types if name not in without]
    values = [
        dict(zip(types, [*row, nano[0]], strict=True))
        for row, nano in zip((LOW, HIGH, SMALL, MODERN), NANO_VALUES, strict=True)
    ]
    for legacy in ("true", "false"):
        rows = [[id, *(row[name] for name in names)] for id, row in enumerate(values)]
        rows = [*rows, [7, *[None] * len(names)]]
        case = Case(
            {"id": "INT"} | {n: types[n] for n in names},
            [rows, rows[:2]],
            partition_by=names,
            options={"partition.legacy-name": legacy},
        )
        yield f"partition-types-legacy-{legacy}", case
    odd = [
        None,
        "",
        " ",
        "  ",
        "a b",
        "a/b",
        "a=b",
        "ü",
        "%",
        "\x01",
        "__DEFAULT_PARTITION__",
        "a:b",
        "{x}",
        "a'b\"c",
        "a\\b",
        "#?*<>|^[]",
        "\x7f",
        EMOJI,
    ]
    yield (
        "partition-odd-text",
        Case(
            {"p": "STRING", "q": "INT", "v": "INT"},
            [[[p, q, i] for i, p in enumerate(odd) for q in (1, None)]] * 2,
            partition_by=["p", "q"],
            options={"write-max-writers-to-spill": "100"},
        ),
    )
    yield (
        "partition-default-name",
        Case(
            {"p": "STRING", "v": "INT"},
            [[[None, 1], ["x", 2]]],
            partition_by=["p"],
            options={"partition.default-name": "none"},
        ),
    )
    yield (
        "partition-nan",
        Case(
            {"p": "DOUBLE", "v": "INT"},
            [[["NaN", 1], [-0.0, 2], [0.0, 3], [1e7, 4], [1e-3, 5], [123456789.125, 6], [5e-324, 7]]],
            partition_by=["p"],
        ),
    )
    yield (
        "partition-float",
        Case(
            {"p": "FLOAT", "v": "INT"},
            [[["NaN", 1], [-0.0, 2], [0.0, 3], [1e7, 4], [1e-3, 5], [3.4028234663852886e38, 6]]],
            partition_by=["p"],
        ),
    )


def buckets() -> Iterator[tuple[str, Case]]:
    rows = [[id, *row] for id, row in enumerate((LOW, HIGH, SMALL, MODERN, [None] * len(SCALARS)))]
    for name in (*SCALARS, *NANOS):
        at = 1 + list(SCALARS).index(name) if name in SCALARS else 0
        values = [row[at] for row in rows] if at else [*(n[list(NANOS).index(name)] for n in NANO_VALUES), None]
        type = (SCALARS | NANOS)[name]
        many = [[value, id] for id, value in enumerate(values)]
        yield f"bucket-{name}", Case({"b": type, "v": "INT"}, [many], options={"bucket": "997", "bucket-key": "b"})
    yield (
        "bucket-all",
        Case({"id": "INT"} | SCALARS, [rows], options={"bucket": "1009", "bucket-key": ",".join(SCALARS)}),
    )
    texts = [[None, None], ["", ""], ["1234567", "12345678"], ["é" * 4, EMOJI * 2], ["\x00", "\uffff"]]
    yield "bucket-text", Case({"a": "STRING", "b": "STRING"}, [texts], options={"bucket": "997", "bucket-key": "b,a"})
    ints = [[id, v] for id, v in enumerate((None, 0, 1, -1, 7, -7, 2**31 - 1, -(2**31)))]
    for function in ("default", "mod", "hive"):
        kept = ints if function != "mod" else ints[1:]
        yield (
            f"bucket-{function}-int",
            Case(
                {"v": "INT", "b": "INT"},
                [kept],
                options={"bucket": "5", "bucket-key": "b", "bucket-function.type": function},
            ),
        )
        yield (
            f"bucket-{function}-bigint",
            Case(
                {"v": "INT", "b": "BIGINT"},
                [[*kept, [9, 2**63 - 1], [10, -(2**63)]]],
                options={"bucket": "5", "bucket-key": "b", "bucket-function.type": function},
            ),
        )
    for name in (
        "f_bool",
        "f_tiny",
        "f_small",
        "f_float",
        "f_double",
        "f_dec5",
        "f_dec38",
        "f_char",
        "f_string",
        "f_bytes",
        "f_date",
        "f_time3",
    ):
        at = 1 + list(SCALARS).index(name)
        yield (
            f"bucket-hive-{name}",
            Case(
                {"b": SCALARS[name], "v": "INT"},
                [[[row[at], row[0]] for row in rows]],
                options={"bucket": "997", "bucket-key": "b", "bucket-function.type": "hive"},
            ),
        )


def all_types(without: Sequence[str] = (), **more: Any) -> Case:
    """A table with every type but some, filled with the limits of each."""
    kept = [position for position, name in enumerate(ALL_TYPES) if name not in without]
    columns = {name: type for name, type in ALL_TYPES.items() if name not in without}
    commits = [ALL_ROWS[:2], ALL_ROWS[2:], [[9, *NULLS]], [*ALL_ROWS, [9, *NULLS]]]
    if more.get("primary_key"):
        commits = [[[*row[:1], *row[1:]] for row in rows] for rows in commits]
    return Case(columns, [[[row[at] for at in kept] for row in rows] for rows in commits], **more)


def formats() -> Iterator[tuple[str, Case]]:
    yield "types-parquet", all_types()
    times = [name for name in SCALARS | NANOS if "_ts" in name or "_ltz" in name]
    yield "types-orc", all_types(without=[*times, "f_double", "f_float", "f_char"], options={"file.format": "orc"})
    columns = {name: (SCALARS | NANOS)[name] for name in times}
    modern = [
        *MODERN[list(SCALARS).index(times[0]) :],
        "2024-01-02 03:04:05.678901234",
        "2024-01-02 03:04:05.678901234Z",
    ]
    old = [
        text
        if "." not in text
        else text.split(".")[0]
        + "."
        + "0" * (len(text.split(".")[1].rstrip("Z")))
        + ("Z" if text.endswith("Z") else "")
        for text in [t.replace("2024", "1969") for t in modern]
    ]
    yield "times-orc", Case(columns, [[modern], [old], [[None] * len(times)]], options={"file.format": "orc"})
    yield "types-avro", all_types(without=("f_ts9", "f_ltz9"), options={"file.format": "avro"})
    for codec in ("zstd", "snappy", "gzip", "lz4", "none"):
        options = {"file.compression": codec, "file.suffix.include.compression": "true"}
        yield f"parquet-{codec}", Case(PAIR, [[[1, "a" * 100], [2, None]]], options=options)
    for codec in ("zstd", "snappy", "zlib", "lz4", "none"):
        yield f"orc-{codec}", Case(PAIR, [[[1, "a" * 100]]], options={"file.compression": codec, "file.format": "orc"})
    for codec in ("zstd", "snappy", "deflate", "null"):
        yield (
            f"avro-{codec}",
            Case(PAIR, [[[1, "a" * 100]]], options={"file.compression": codec, "file.format": "avro"}),
        )
    for codec in ("zstd", "snappy", "deflate", "null"):
        yield f"manifest-{codec}", Case(PAIR, [[[1, "a"]], [[2, "b"]]], options={"manifest.compression": codec})


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
    yield (
        "overwrite-keyed-duplicates",
        Case(
            PAIR,
            [[[1, "a"]], [[2, "b"], [2, "c"], [1, "d"]]],
            overwrites={1: {}},
            primary_key=["k"],
            options=ONE_BUCKET,
        ),
    )
    yield "overwrite-first", Case(PAIR, [[[2, "b"]]], overwrites={0: {}})


def file_indexes() -> Iterator[tuple[str, Case]]:
    columns = {"a": "INT", "s": "STRING", "b": "BIGINT", "d": "DATE"}
    rows = [
        [1, "a", 5, "2024-01-01"],
        [None, None, None, None],
        [-7, "", -5, "1969-12-31"],
        [1, "a" * 30, 2**40, "1970-01-01"],
    ]
    for threshold in ("500B", "10B"):
        for kind, names in {
            "bloom-filter": "a,b,s",
            "bitmap": "a,s,d",
            "bsi": "a,b,d",
            "range-bitmap": "a,b,s",
        }.items():
            options = {f"file-index.{kind}.columns": names, "file-index.in-manifest-threshold": threshold}
            options |= (
                {f"file-index.bloom-filter.{name}.items": "20" for name in names.split(",")}
                if kind == "bloom-filter"
                else {}
            )
            yield f"index-{kind}-{threshold}", Case(columns, [rows, rows[:1]], options=options)
    yield (
        "index-keyed",
        Case(
            PAIR,
            [[[1, "a"]], [[1, "b"], [2, "c"]]],
            primary_key=["k"],
            options=ONE_BUCKET | {"file-index.bloom-filter.columns": "v", "file-index.bloom-filter.v.items": "10"},
        ),
    )
    yield (
        "index-map",
        Case(
            {"id": "INT", "m": "MAP<STRING, STRING>"},
            [[[1, [["a", "x"], ["b", "y"]]], [2, None], [3, [["a", "z"]]]]],
            options={
                "file-index.bloom-filter.columns": "m[a],m[b]",
                "file-index.bloom-filter.m.items": "10",
                "file-index.in-manifest-threshold": "10B",
            },
        ),
    )


FAMILIES = (layouts, texts, partitions, buckets, formats, overwrites, file_indexes)
