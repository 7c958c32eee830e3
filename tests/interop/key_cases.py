"""Primary-key tables: keys of every type, every merge engine."""

from collections.abc import Iterator, Mapping
from typing import Any

from interop.limit_values import ALL_ROWS, ALL_TYPES, EMOJI, HIGH, LAST, LOW, MODERN, NANO_VALUES, SCALARS, SMALL
from interop.twins import ONE_BUCKET, PAIR, Case


def keys() -> Iterator[tuple[str, Case]]:
    yield (
        "dedup",
        Case(
            PAIR,
            [
                [["+I", 1, "a"], ["+I", 2, None], ["+I", 2, "b"]],
                [["-D", 1, "a"], ["-U", 2, "b"], ["+U", 2, "x"], ["-D", 7, None]],
                [["-D", 2, "x"], ["+I", 2, "y"], ["-D", 2, "y"]],
            ],
            primary_key=["k"],
            options={"bucket": "2", "write-only": "true"},
            kinds=True,
        ),
    )
    yield (
        "dedup-only-deletes",
        Case(PAIR, [[["-D", 1, "a"], ["-U", 2, None]]], primary_key=["k"], options=ONE_BUCKET, kinds=True),
    )
    yield (
        "dedup-partitioned",
        Case(
            {"p": "STRING", "k": "INT", "v": "INT"},
            [[["+I", "x", 1, 1], ["+I", "", 1, 2], ["+I", " ", 1, 3]], [["+U", "x", 1, 9], ["-D", "", 1, 2]]],
            primary_key=["k", "p"],
            partition_by=["p"],
            options=ONE_BUCKET,
            kinds=True,
        ),
    )
    yield (
        "key-order",
        Case(
            {"a": "INT", "v": "INT", "b": "STRING"},
            [[[2, 1, "b"], [1, 2, "b"], [-5, 3, "é"], [7, 4, ""], [7, 5, "\uffff"], [7, 6, EMOJI]]],
            primary_key=["b", "a"],
            options=ONE_BUCKET,
        ),
    )
    yield (
        "bucket-key",
        Case(
            {"a": "INT", "b": "STRING", "v": "INT"},
            [[[n, str(n), n] for n in range(20)]],
            primary_key=["b", "a"],
            options={"bucket": "5", "bucket-key": "a", "write-only": "true"},
        ),
    )
    yield (
        "double-key",
        Case(
            {"d": "DOUBLE", "v": "INT"},
            [[["NaN", 1], [-0.0, 2], [0.0, 3], ["-Infinity", 4], ["Infinity", 5], [5e-324, 6]], [["NaN", 7], [0.0, 8]]],
            primary_key=["d"],
            options=ONE_BUCKET,
        ),
    )
    yield (
        "double-key-buckets",
        Case(
            {"d": "DOUBLE", "f": "FLOAT", "v": "INT"},
            [[["NaN", "NaN", 1], [-0.0, -0.0, 2], [0.0, 0.0, 3]], [["NaN", "NaN", 7], [0.0, 0.0, 8]]],
            primary_key=["d", "f"],
            options={"bucket": "31", "write-only": "true"},
        ),
    )
    for name, values in {
        "f_dec38": (LOW, HIGH, SMALL, MODERN),
        "f_ts6": (LOW, HIGH, SMALL, MODERN),
        "f_bytes": (LOW, HIGH, SMALL, MODERN),
        "f_string": (LOW, HIGH, SMALL, MODERN),
        "f_bool": (LOW, HIGH),
        "f_ltz3": (LOW, HIGH, SMALL, MODERN),
        "f_date": (LOW, HIGH, SMALL),
        "f_time3": (LOW, HIGH, SMALL),
        "f_tiny": (LOW, HIGH, SMALL),
    }.items():
        at = list(SCALARS).index(name)
        rows = [[row[at], n] for n, row in enumerate(values)]
        yield (
            f"key-{name}",
            Case(
                {"k": SCALARS[name], "v": "INT"},
                [rows, rows[1:]],
                primary_key=["k"],
                options={"bucket": "3", "write-only": "true"},
            ),
        )
    yield (
        "key-ts9",
        Case(
            {"k": "TIMESTAMP(9)", "v": "INT"},
            [[[row[0], n] for n, row in enumerate(NANO_VALUES)]],
            primary_key=["k"],
            options=ONE_BUCKET,
        ),
    )
    commits = [ALL_ROWS[:2], ALL_ROWS[2:], ALL_ROWS[1:]]
    key = ["id", "f_string", "f_dec38", "f_ts6"]
    yield "types-keyed", Case(ALL_TYPES, commits, primary_key=key, options=ONE_BUCKET)
    yield (
        "key-long-text",
        Case(
            {"k": "STRING", "v": "INT"},
            [[["a" * 200, 1], [LAST * 130, 2], ["", 3]]],
            primary_key=["k"],
            options=ONE_BUCKET,
        ),
    )


