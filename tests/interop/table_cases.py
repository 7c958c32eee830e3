"""Kinds of tables by name, each with a few commits that try its limits."""

from interop import append_cases, key_cases, statistics_cases

UNLIKE = {
    "char-orc": "Java pads CHAR in ORC files with blanks, and so its bounds",
    "zeros-orc": "Java knows one zero in the bounds of ORC files, the first that came",
    "nan-orc": "Java's bounds in ORC files are NaN where the first value is",
    "hard-text-2": "Java raises U+D7FF to a surrogate, which it stores as a question mark: below the maximum",
}
"""Tables whose statistics differ, and why that is no loss."""


CASES = {
    name: case
    for module in (append_cases, statistics_cases, key_cases)
    for family in module.FAMILIES
    for name, case in family()
}

ALIKE = ("hard-text-", "stats-", "bucket-", "aggregate-", "manifest-", "key-f_", "index-", "parquet-", "orc-", "avro-")
GOING_ON = [name for name in CASES if not name.startswith((*ALIKE, "overwrite-", "zeros-"))] + [
    "aggregate-collect",
    "aggregate-listagg-,-false",
    "aggregate-sum",
    "bucket-all",
    "bucket-f_dec38",
    "bucket-hive-int",
    "index-bitmap-500B",
    "index-bloom-filter-10B",
    "manifest-snappy",
    "orc-zstd",
    "overwrite-dynamic-keyed",
    "overwrite-static-append",
    "parquet-gzip",
    "stats-keyed-orc-full-0",
    "stats-parquet-none-true",
]
"""Tables that others go on with: one of each family. Java mixes the two zeros up when it reads its own ORC files."""

PLAIN = [
    "append",
    "partition-default-name",
    "bucket-text",
    "parquet-snappy",
    "wide",
    "dedup",
    "key-order",
]
"""Tables that pypaimon reads as well."""

SHOWN = [
    "append",
    "dedup",
    "dedup-partitioned",
    "key-order",
    "partition-odd-text",
    "partition-types-legacy-false",
    "bucket-text",
    "wide",
    "floats",
    "many-commits",
    "overwrite-dynamic-keyed",
    "overwrite-whole-append",
    "row-tracking-partitioned",
    "stats-parquet-none-true",
    "index-bloom-filter-10B",
    "thin",
]
"""Tables whose system tables are compared."""
