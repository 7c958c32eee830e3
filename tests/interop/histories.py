"""Seeded random histories of one table that polynya and Java change in turns.

After each step both read the latest and another snapshot and must agree. Java alone lives through the same history on
a twin, whose rows must be the same. Where the outcome depends on when files are compacted (compaction drops a -D, and
with it what a partial update or a sum kept of its values and what its sequence field held back), nobody compacts on
his own, and the twin is compacted in step.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polynya
from interop import twins
from interop.arrow_rows import arrow_rows
from interop.java_paimon import JavaPaimon, JavaTable
from interop.twins import Case, rows_of
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER
from polynya.paimon import type_text
from rows import render_rows, sorted_rows

Row = list[Any]
Step = Callable[["History"], str | None]

TEXTS = [None, "", " ", "a", "b", "é" * 9, "long text beyond sixteen characters", "\U0001f600" * 17, "\U0010ffff" * 17]
POOLS: Mapping[str, Sequence[Any]] = {
    "INT": [None, 0, 1, -1, 7, 2**31 - 1, -(2**31)],
    "BIGINT": [None, 0, 1, -5, 2**40, -(2**40)],
    "DOUBLE": [None, "NaN", -0.0, 1.5, "Infinity", "-Infinity", 1e-300],
    "STRING": TEXTS,
    "BOOLEAN": [None, True, False],
    "DECIMAL(20, 2)": [None, "0.00", "-0.01", "123456789012345678.90", "-999999999999999999.99"],
    "TIMESTAMP(6)": [None, "1969-12-31 23:59:59.999999", "2024-01-02 03:04:05.678901", "0001-01-01 00:00:00.000000"],
    "DATE": [None, "1969-12-31", "2024-02-29", "0001-01-01"],
    "ARRAY<INT>": [None, [], [1, None], [3, 2, 1]],
    "MAP<STRING, INT>": [None, [], [["a", 1]], [["", None], ["b", 2]]],
}
VALUES = {"s": "STRING", "n": "BIGINT", "d": "DOUBLE", "e": "DECIMAL(20, 2)", "t": "TIMESTAMP(6)", "l": "ARRAY<INT>"}
COMPARED = ("INT", "BIGINT", "STRING")
INSERTS, ALL_KINDS = ("+I", "+I", "+U"), ("+I", "+I", "+U", "-U", "-D")


@dataclass(frozen=True)
class Kind:
    """A kind of table and what may happen to it.

    `has_twin` where only the visible rows make the outcome, `in_step` where the compactions make it too.
    """

    columns: Mapping[str, str]
    primary_key: Sequence[str] = ()
    partition_by: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    row_kinds: Sequence[str] = ("+I",)
    has_twin: bool = False
    in_step: bool = False
    may_delete: bool = False
    may_rename: bool = True


def keyed(columns: Mapping[str, str], options: Mapping[str, str], **more: Any) -> Kind:
    """A primary-key table, small enough to be compacted often."""
    small = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}
    choices = {"file.format": FORMATS, "data-file.thin-mode": ("false", "true"), "write-only": ("false", "true")}
    return Kind({"k": "INT"} | dict(columns), ["k"], options=small | dict(options), choices=choices, **more)


FORMATS = ("parquet", "parquet", "avro", "orc")
NUMBERS = {"a": "INT", "b": "STRING", "c": "BIGINT"}
GROUPS = {"g1": "INT", "a": "INT", "g2": "INT", "b": "STRING", "c": "BIGINT"}
SUMS = {"a": "BIGINT", "b": "BIGINT", "c": "STRING", "d": "BOOLEAN", "e": "INT"}
NO_TIMES = {name: type for name, type in VALUES.items() if name != "t"}
SUM_OPTIONS = {
    "merge-engine": "aggregation",
    "fields.a.aggregate-function": "sum",
    "fields.b.aggregate-function": "max",
    "fields.c.aggregate-function": "listagg",
    "fields.d.aggregate-function": "bool_or",
    "fields.e.aggregate-function": "last_non_null_value",
}
ALONE: Mapping[str, Kind] = {
    "append": Kind({"k": "INT"} | VALUES, choices={"file.format": FORMATS[:3]}, has_twin=True, may_delete=True),
    "append-partitioned": Kind(
        {"k": "INT", "p": "STRING"} | NO_TIMES,
        partition_by=["p"],
        choices={"file.format": FORMATS},
        has_twin=True,
        may_delete=True,
    ),
    "append-bucketed": Kind(
        {"k": "INT"} | VALUES,
        options={"bucket": "3", "bucket-key": "k"},
        has_twin=True,
        may_delete=True,
        may_rename=False,
    ),
    "append-vectors": Kind(
        {"k": "INT"} | VALUES,
        options={"deletion-vectors.enabled": "true"},
        choices={"deletion-vectors.bitmap64": ("true", "false"), "bucket": ("-1",)},
        has_twin=True,
        may_delete=True,
    ),
    "append-tracked": Kind(
        {"k": "INT"} | NO_TIMES,
        options={"row-tracking.enabled": "true", "compaction.min.file-num": "2"},
        choices={"file.format": ("parquet", "orc")},  # Java does not read the ids of rows in Avro files
        has_twin=True,
        may_delete=True,
    ),
    "append-tracked-vectors": Kind(
        {"k": "INT", "p": "STRING"} | VALUES,
        partition_by=["p"],
        options={"row-tracking.enabled": "true", "deletion-vectors.enabled": "true"},
        has_twin=True,
        may_delete=True,
    ),
    "deduplicate": keyed(NO_TIMES, {}, row_kinds=ALL_KINDS, has_twin=True, may_delete=True),
    "deduplicate-partitioned": Kind(
        {"k": "INT", "p": "STRING"} | VALUES,
        ["p", "k"],
        ["p"],
        {"bucket": "1", "num-sorted-run.compaction-trigger": "3"},
        row_kinds=ALL_KINDS,
        has_twin=True,
        may_delete=True,
    ),
    "sequence": keyed(NUMBERS, {"sequence.field": "a"}, row_kinds=ALL_KINDS),
    "sequence-descending": keyed(
        NUMBERS, {"sequence.field": "a,c", "sequence.field.sort-order": "descending"}, row_kinds=INSERTS, has_twin=True
    ),
    "ignore-delete": keyed(NUMBERS, {"ignore-delete": "true"}, row_kinds=ALL_KINDS, has_twin=True),
    "partial-update": keyed(NUMBERS, {"merge-engine": "partial-update"}, row_kinds=INSERTS, has_twin=True),
    "partial-update-remove": keyed(
        NUMBERS,
        {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
        row_kinds=("+I", "+I", "+U", "-D"),
        may_delete=True,
    ),
    "partial-update-groups": keyed(
        GROUPS,
        {
            "merge-engine": "partial-update",
            "fields.g1.sequence-group": "a",
            "fields.g2.sequence-group": "b,c",
            "fields.c.aggregate-function": "sum",
        },
        row_kinds=ALL_KINDS,
    ),
    "aggregation": keyed(SUMS, SUM_OPTIONS, row_kinds=INSERTS, has_twin=True),
    "aggregation-retract": keyed(
        SUMS,
        SUM_OPTIONS | {f"fields.{name}.ignore-retract": "true" for name in "bcd"},
        row_kinds=ALL_KINDS,
    ),
    "first-row": keyed(NUMBERS, {"merge-engine": "first-row"}, row_kinds=("+I",)),
}


def in_step(kind: Kind) -> Kind:
    """The same kind of table, with a twin that is compacted in step: always wholly, and by nobody else."""
    choices = {name: values for name, values in kind.choices.items() if name != "write-only"}
    options = dict(kind.options) | {"write-only": "true"}
    return replace(kind, options=options, choices=choices, has_twin=True, in_step=True)


KINDS: Mapping[str, Kind] = {
    **ALONE,
    **{f"{name}-in-step": in_step(kind) for name, kind in ALONE.items() if not kind.has_twin},
    "sequence-delete-in-step": in_step(replace(ALONE["sequence"], may_delete=True)),
    "aggregation-remove-in-step": in_step(
        keyed(
            SUMS,
            SUM_OPTIONS | {"aggregation.remove-record-on-delete": "true"},
            row_kinds=("+I", "+I", "+U", "-D"),
        )
    ),
    "partial-update-groups-remove-in-step": in_step(
        keyed(
            GROUPS,
            {
                "merge-engine": "partial-update",
                "fields.g1.sequence-group": "a",
                "fields.g2.sequence-group": "b,c",
                "partial-update.remove-record-on-sequence-group": "g2",
            },
            row_kinds=ALL_KINDS,
            may_rename=False,  # an option names a column that older schemas lack: Java does not read those then
        )
    ),
}


class History:
    """One table, what happened to it so far, and who looks at it."""

    def __init__(self, java: JavaPaimon, warehouse: Path, kind: Kind, seed: int) -> None:
        self.kind, self.random, self.log = kind, random.Random(seed), [f"seed {seed}"]
        options = dict(kind.options) | {key: self.random.choice(values) for key, values in kind.choices.items()}
        case = Case(kind.columns, [], kind.primary_key, kind.partition_by, options)
        self.folder = warehouse / "ours.db" / "t"
        self.java = java.table(self.folder)
        self.log.append(f"create {options}")
        twins.create_ours(warehouse, case)
        self.twin: JavaTable | None = twins.create_twin(java, warehouse, case) if kind.has_twin else None

    @property
    def ours(self) -> polynya.Table:
        """The table as polynya sees it now."""
        return polynya.open_table(self.folder)

    @property
    def columns(self) -> dict[str, str]:
        """The columns of now, with their types as SQL."""
        return {column.name: type_text.render_sql(column.type) for column in self.ours.schema.fields}

    def run(self, step_count: int) -> None:
        """Take steps, comparing after each; an error carries the history as a note."""
        try:
            for _ in range(step_count):
                self.take(self.random.choice(self.steps()))
                self.compare()
            assert self.ours.check(deep=True).is_sound, str(self.ours.check(deep=True))
        except Exception as error:
            error.add_note("\n".join(self.log))
            raise

    def take(self, step: Step) -> None:
        """Do one thing and write it down."""
        self.log.append(f"{step.__name__} ...")
        said = step(self)
        self.log[-1] = f"{step.__name__} {said or ''} -> snapshot {max(self.ids(), default=0)}"

    def steps(self) -> list[Step]:
        """What can happen next, the likelier the more often."""
        kind = self.kind
        steps = [our_write, java_write] * 4 + [java_compaction, our_compaction] * 2
        steps += [our_overwrite, java_overwrite, our_manifest_compaction, java_manifest_compaction]
        steps += [java_expiry, java_tag, java_truncation]
        steps += [java_new_column] if len(self.columns) < len(kind.columns) + 2 else []
        steps += [java_rename, java_wider_column] if kind.may_rename else []
        steps += [our_delete, our_update] if kind.may_delete else []
        steps += [java_delete] if "deletion-vectors.enabled" in kind.options else []
        steps += [our_partition_compaction] if kind.partition_by else []
        steps += [java_rollback] if self.twin is None else []
        return steps

    def compare(self) -> None:
        """Latest rows, those of a random snapshot, and the twin's."""
        ours = rows_of(self.ours)
        assert self.java.rows() == ours, "Java reads other rows than polynya"
        self.compare_filtered()
        if self.is_tracked:
            assert self.java.rows("row_tracking") == self.tracked_rows(), "Java reads other row ids than polynya"
        for id in self.random.sample(self.ids(), min(1, len(self.ids()))):
            assert self.java.at(id) == rows_of(self.ours.at(snapshot_id=id)), f"other rows at snapshot {id}"
        if self.twin is not None:
            assert self.twin.rows() == ours, "the twin has other rows"

    def compare_filtered(self) -> None:
        """The rows of a random condition, for which both leave out files by what manifests say of them."""
        name, type = self.random.choice([pair for pair in self.columns.items() if pair[1].split()[0] in COMPARED])
        value = self.random.choice([one for one in POOLS[type.split()[0]] if one is not None])
        operator = self.random.choice(["=", "!=", "<", "<=", ">", ">=", "null", "not null"])
        column = polynya.col(name)
        conditions = {"null": column.is_null(), "not null": column.is_not_null()} | {
            "=": column == value,
            "!=": column != value,
            "<": column < value,
            "<=": column <= value,
            ">": column > value,
            ">=": column >= value,
        }
        found = render_rows(self.ours.scan(where=conditions[operator]).to_arrow(), self.ours.schema.fields)
        where = [[operator, name, value]] if "null" not in operator else [[operator, name]]
        assert self.java.rows(where=where) == found, f"other rows where {where}"

    @property
    def is_tracked(self) -> bool:
        """Whether rows have ids."""
        return "row-tracking.enabled" in self.kind.options

    def tracked_rows(self) -> list[Row]:
        """The rows, each with its id and sequence number behind it; none where they have none."""
        if not self.is_tracked:
            return []
        fields = (*self.ours.schema.fields, ROW_ID, SEQUENCE_NUMBER)
        return render_rows(self.ours.system("row_tracking"), fields)

    def ids(self) -> list[int]:
        """The snapshots there are."""
        return sorted(int(file.name.removeprefix("snapshot-")) for file in self.folder.glob("snapshot/snapshot-*"))

    def batch(self, kinds: Sequence[str] | None = None) -> list[Row]:
        """Rows to write, each beginning with its kind; keys come again and again."""
        rows = [self.row() for _ in range(self.random.choice([1, 3, 8]))]
        return [[self.random.choice(kinds or self.kind.row_kinds), *row] for row in rows]

    def row(self) -> Row:
        """One row of the columns of now."""
        return [self.value(name, type) for name, type in self.columns.items()]

    def value(self, name: str, type: str) -> Any:
        """A value of a column; keys and partitions are few."""
        if name == "k":
            return self.random.randrange(10)
        if name == "p":
            few = ["x", "y", "", " "] if self.kind.primary_key else [None, "x", "y", "", "a/b"]
            return self.random.choice(few)
        return self.random.choice(POOLS[type.removesuffix(" NOT NULL")])

    def replay(self, rows: Sequence[Row], *, overwrite: bool = False) -> None:
        """The same write on the twin."""
        if self.twin is not None:
            self.twin.write(rows, kind=None, overwrite={} if overwrite else None)

    def replace(self, before: Sequence[Row], after: Sequence[Row]) -> None:
        """Give the twin these rows; in step by the records that a change of single rows writes."""
        if self.twin is None:
            return
        if self.kind.in_step:
            changed = [["+U", *row] for row in after if row not in before]
            keys = [row[0] for row in after]
            self.replay(changed + [["-D", *row] for row in before if row[0] not in keys])
            return
        self.twin.ask("truncate")
        self.twin.write(after)

    def compact_twin(self) -> None:
        """Keep the twin in step, where that matters."""
        if self.twin is not None and self.kind.in_step and self.ids():
            self.twin.ask("compact", full=True)