def engines() -> Iterator[tuple[str, Case]]:
    def engine(name: str, columns: Mapping[str, str], commits: Any, **options: str) -> Case:
        return Case(
            columns,
            commits,
            primary_key=["k"],
            options=ONE_BUCKET
            | {"merge-engine": name}
            | {key.replace("__", "."): value for key, value in options.items()},
            kinds=True,
        )

    triple = {"k": "INT", "a": "INT", "b": "STRING"}
    updates = [
        [["+I", 1, 1, "a"], ["+I", 1, None, "b"], ["+I", 2, 2, None]],
        [["+I", 1, 5, None], ["+I", 3, None, None]],
        [["+I", 2, None, "z"]],
    ]
    yield "partial-update", engine("partial-update", triple, updates)
    yield (
        "partial-update-ignore-delete",
        engine(
            "partial-update", triple, [*updates, [["-D", 1, 5, None], ["-U", 2, 1, None]]], **{"ignore-delete": "true"}
        ),
    )
    yield (
        "partial-update-remove",
        engine(
            "partial-update",
            triple,
            [*updates[:2], [["-D", 1, 5, None], ["+I", 1, None, "again"], ["-D", 2, None, None]]],
            **{"partial-update.remove-record-on-delete": "true"},
        ),
    )
    yield "partial-update-sequence", engine("partial-update", triple, updates, **{"sequence.field": "a"})
    groups = {
        "k": "INT",
        "a": "INT",
        "g1": "INT",
        "b": "INT",
        "s": "BIGINT",
        "g2": "INT",
        "g3": "INT",
        "l": "STRING",
        "d": "INT",
    }
    history = [
        [["+I", 1, 1, 1, 1, 10, 1, 1, "x", 1], ["+I", 2, 1, 1, 1, 10, 1, 1, "x", 1]],
        [["+I", 1, 2, 2, 2, 20, 0, 9, "y", 2]],
        [["+I", 1, None, 3, 3, 30, 2, None, "z", None]],
        [["+I", 1, 9, None, 4, 40, 1, 5, "late", 3], ["+I", 2, 5, 1, None, None, None, None, None, None]],
        [["-D", 2, 7, 2, 7, 7, 3, 3, "d", 7], ["+I", 3, 1, 1, 1, 1, 1, 1, "only", 1]],
        [["-D", 3, 1, 0, 1, 1, 2, 2, "d", 1]],
    ]
    group_options = {
        "fields.g1.sequence-group": "a",
        "fields.g2,g3.sequence-group": "b,s,l",
        "fields.s.aggregate-function": "sum",
        "fields.l.aggregate-function": "listagg",
        "fields.l.ignore-retract": "true",
    }
    yield "partial-update-groups", engine("partial-update", groups, history, **group_options)
    default = {
        "fields.g1.sequence-group": "a",
        "fields.g2,g3.sequence-group": "b,s,l",
        "fields.default-aggregate-function": "last_non_null_value",
    }
    yield "partial-update-groups-default", engine("partial-update", groups, history[:4], **default)
    removal = {
        "fields.g1.sequence-group": "a",
        "fields.g2,g3.sequence-group": "b,s,l",
        "partial-update.remove-record-on-sequence-group": "g2",
    }
    yield "partial-update-groups-remove", engine("partial-update", groups, history, **removal)
    yield (
        "first-row",
        engine("first-row", triple, [[["+I", 1, 1, "a"], ["+I", 1, 2, "b"]], [["+I", 1, 3, "c"], ["+I", 2, 1, None]]]),
    )
    yield (
        "first-row-ignore-delete",
        engine(
            "first-row",
            triple,
            [[["+I", 1, 1, "a"], ["-D", 1, 2, "b"]], [["-D", 1, 3, "c"], ["+I", 2, 1, None]]],
            **{"ignore-delete": "true"},
        ),
    )
    sequences = [
        [["+I", 1, 5, "a"], ["+I", 1, 5, "tie"], ["+I", 2, None, "n"], ["+I", 3, 1, "c"]],
        [["+I", 1, 4, "late"], ["+I", 2, None, "m"], ["-D", 3, 0, "late"]],
        [["-D", 1, 5, "x"], ["+I", 3, None, "null"]],
    ]
    for order in ("ascending", "descending"):
        yield (
            f"sequence-{order}",
            engine("deduplicate", triple, sequences, **{"sequence.field": "a", "sequence.field.sort-order": order}),
        )
    yield "sequence-two", engine("deduplicate", triple, sequences, **{"sequence.field": "a,b"})
    yield "dedup-ignore-delete", engine("deduplicate", triple, sequences, **{"ignore-delete": "true"})
    yield (
        "dedup-ignore-update-before",
        engine(
            "deduplicate",
            triple,
            [[["+I", 1, 1, "a"], ["-U", 1, 1, "a"]], [["-U", 1, 1, "a"], ["-D", 2, 1, "b"]]],
            **{"ignore-update-before": "true"},
        ),
    )
    yield (
        "rowkind-field",
        Case(
            {"k": "INT", "rk": "STRING"},
            [[[1, "+I"], [2, "+I"], [2, "-D"]], [[1, "-D"], [3, "+U"]]],
            primary_key=["k"],
            options=ONE_BUCKET | {"rowkind.field": "rk"},
        ),
    )
    yield from aggregates(engine)


