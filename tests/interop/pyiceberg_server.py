"""Runs inside PyIceberg's own environment: a line of JSON in, a line of JSON out, rows as Arrow files."""

import datetime as dt
import decimal
import json
import random
import sys
import traceback
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

PLACE = StructType(NestedField(31, "x", IntegerType()), NestedField(32, "y", StringType()))
TYPES = {
    "id": LongType(),
    "n": IntegerType(),
    "f": FloatType(),
    "s": StringType(),
    "day": DateType(),
    "at": TimestampType(),
    "seen": TimestamptzType(),
    "clock": TimeType(),
    "price": DecimalType(9, 2),
    "raw": BinaryType(),
    "flag": BooleanType(),
    "place": PLACE,
    "tags": ListType(41, StringType(), element_required=False),
}
TRANSFORMS = {
    "id": (BucketTransform(4), TruncateTransform(10), IdentityTransform()),
    "n": (TruncateTransform(7), BucketTransform(3), IdentityTransform()),
    "s": (TruncateTransform(2), BucketTransform(5), IdentityTransform()),
    "day": (YearTransform(), MonthTransform(), DayTransform(), IdentityTransform()),
    "at": (DayTransform(), HourTransform(), MonthTransform()),
    "seen": (YearTransform(), DayTransform(), HourTransform()),
    "price": (TruncateTransform(100), BucketTransform(3)),
    "flag": (IdentityTransform(),),
}
BASE = dt.datetime(1969, 12, 30, 22, 15, 0, 250)
WORDS = ("a", "ab", "abc", "b", "", "zoo", "ü€x", "a/b=c", "Ab")