def our_write(history: History) -> str:
    rows = history.batch()
    twins.write_kinds(history.ours, rows) if history.kind.primary_key else _append(history, rows)
    history.replay(rows)
    return str(rows)


def _append(history: History, rows: Sequence[Row], **how: Any) -> None:
    history.ours.write(arrow_rows([row[1:] for row in rows], history.ours.schema.fields), **how)


def java_write(history: History) -> str:
    rows = history.batch()
    history.java.write(rows, kind=None)
    history.replay(rows)
    return str(rows)


def our_overwrite(history: History) -> str:
    rows = history.batch(["+I"])
    _append(history, rows, mode="overwrite")
    history.replay(rows, overwrite=True)
    return str(rows)


def java_overwrite(history: History) -> str:
    rows = history.batch(["+I"])
    history.java.write(rows, kind=None, overwrite={})
    history.replay(rows, overwrite=True)
    return str(rows)


def our_compaction(history: History) -> str:
    full, before = history.kind.in_step or history.random.random() < 0.5, history.tracked_rows()
    history.ours.compact(full=full)
    assert history.tracked_rows() == before, "rows lost their ids"
    history.compact_twin()
    return "full" if full else ""


def java_compaction(history: History) -> str:
    full = history.kind.in_step or history.random.random() < 0.5
    if history.ids():
        history.java.ask("compact", full=full)
        history.compact_twin()
    return "full" if full else ""


