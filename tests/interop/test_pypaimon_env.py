"""The runner of pypaimon itself."""

import shutil

import pyarrow as pa
import pytest

from golden_data import golden_expected, golden_table
from interop.line_server import OtherError
from polynya.model import types as t
from polynya.model.arrow_types import from_arrow_type
from rows import render_rows, sorted_rows

FIELDS = (t.Field(0, "k", t.Int()), t.Field(1, "v", t.VarChar()))


def test_rows_are_those_of_the_golden_expectations(pypaimon):
    found = pypaimon.read(golden_table("append_unaware"))
    fields = [
        t.Field(position, column.name, from_arrow_type(column.type)) for position, column in enumerate(found.schema)
    ]
    assert render_rows(found, fields) == sorted_rows(golden_expected("append_unaware")["rows"])


def test_options_travel_in_time(pypaimon):
    first = golden_expected("append_unaware")["snapshots"][0]
    found = pypaimon.read(golden_table("append_unaware"), {"scan.snapshot-id": str(first["id"])})
    assert found.num_rows == len(first["rows"])


def test_java_reads_what_pypaimon_wrote(java, pypaimon, tmp_path):
    folder = tmp_path / "db.db" / "t"
    table = java.table(folder).create([("k", "INT"), ("v", "STRING")])
    pypaimon.write(folder, pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", None]}))
    assert table.rows() == render_rows(pypaimon.read(folder), FIELDS) == [[1, "a"], [2, None]]


def test_an_error_names_its_class(pypaimon, tmp_path):
    copy = tmp_path / "golden.db" / "append_unaware"
    shutil.copytree(golden_table("append_unaware") / "schema", copy / "schema")
    shutil.copytree(golden_table("append_unaware") / "snapshot", copy / "snapshot")
    with pytest.raises(OtherError, match="Error"):
        pypaimon.read(copy)
    assert pypaimon.read(golden_table("append_unaware")).num_rows == 8
