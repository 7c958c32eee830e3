"""Tables for what manifests say about columns and keys."""

from collections.abc import Iterator

from interop.limit_values import LAST, NANO_VALUES
from interop.twins import ONE_BUCKET, PAIR, Case


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
        yield (
            f"stats-first-columns-own-{format}",
            Case(dict(reversed(columns.items())), [[row[::-1] for row in rows]], options=own),
        )
        yield (
            f"stats-first-columns-own-first-{format}",
            Case({"v": "STRING", "k": "INT", "c": "INT"}, [[["a", 1, 1]]], options=own),
        )
        yield (
            f"stats-first-columns-keyed-{format}",
            Case(columns, [rows[:1]], primary_key=["k"], options=options | ONE_BUCKET),
        )
        yield (
            f"stats-first-columns-thin-{format}",
            Case(
                columns, [rows[:1]], primary_key=["k"], options=options | ONE_BUCKET | {"data-file.thin-mode": "true"}
            ),
        )
    yield (
        "floats",
        Case(
            {"f": "FLOAT", "d": "DOUBLE"},
            [
                [["NaN", "NaN"]],
                [["NaN", 1.0], [1.5, "NaN"]],
                [[-0.0, 0.0]],
                [[0.0, -0.0]],
                [["-Infinity", "Infinity"]],
                [[0.1, 0.1]],
            ],
        ),
    )
    for format in ("orc", "avro"):
        yield (
            f"floats-{format}",
            Case(
                {"f": "FLOAT", "d": "DOUBLE"},
                [[["-Infinity", 1.0], ["NaN", "NaN"]], [[-0.0, 0.0], [0.0, -0.0]], [["NaN", "NaN"]]][
                    : 1 if format == "orc" else 3
                ],
                options={"file.format": format},
            ),
        )
    orc = {"file.format": "orc"}
    yield (
        "char-orc",
        Case({"c": "CHAR(5)", "v": "VARCHAR(5)"}, [[["a", "a"], ["b ", "b "], ["", ""], [None, None]]], options=orc),
    )
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
                yield (
                    f"stats-keyed-{format}-{mode}-{len(more)}",
                    Case(columns_of, [rows_of], primary_key=[n for n in columns_of if n != "v"], options=options),
                )
        options = ONE_BUCKET | {"file.format": format, "metadata.stats-mode.per.level": "0:none"}
        yield f"stats-level-{format}", Case(PAIR, [[[1, "a"]]], primary_key=["k"], options=options)
        yield (
            f"stats-level-thin-{format}",
            Case(PAIR, [[[1, "a"]]], primary_key=["k"], options=options | {"data-file.thin-mode": "true"}),
        )
    wide = {f"c{n}": "INT" for n in range(71)}
    yield "wide", Case(wide, [[list(range(71))], [[None if n % 2 else n for n in range(71)]]])
    yield (
        "wide-keyed",
        Case(
            wide,
            [[list(range(71))], [[n if n < 65 else None for n in range(71)]]],
            primary_key=[f"c{n}" for n in range(65)],
            options=ONE_BUCKET,
        ),
    )


FAMILIES = (statistics,)