def our_manifest_compaction(history: History) -> None:
    history.ours.compact_manifests()


def java_manifest_compaction(history: History) -> None:
    if history.ids():
        history.java.ask("compact_manifests")


def java_expiry(history: History) -> None:
    if history.ids():
        history.java.ask("expire", retain_max=3, retain_min=1)


def java_tag(history: History) -> None:
    if history.ids():
        name = f"tag{len(history.log)}"
        history.java.ask("tag", name=name)
        assert history.java.at_tag(name) == rows_of(history.ours.at(tag=name))


def java_new_column(history: History) -> str:
    name, type = f"c{len(history.log)}", history.random.choice(["STRING", "INT", "DATE"])
    for table in filter(None, (history.java, history.twin)):
        table.ask("alter", changes=[["add", name, type]])
    return f"{name} {type}"


def java_rename(history: History) -> str:
    old = list(history.columns)[-1]
    if f"fields.{old}" in str(history.kind.options) or old in history.kind.options.get("sequence.field", ""):
        return ""
    new = f"r{len(history.log)}"
    for table in filter(None, (history.java, history.twin)):
        table.ask("alter", changes=[["rename", old, new]])
    return f"{old} to {new}"


def java_wider_column(history: History) -> str:
    ints = [name for name, type in history.columns.items() if type == "INT" and name.startswith(("c", "r"))]
    for name in ints[:1]:
        for table in filter(None, (history.java, history.twin)):
            table.ask("alter", changes=[["type", name, "BIGINT"]])
    return str(ints[:1])


