"""Arguments of the wrong kind are errors that say what was expected, before anything is done."""

import pyarrow as pa
import pytest

import polynya
from polynya.model import types as t

COLUMNS = pa.schema([("id", pa.int32()), ("name", pa.string())])
ROWS = pa.table({"id": pa.array([1], pa.int32()), "name": ["x"]})


@pytest.fixture
def warehouse(tmp_path):
    made = polynya.open_warehouse(tmp_path)
    made.create_database("db")
    return made


@pytest.fixture
def table(warehouse):
    made = warehouse.create_table("db.t", COLUMNS)
    made.write(ROWS)
    return made.refresh()


@pytest.mark.parametrize("value", [None, 5, 1.5, [b"x"]])
def test_places_and_names_are_text(warehouse, value):
    for call in (
        *(polynya.open_table, polynya.open_warehouse, warehouse.table, warehouse.tables, warehouse.drop_table),
        *(warehouse.create_database, warehouse.drop_database, lambda name: warehouse.create_table(name, COLUMNS)),
        *(lambda name: warehouse.rename_table("db.t", name), lambda name: warehouse.rename_table(name, "db.u")),
    ):
        with pytest.raises(polynya.InvalidInputError, match="expected"):
            call(value)


@pytest.mark.parametrize("schema", [None, "id INT", [("id", "int")], 5])
def test_a_schema_is_one_of_arrow_or_of_ours(warehouse, schema):
    with pytest.raises(polynya.InvalidInputError, match=r"schema of db\.t: expected an Arrow schema"):
        warehouse.create_table("db.t", schema)


@pytest.mark.parametrize("field", [polynya.Field(0, None, t.Int()), polynya.Field(0, "id", None)])
def test_a_column_has_a_name_and_a_type(warehouse, field):
    with pytest.raises(polynya.InvalidInputError, match="expected a name and a type"):
        warehouse.create_table("db.t", polynya.Schema((field,)))


def test_keys_and_options_have_their_kinds(warehouse):
    for arguments in ({"primary_key": None}, {"partition_by": 5}, {"primary_key": [5]}, {"options": ["bucket"]}):
        with pytest.raises(polynya.InvalidInputError, match=next(iter(arguments))):
            warehouse.create_table("db.t", COLUMNS, **arguments)


def test_one_column_may_be_named_alone(warehouse):
    table = warehouse.create_table("db.t", COLUMNS, primary_key="id", options={"bucket": "1"})
    assert table.primary_key == ("id",)


def test_a_blob_needs_data_evolution(warehouse):
    schema = polynya.Schema((polynya.Field(0, "id", t.Int()), polynya.Field(1, "picture", t.Blob())))
    with pytest.raises(polynya.InvalidInputError, match="column 'picture' of type BLOB needs option"):
        warehouse.create_table("db.t", schema)


def test_a_format_that_nobody_knows_and_a_row_without_members_are_refused(warehouse):
    with pytest.raises(polynya.InvalidInputError, match=r"'file\.format': expected one of parquet"):
        warehouse.create_table("db.t", COLUMNS, options={"file.format": "xls"})
    with pytest.raises(polynya.InvalidInputError, match="column 'place': a ROW needs at least one member"):
        warehouse.create_table("db.t", pa.schema([("place", pa.struct([]))]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda table: table.at(tag=5), "tag: expected text"),
        (lambda table: table.at(snapshot_id="1"), "snapshot_id: expected a whole number"),
        (lambda table: table.at(time_ms=1.5), "time_ms: expected a whole number"),
        (lambda table: table.at(watermark="now"), "watermark: expected a whole number"),
        (lambda table: table.scan(where=5), "where: expected an SQL condition"),
        (lambda table: table.scan(columns=5), "columns: expected names"),
        (lambda table: table.scan(columns=[5]), "columns: expected text"),
        (lambda table: table.scan(limit="5"), "limit: expected a whole number"),
        (lambda table: table.scan().to_batches("1 GB"), "memory_budget_bytes: expected a whole number"),
        (lambda table: table.scan().to_batches(0), "memory_budget_bytes must be 1 or more"),
        (lambda table: table.system(5), "system table: expected text"),
        (lambda table: table.write(ROWS, mode="overwrite", partition=5), "partition: expected a mapping"),
        (lambda table: table.delete(None), "where: expected a condition, found None"),
        (lambda table: table.update({"name": "'y'"}, None), "where: expected a condition, found None"),
        (lambda table: table.update(None, "id = 1"), "update: expected a mapping"),
        (lambda table: table.compact(where=5), "where: expected an SQL condition"),
        (lambda table: table.compact(order_by=5), "order_by: expected names"),
    ],
)
def test_wrong_kinds_of_arguments_are_refused_and_nothing_is_written(table, call, message):
    with pytest.raises(polynya.InvalidInputError, match=message):
        call(table)
    assert table.refresh().snapshot.id == 1