class History:
    """A table, changed at random."""

    def __init__(self, folder, seed, version):
        self.folder, self.draw, self.steps = Path(folder), random.Random(seed), []
        self.folder.mkdir(parents=True)
        catalog = SqlCatalog("c", uri=f"sqlite:///{self.folder}/c.db", warehouse=f"file://{self.folder}/wh")
        catalog.create_namespace("db")
        fields = [NestedField(i, name, type) for i, (name, type) in enumerate(TYPES.items(), 1)]
        properties = {"format-version": version, "write.metadata.compression-codec": self.draw.choice(("none", "gzip"))}
        if self.draw.random() < 0.3:
            properties["write.data.path"] = f"file://{self.folder}/data apart"
        self.table = catalog.create_table("db.t", Schema(*fields), properties=properties)
        self.branches = set()
        self.partition()

    def run(self, step_count):
        self.append()
        for _ in range(step_count):
            step = self.draw.choices(list(STEPS), list(STEPS.values()))[0]
            try:
                getattr(self, step)()
                self.steps.append(step)
            except (ValueError, NotImplementedError, TypeError) as error:
                self.steps.append(f"{step} refused: {error}"[:200])
                self.table.refresh()

    def rows(self, count=None):
        count = self.draw.randrange(1, 40) if count is None else count
        values = {name: [self.value(name) for _ in range(count)] for name in TYPES}
        made = {self.name(i): values[name] for i, name in enumerate(TYPES, 1) if self.name(i) is not None}
        known = self.table.schema().as_arrow()
        return pa.table([pa.array(made.get(field.name, [None] * count), field.type) for field in known], schema=known)

    def name(self, id):
        return next((one.name for one in self.table.schema().fields if one.field_id == id), None)

    def value(self, name):
        draw = self.draw
        if draw.random() < 0.1:
            return None
        at = BASE + dt.timedelta(minutes=draw.randrange(60 * 24 * 80), microseconds=draw.randrange(3))
        return {
            "id": lambda: draw.randrange(60),
            "n": lambda: draw.choice((-(2**31), 2**31 - 1, -8, -7, -1, 0, 1, 6, 7, 13)),
            "f": lambda: draw.choice((0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"))),
            "s": lambda: draw.choice(WORDS),
            "day": lambda: at.date(),
            "at": lambda: at,
            "seen": lambda: at.replace(tzinfo=dt.UTC),
            "clock": lambda: at.time(),
            "price": lambda: decimal.Decimal(draw.randrange(-500, 500)).scaleb(-2),
            "raw": lambda: draw.choice(WORDS).encode(),
            "flag": lambda: draw.random() < 0.5,
            "place": lambda: {"x": draw.randrange(5), "y": draw.choice(WORDS)},
            "tags": lambda: [draw.choice(WORDS) for _ in range(draw.randrange(3))],
        }[name]()

    def condition(self):
        name = self.name(1) or "id"
        low = self.draw.randrange(60)
        word = self.draw.choice(("a", "ab", "zoo"))
        text = self.name(4)
        if text is not None and self.draw.random() < 0.4:
            return self.draw.choice((f"{text} = '{word}'", f"{text} >= '{word}'", f"{text} is null"))
        return self.draw.choice((f"{name} = {low}", f"{name} >= {low} and {name} < {low + 9}", f"{name} < {low // 3}"))

    def append(self):
        self.table.append(self.rows())

    def overwrite(self):
        self.table.overwrite(self.rows(), overwrite_filter=self.condition())

    def delete(self):
        self.table.delete(self.condition())

    def partitions(self):
        self.table.dynamic_partition_overwrite(self.rows())

    def upsert(self):
        rows = self.rows(12)
        key = self.name(1)
        column = pa.array(self.draw.sample(range(60), 12), pa.int64())
        rows = rows.set_column(rows.schema.get_field_index(key), rows.schema.field(key), column)
        self.table.upsert(rows, join_cols=[key])

    def partition(self):
        with self.table.update_spec() as update:
            fields = list(self.table.spec().fields)
            if fields and self.draw.random() < 0.4:
                update.remove_field(self.draw.choice(fields).name)
                return
            id, (name, choices) = self.draw.choice([(list(TYPES).index(k) + 1, (k, v)) for k, v in TRANSFORMS.items()])
            transform = self.draw.choice(choices)
            update.add_field(self.name(id) or name, transform, f"p{len(self.table.specs())}")

    def evolve(self):
        with self.table.update_schema() as update:
            kind = self.draw.randrange(5)
            if kind == 0:
                type = self.draw.choice((StringType(), LongType(), DateType()))
                update.add_column(f"new{self.table.metadata.last_column_id}", type)
            elif kind == 1:
                old = self.draw.choice([self.name(id) for id in (2, 4, 9) if self.name(id) is not None])
                update.rename_column(old, f"{old[0]}{self.table.metadata.current_schema_id}_")
            elif kind == 2:
                update.update_column(self.name(2) or "n", LongType())
            elif kind == 3:
                update.update_column(self.name(3) or "f", DoubleType())
            else:
                old = [self.name(id) for id in (8, 10, 13) if self.name(id) is not None]
                update.delete_column(self.draw.choice(old))

    def tag(self):
        name = f"tag{len(self.steps)}"
        self.table.manage_snapshots().create_tag(self.table.current_snapshot().snapshot_id, name).commit()

    def branch(self):
        name = f"branch{len(self.steps)}"
        self.table.manage_snapshots().create_branch(self.table.current_snapshot().snapshot_id, name).commit()
        self.table.append(self.rows(5), branch=name)

    def add_files(self):
        """Files of another program, without field ids and elsewhere."""
        path = self.folder / "added" / f"{len(self.steps)}.parquet"
        path.parent.mkdir(exist_ok=True)
        rows = self.rows(3)
        for field in self.table.spec().fields:
            name = self.table.schema().find_column_name(field.source_id)
            one = rows.slice(0, 1)[name].combine_chunks()
            rows = rows.set_column(
                rows.schema.get_field_index(name), rows.schema.field(name), pa.concat_arrays([one] * 3)
            )
        plain = pa.schema([pa.field(field.name, _without_ids(field.type)) for field in rows.schema])
        pq.write_table(rows.cast(plain), path)
        self.table.add_files([f"file://{path}"])

    def result(self):
        table = self.table.refresh()
        ids = [one.snapshot_id for one in table.snapshots()]
        refs = {
            kind: {n: r for n, r in table.refs().items() if r.snapshot_ref_type == kind} for kind in ("tag", "branch")
        }
        return {
            "metadata": table.metadata_location,
            "location": table.location(),
            "steps": self.steps,
            "snapshots": {id: self.saved(table.scan(snapshot_id=id)) for id in ids},
            "tags": {name: self.saved(table.scan(snapshot_id=ref.snapshot_id)) for name, ref in refs["tag"].items()},
            "branches": {name: self.saved(table.scan().use_ref(name)) for name in refs["branch"]},
        }

    def saved(self, scan):
        rows = scan.to_arrow()
        path = self.folder / f"rows-{random.getrandbits(60)}.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        return str(path)


STEPS = {
    "append": 4,
    "overwrite": 2,
    "delete": 3,
    "partitions": 1,
    "upsert": 2,
    "partition": 2,
    "evolve": 3,
    "tag": 1,
    "branch": 1,
    "add_files": 1,
}


def _without_ids(type):
    if pa.types.is_struct(type):
        return pa.struct([pa.field(one.name, _without_ids(one.type)) for one in type])
    if pa.types.is_large_list(type) or pa.types.is_list(type):
        return pa.list_(_without_ids(type.value_type))
    return type


def history(command):
    made = History(command["folder"], command["seed"], command["version"])
    made.run(10)
    return made.result()


def main():
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": True, "result": {"history": history}[command["do"]](command)}
        except Exception as error:  # noqa: BLE001  # every failure is an answer; the caller decides
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