def java_truncation(history: History) -> None:
    if history.random.random() < 0.3:
        for table in filter(None, (history.java, history.twin)):
            table.ask("truncate")


def java_rollback(history: History) -> str:
    if not history.ids() or len(history.columns) > len(history.kind.columns):
        return "not done"
    id = history.random.choice(history.ids())
    history.java.ask("rollback", snapshot=id)
    return f"to {id}"


def our_partition_compaction(history: History) -> None:
    history.ours.compact(full=True, where="p = 'x'")


def our_delete(history: History) -> str:
    key, before, tracked = history.random.randrange(10), rows_of(history.ours), history.tracked_rows()
    history.ours.delete(f"k < {key}")
    kept = [row for row in before if row[0] >= key]
    assert rows_of(history.ours) == kept
    assert history.tracked_rows() == [row for row in tracked if row[0] >= key], "rows lost their ids"
    history.replace(before, kept)
    return f"k < {key}"


def our_update(history: History) -> str:
    key, before, tracked = history.random.randrange(10), rows_of(history.ours), history.tracked_rows()
    name = next(name for name, type in history.columns.items() if type == "BIGINT" and name != "k")
    at = list(history.columns).index(name)
    history.ours.update({name: 99}, f"k = {key}")
    changed = [row if row[0] != key else [*row[:at], 99, *row[at + 1 :]] for row in before]
    assert rows_of(history.ours) == sorted_rows(changed)
    now = max(history.ids(), default=0)
    kept = [row if row[0] != key else [*row[:at], 99, *row[at + 1 : -1], now] for row in tracked]
    assert history.tracked_rows() == sorted_rows(kept), "rows lost their ids"
    history.replace(before, changed)
    return f"{name} = 99 where k = {key}"


def java_delete(history: History) -> str:
    key, before = history.random.randrange(10), rows_of(history.ours)
    if history.ids():
        history.java.ask("delete", where=[["=", "k", key]])
    history.replace(before, [row for row in before if row[0] != key])
    return f"k = {key}"
