"""A null ROW may be written though its members must not be null: what Arrow holds inside of it is nobody's value."""

import pyarrow as pa
import pytest

import polynya
from polynya.model import types as t

AGE = polynya.Field(0, "age", t.Int(nullable=False))
PERSON = t.Row((AGE, polynya.Field(1, "name", t.VarChar(length=t.MAX_LENGTH))))
TEXT = t.VarChar(length=t.MAX_LENGTH)
SHAPES = {
    "row": (PERSON, lambda person: person),
    "row in row": (t.Row((polynya.Field(0, "inner", PERSON),)), lambda person: {"inner": person}),
    "list": (t.Array(PERSON), lambda person: [person, person]),
    "map": (t.Map(TEXT, PERSON), lambda person: [("k", person)]),
}
LOOSE = pa.struct([("age", pa.int32()), ("name", pa.string())])


def loose(type):
    """The Arrow type of rows that come in, where every member may be null."""
    match type:
        case t.Row(fields=(inner,)):
            return pa.struct([("inner", loose(inner.type))])
        case t.Row():
            return LOOSE
        case t.Array():
            return pa.list_(LOOSE)
        case _:
            return pa.map_(pa.string(), LOOSE)


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("people", [[{"age": 1, "name": "a"}, None, {"age": 2, "name": None}], [None, None]])
def test_null_rows_are_written_whatever_is_inside_of_them(tmp_path, format, shape, people):
    type, value = SHAPES[shape]
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    schema = polynya.Schema((polynya.Field(0, "v", type),))
    table = warehouse.create_table("db.t", schema, options={"file.format": format})
    rows = [value(person) for person in people]
    table.write(pa.table({"v": pa.array(rows, loose(type)).filter(pa.array([True] * len(rows)))}))
    found = table.refresh().scan().to_arrow()["v"].to_pylist()
    assert [str(one) for one in found] == [str(one) for one in rows]


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_a_slice_are_written_as_they_stand_there(tmp_path, format, shape):
    type, value = SHAPES[shape]
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    schema = polynya.Schema((polynya.Field(0, "v", type),))
    table = warehouse.create_table("db.t", schema, options={"file.format": format})
    people = [None if n % 3 == 1 else {"age": n, "name": None if n % 5 == 0 else f"name {n}"} for n in range(3000)]
    rows = pa.array([value(person) for person in people], loose(type)).slice(7, 2500)
    table.write(pa.table({"v": rows}))
    assert table.refresh().scan().to_arrow()["v"].to_pylist() == rows.to_pylist()


def test_a_member_that_must_be_there_is_missed(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", polynya.Schema((polynya.Field(0, "v", PERSON),)))
    with pytest.raises(polynya.InvalidInputError, match="age"):
        table.write(pa.table({"v": pa.array([{"age": None, "name": "a"}], LOOSE)}))
