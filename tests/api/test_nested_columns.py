"""Members of nested columns: asked for by path, read alone, filtered by, in every format and through every merge."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polynya
from golden_data import golden_table, readable_names
from polynya.model import projection
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema

PERSON = pa.struct([("age", pa.int64()), ("home", pa.struct([("city", pa.string()), ("zip", pa.int32())]))])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("who", PERSON),
        ("friends", pa.list_(PERSON)),
        ("roles", pa.map_(pa.string(), PERSON)),
        ("dotted.name", pa.int32()),
    ]
)
FORMATS = ("parquet", "orc", "avro")
ENGINES = (None, "deduplicate", "partial-update", "aggregation", "first-row")


def person(number):
    if number % 7 == 0:
        return None
    return {"age": number, "home": None if number % 5 == 0 else {"city": f"c{number}", "zip": number * 10}}


def rows(numbers):
    return [
        {
            "id": number,
            "who": person(number),
            "friends": None if number % 4 == 0 else [None, person(number)][: number % 3],
            "roles": None if number % 3 == 0 else [("a", person(number))],
            "dotted.name": number,
        }
        for number in numbers
    ]


@pytest.fixture
def warehouse(tmp_path):
    made = polynya.open_warehouse(tmp_path / "warehouse")
    made.create_database("db")
    return made


def people(warehouse, format="parquet", engine=None):
    options = {"file.format": format} | ({} if engine is None else {"bucket": "1", "merge-engine": engine})
    key = [] if engine is None else ["id"]
    table = warehouse.create_table(f"db.{format}_{engine}", SCHEMA, primary_key=key, options=options)
    table.write(pa.Table.from_pylist(rows(range(60)), SCHEMA))
    table.write(pa.Table.from_pylist(rows(range(40, 90)), SCHEMA))
    return table.refresh()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("format", FORMATS)
def test_a_row_comes_with_only_the_members_asked_for(warehouse, format, engine):
    table = people(warehouse, format, engine)
    found = table.scan(columns=["who.home.zip", "id", "who.age"]).to_arrow()
    whole = table.scan(columns=["who", "id"]).to_arrow()
    assert found.schema.field("who").type == pa.struct(
        [("age", pa.int64()), ("home", pa.struct([("zip", pa.int32())]))]
    )
    assert found.to_pylist() == [{"who": without_city(row["who"]), "id": row["id"]} for row in whole.to_pylist()]


def without_city(who):
    home = who and who["home"]
    return who and {"age": who["age"], "home": home and {"zip": home["zip"]}}


@pytest.mark.parametrize("format", FORMATS)
def test_members_inside_of_arrays_and_maps_are_asked_for_by_element_and_value(warehouse, format):
    table = people(warehouse, format)
    found = table.scan(columns=["friends.element.home.zip", "roles.value.age", "dotted.name"]).to_arrow()
    whole = table.scan().to_arrow().to_pylist()
    assert found["dotted.name"].to_pylist() == [row["dotted.name"] for row in whole]
    assert found["friends"].to_pylist() == [
        row["friends"] and [one and {"home": (one["home"] and {"zip": one["home"]["zip"]})} for one in row["friends"]]
        for row in whole
    ]
    assert found["roles"].to_pylist() == [
        row["roles"] and [(key, one and {"age": one["age"]}) for key, one in row["roles"]] for row in whole
    ]


@pytest.mark.parametrize("engine", [None, "deduplicate", "partial-update"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_filter_on_a_member_leaves_no_trace_of_it(warehouse, format, engine):
    table = people(warehouse, format, engine)
    found = table.scan(where="who.age > 30 and who.home is not null", columns=["id", "who.home.city"]).to_arrow()
    whole = table.scan().to_arrow().to_pylist()
    expected = [row for row in whole if row["who"] and row["who"]["age"] > 30 and row["who"]["home"]]
    assert found.to_pylist() == [
        {"id": row["id"], "who": {"home": {"city": row["who"]["home"]["city"]}}} for row in expected
    ]
    assert table.scan(where="who.home is null", columns=["id"]).to_arrow()["id"].to_pylist() == [
        row["id"] for row in whole if not row["who"] or not row["who"]["home"]
    ]


def test_only_the_leaves_asked_for_are_read(warehouse):
    table = people(warehouse)
    kept = {"id", "who.age", "who.home.zip"}
    for path in Path(table.location).glob("bucket-*/*.parquet"):
        destroy_all_but(kept, path)
    found = table.scan(where="who.age > 30", columns=["id", "who.home.zip"]).to_arrow()
    assert found.num_rows == len([n for n in [*range(60), *range(40, 90)] if n > 30 and n % 7])
    with pytest.raises(polynya.CorruptFileError):
        table.scan(columns=["who.home"]).to_arrow()


def destroy_all_but(kept, path):
    """Zeros in the place of all pages of the other leaves."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    with open(path, "r+b") as file:
        for index in range(group.num_columns):
            chunk = group.column(index)
            if chunk.path_in_schema not in kept:
                file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
                file.write(bytes(chunk.total_compressed_size))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("who.agee", "column 'who.agee' does not exist; did you mean 'who.age'?"),
        ("who.home.town", "there are city, zip"),
        ("id.x", "'id' is BIGINT, not a ROW"),
        ("friends.age", r"'friends' is ARRAY, its members are named 'friends.element.<name>'"),
        ("roles.age", r"'roles' is MAP, its members are named 'roles.value.<name>'"),
        ("roles.key", "the keys of a MAP are read with its values"),
        ("who.", "expected names joined by dots"),
    ],
)
def test_a_wrong_member_says_what_is_wrong(warehouse, column, message):
    with pytest.raises(polynya.PolynyaError, match=message.replace("?", r"\?")):
        people(warehouse).scan(columns=[column])