def aggregates(engine: Any) -> Iterator[tuple[str, Case]]:
    """Each aggregate function over values, nulls, ties and retractions."""
    numbers = {
        "sum": "BIGINT",
        "min": "INT",
        "max": "INT",
        "product": "INT",
        "last_value": "INT",
        "last_non_null_value": "INT",
        "first_value": "INT",
        "first_non_null_value": "INT",
    }
    values = [
        [["+I", 1, 5], ["+I", 2, None], ["+I", 1, 3], ["+I", 3, 7]],
        [["+I", 1, None], ["+I", 2, 2], ["+I", 4, -1]],
        [["+I", 1, 9], ["+I", 2, 4], ["+I", 4, None]],
    ]
    retracts = [*values, [["-D", 1, 9], ["-U", 2, 1], ["+U", 2, 8], ["-D", 5, 5]]]
    for name, type in numbers.items():
        history = retracts if name in ("sum", "product", "last_value", "last_non_null_value") else values
        yield (
            f"aggregate-{name}",
            engine("aggregation", {"k": "INT", "v": type}, history, **{"fields.v.aggregate-function": name}),
        )
        yield (
            f"aggregate-{name}-ignore",
            engine(
                "aggregation",
                {"k": "INT", "v": type},
                retracts,
                **{"fields.v.aggregate-function": name, "fields.v.ignore-retract": "true"},
            ),
        )
    for name in ("sum", "min", "max", "product"):
        for type in ("SMALLINT", "DOUBLE", "FLOAT"):
            floats = (
                [[[row[0], row[1], row[2] and float(row[2])] for row in rows] for rows in values]
                if type != "SMALLINT"
                else values
            )
            yield (
                f"aggregate-{name}-{type}",
                engine("aggregation", {"k": "INT", "v": type}, floats, **{"fields.v.aggregate-function": name}),
            )
    decimals = [[[row[0], row[1], None if row[2] is None else f"{row[2]}.25"] for row in rows] for rows in values]
    yield (
        "aggregate-sum-decimal",
        engine("aggregation", {"k": "INT", "v": "DECIMAL(20, 2)"}, decimals, **{"fields.v.aggregate-function": "sum"}),
    )
    yield (
        "aggregate-product-decimal",
        engine(
            "aggregation", {"k": "INT", "v": "DECIMAL(20, 2)"}, decimals, **{"fields.v.aggregate-function": "product"}
        ),
    )
    nans = [
        [["+I", 1, "NaN"], ["+I", 1, 1.0], ["+I", 2, -0.0], ["+I", 2, 0.0], ["+I", 3, 0.0]],
        [["+I", 1, "Infinity"], ["+I", 3, -0.0]],
    ]
    for name in ("min", "max", "sum"):
        yield (
            f"aggregate-{name}-nan",
            engine("aggregation", {"k": "INT", "v": "DOUBLE"}, nans, **{"fields.v.aggregate-function": name}),
        )
    flags = [[["+I", 1, True], ["+I", 2, None], ["+I", 3, False]], [["+I", 1, False], ["+I", 2, True], ["+I", 3, None]]]
    for name in ("bool_and", "bool_or"):
        yield (
            f"aggregate-{name}",
            engine("aggregation", {"k": "INT", "v": "BOOLEAN"}, flags, **{"fields.v.aggregate-function": name}),
        )
    words = [
        [["+I", 1, "a"], ["+I", 1, "b"], ["+I", 2, None], ["+I", 3, ""]],
        [["+I", 1, "a"], ["+I", 2, "x"], ["+I", 3, "y"]],
        [["+I", 1, ""], ["+I", 2, None], ["+I", 3, ""], ["+I", 3, "y;y"]],
    ]
    for distinct in ("true", "false"):
        for delimiter in (",", ";"):
            yield (
                f"aggregate-listagg-{delimiter}-{distinct}",
                engine(
                    "aggregation",
                    {"k": "INT", "v": "STRING"},
                    words,
                    **{
                        "fields.v.aggregate-function": "listagg",
                        "fields.v.distinct": distinct,
                        "fields.v.list-agg-delimiter": delimiter,
                    },
                ),
            )
    lists = [
        [["+I", 1, [1, 2, 2]], ["+I", 2, None], ["+I", 1, [2, None]]],
        [["+I", 1, [1]], ["+I", 2, [3]], ["+I", 3, []]],
        [["-D", 1, [2]], ["+I", 2, None]],
    ]
    yield (
        "aggregate-collect",
        engine("aggregation", {"k": "INT", "v": "ARRAY<INT>"}, lists, **{"fields.v.aggregate-function": "collect"}),
    )
    maps = [
        [["+I", 1, [["a", 1], ["b", 2]]], ["+I", 2, None]],
        [["+I", 1, [["b", None], ["c", 3]]], ["+I", 2, [["", 1]]]],
        [["-D", 1, [["a", 1]]], ["+I", 2, []]],
    ]
    yield (
        "aggregate-merge_map",
        engine(
            "aggregation", {"k": "INT", "v": "MAP<STRING, INT>"}, maps, **{"fields.v.aggregate-function": "merge_map"}
        ),
    )
    removal = [[["+I", 1, 5], ["+I", 2, 1]], [["-D", 1, 5], ["+I", 1, 2], ["-D", 2, 1]], [["+I", 2, 7]]]
    yield (
        "aggregate-remove",
        engine(
            "aggregation",
            {"k": "INT", "v": "BIGINT"},
            removal,
            **{"fields.v.aggregate-function": "sum", "aggregation.remove-record-on-delete": "true"},
        ),
    )
    yield (
        "aggregate-sequence",
        engine(
            "aggregation",
            {"k": "INT", "v": "INT", "s": "INT"},
            [[["+I", 1, 5, 5], ["+I", 1, 3, 1], ["+I", 2, 1, None]], [["+I", 1, 9, 4], ["+I", 2, 2, None]]],
            **{"fields.v.aggregate-function": "last_value", "sequence.field": "s"},
        ),
    )


FAMILIES = (keys, engines)
