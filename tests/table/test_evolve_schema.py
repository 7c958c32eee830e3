"""Columns that rows bring: added last, under new ids; types stay or grow, never shrink."""

import pytest

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.schema import Schema, schema_of
from polynya.storage import open_storage
from polynya.table import history
from polynya.table.catalog import create_table
from polynya.table.evolve_schema import SchemaChangedError, is_wider, merge_columns, publish
from polynya.table.history import TableRoot

BASE = schema_of(
    [
        t.Field(-1, "id", t.Int()),
        t.Field(-1, "p", t.Int()),
        t.Field(-1, "s", t.Row((t.Field(-1, "x", t.Int()), t.Field(-1, "y", t.VarChar(10))))),
    ],
    partition_by=["p"],
)


def new(name: str, type: t.DataType) -> t.Field:
    return t.Field(-1, name, type)


def merged(*fields: t.Field, widens: bool = False, base: Schema = BASE) -> Schema:
    return merge_columns(base, fields, widens=widens)


def test_new_columns_come_last_nullable_and_what_they_hold_is_numbered_before_them():
    inner = t.Row((new("a", t.Int()), new("b", t.Row((new("c", t.Int()),)))))
    made = merged(new("n", t.Array(inner, nullable=False)), new("m", t.BigInt(nullable=False)), new("id", t.Int()))
    assert (made.id, made.names, made.highest_field_id) == (1, ("id", "p", "s", "n", "m"), 9)
    column = made.column("n")
    a, b = column.type.element.fields
    assert (a.id, b.type.fields[0].id, b.id, column.id, made.column("m").id) == (5, 6, 7, 8, 9)
    assert column.type.nullable
    assert made.column("m").type.nullable
    assert made.fields[:3] == BASE.fields


def test_a_schema_that_lacks_nothing_stays_as_it_is():
    assert merged(new("id", t.BigInt()), new("p", t.VarChar())) is BASE
    assert merged() is BASE


def test_members_of_rows_are_added_too_wherever_the_row_stands():
    made = merged(new("s", t.Row((new("z", t.Double()), new("y", t.VarChar())))))
    assert [(member.name, member.id) for member in made.column("s").type.fields] == [("x", 3), ("y", 4), ("z", 5)]
    base = merged(new("m", t.Map(t.VarChar(nullable=False), t.Array(t.Row((new("a", t.Int()),))))))
    deeper = merged(new("m", t.Map(t.VarChar(nullable=False), t.Array(t.Row((new("b", t.Int()),))))), base=base)
    assert [member.name for member in deeper.column("m").type.value.element.fields] == ["a", "b"]


def test_types_grow_only_when_that_is_asked_for_and_never_those_of_keys():
    wide = (new("id", t.BigInt()), new("p", t.BigInt()), new("s", t.Row((new("y", t.VarChar(20)),))))
    assert merged(*wide) is BASE
    made = merged(*wide, widens=True)
    assert made.column("id").type == t.BigInt()
    assert made.column("p").type == t.Int()
    assert made.column("s").type.fields[1].type == t.VarChar(20)


@pytest.mark.parametrize(
    ("old", "wider"),
    [
        (t.TinyInt(), t.SmallInt()),
        (t.Int(), t.BigInt()),
        (t.Int(), t.Double()),
        (t.BigInt(), t.Decimal(21, 2)),
        (t.Float(), t.Double()),
        (t.Decimal(9, 2), t.Decimal(12, 2)),
        (t.Char(5), t.VarChar(5)),
        (t.VarChar(5), t.VarChar()),
        (t.Binary(2), t.VarBinary(4)),
        (t.Timestamp(3), t.Timestamp(6)),
    ],
)
def test_a_wider_type_holds_every_value(old, wider):
    assert is_wider(wider, old)
    assert not is_wider(old, wider)


@pytest.mark.parametrize(
    ("old", "other"),
    [
        (t.Int(), t.Int(nullable=False)),
        (t.BigInt(), t.Double()),
        (t.Int(), t.Float()),
        (t.BigInt(), t.Decimal(18, 0)),
        (t.Decimal(9, 2), t.Decimal(12, 4)),
        (t.Timestamp(3), t.Date()),
        (t.Timestamp(6), t.LocalTimestamp(6)),
        (t.Int(), t.VarChar()),
        (t.VarChar(5), t.Char(9)),
    ],
)
def test_a_type_that_could_change_a_value_is_not_wider(old, other):
    assert not is_wider(other, old)


def test_new_columns_may_stand_before_the_partition():
    base = schema_of(BASE.fields, partition_by=["p"], options={"add-column-before-partition": "true"})
    assert merged(new("n", t.Int()), base=base).names == ("id", "n", "p", "s")


@pytest.mark.parametrize("name", ["ID", "_KEY_x", "_SEQUENCE_NUMBER", " "])
def test_names_that_a_table_cannot_have_are_refused(name):
    with pytest.raises(InvalidInputError):
        merged(new(name, t.Int()))
    if name == "ID":
        with pytest.raises(InvalidInputError, match="there is 'id' already"):
            merged(new(name, t.Int()))


def test_a_version_is_published_once():
    root = TableRoot(open_storage("memory://evolve-schema"))
    create_table(root, BASE)
    made = merged(new("n", t.Int()))
    publish(root, made, 7)
    assert history.find_latest_schema(root).time_ms == 7
    with pytest.raises(SchemaChangedError, match="schema 1 of memory"):
        publish(root, merged(new("other", t.Int())), 8)
    assert history.find_latest_schema(root).names == made.names