def test_a_whole_column_beside_its_member_is_whole(warehouse):
    found = people(warehouse).scan(columns=["who.age", "who"]).to_arrow()
    assert found.schema.names == ["who"]
    assert found.schema.field("who").type == PERSON


def nested_paths(fields, parent=()):
    """Every path inside the fields."""
    for field in fields:
        path = (*parent, field.name)
        yield path
        if isinstance(field.type, t.Row):
            yield from nested_paths(field.type.fields, path)
        elif isinstance(field.type, t.Array) and isinstance(field.type.element, t.Row):
            yield from nested_paths(field.type.element.fields, (*path, "element"))
        elif isinstance(field.type, t.Map) and isinstance(field.type.value, t.Row):
            yield from nested_paths(field.type.value.fields, (*path, "value"))


def nested_names():
    names = []
    for name in readable_names():
        fields = polynya.open_table(golden_table(name)).schema.fields
        if any(len(path) > 1 for path in nested_paths(fields)):
            names.append(name)
    return names


@pytest.mark.parametrize("name", nested_names())
def test_every_member_of_a_golden_table_alone_is_what_the_whole_column_holds(name):
    table = polynya.open_table(golden_table(name))
    whole = table.scan().to_arrow()
    for path in (one for one in nested_paths(table.schema.fields) if len(one) > 1):
        asked = ".".join(f"`{one}`" for one in path)
        found = table.scan(columns=[asked]).to_arrow()
        narrow = projection.narrow(table.schema.fields, [path])
        assert found.schema == to_arrow_schema(narrow)
        column = path[0]
        expected = [reduced(value, narrow[0].type) for value in whole[column].to_pylist()]
        assert repr(found[column].to_pylist()) == repr(expected)  # where NaN equals NaN


def reduced(value, type):
    """The value with only the members of the type."""
    match type:
        case t.Row(fields=fields):
            return value and {field.name: reduced(value[field.name], field.type) for field in fields}
        case t.Array(element=element):
            return value and [reduced(one, element) for one in value]
        case t.Map(value=inner):
            return value and [(key, reduced(one, inner)) for key, one in value]
        case _:
            return value
