"""Databases and tables as folders: made, listed, renamed, dropped, refused."""

import pyarrow as pa
import pytest

from polynya.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from polynya.model.schema import schema_of
from polynya.storage import LocalStorage, MemoryStorage
from polynya.table import catalog
from polynya.table.history import TableRoot

BAD_NAMES = ["", ".", "..", "a/b", "a\\b", "a.b", "a$b", " a", "a ", "a\n", "a\0b"]


@pytest.fixture(params=["memory", "local"])
def warehouse(request, tmp_path):
    return MemoryStorage() if request.param == "memory" else LocalStorage(str(tmp_path / "ware house=1%20é"))


def make_table(warehouse, name):
    root = TableRoot(warehouse.child(catalog.table_folder(warehouse, name)))
    return catalog.create_table(root, schema_of(pa.schema([("a", pa.int32())])))


def test_a_database_is_made_once_and_dropped(warehouse):
    catalog.create_database(warehouse, "db", exist_ok=False)
    catalog.create_database(warehouse, "db", exist_ok=True)
    with pytest.raises(AlreadyExistsError, match="database 'db'"):
        catalog.create_database(warehouse, "db", exist_ok=False)
    assert catalog.database_names(warehouse) == ["db"]
    catalog.drop_database(warehouse, "db", cascade=False)
    assert catalog.database_names(warehouse) == []
    with pytest.raises(NotFoundError, match=r"database 'db' .* does not exist; there are: none"):
        catalog.table_names(warehouse, "db")


@pytest.mark.parametrize("name", [*BAD_NAMES, "sys"])
def test_a_database_has_a_plain_name_that_is_not_reserved(warehouse, name):
    with pytest.raises(InvalidInputError, match="database name"):
        catalog.create_database(warehouse, name, exist_ok=False)


def test_an_empty_folder_that_another_program_made_is_a_database(tmp_path):
    (tmp_path / "made.db").mkdir()
    warehouse = LocalStorage(str(tmp_path))
    assert catalog.table_names(warehouse, "made") == []
    with pytest.raises(AlreadyExistsError):
        catalog.create_database(warehouse, "made", exist_ok=False)
    make_table(warehouse, "made.t")
    assert catalog.table_names(warehouse, "made") == ["t"]


def test_folders_that_cannot_be_named_hide_no_databases(tmp_path):
    for name in (".db", "a.b.db", "good.db", "other"):
        (tmp_path / name).mkdir()
    assert catalog.database_names(LocalStorage(str(tmp_path))) == ["good"]


def test_a_table_is_made_once_renamed_and_dropped(warehouse):
    for database in ("db", "other"):
        catalog.create_database(warehouse, database, exist_ok=False)
    make_table(warehouse, "db.a")
    make_table(warehouse, "db.b")
    with pytest.raises(AlreadyExistsError):
        make_table(warehouse, "db.a")
    with pytest.raises(AlreadyExistsError, match=r"table 'db.b'"):
        catalog.rename_table(warehouse, "db.a", "db.b")
    catalog.rename_table(warehouse, "db.a", "other.é")
    assert (catalog.table_names(warehouse, "db"), catalog.table_names(warehouse, "other")) == (["b"], ["é"])
    with pytest.raises(NotFoundError, match=r"table 'db.a'"):
        catalog.drop_table(warehouse, "db.a")
    catalog.drop_table(warehouse, "other.é")
    assert catalog.table_names(warehouse, "other") == []


def test_a_database_with_tables_is_dropped_on_demand_only(warehouse):
    catalog.create_database(warehouse, "db", exist_ok=False)
    make_table(warehouse, "db.a")
    with pytest.raises(InvalidInputError, match=r"holds 1 tables \(a\)"):
        catalog.drop_database(warehouse, "db", cascade=False)
    catalog.drop_database(warehouse, "db", cascade=True)
    assert catalog.database_names(warehouse) == []


@pytest.mark.parametrize("name", ["t", "", *(f"db.{bad}" for bad in BAD_NAMES), *(f"{bad}.t" for bad in BAD_NAMES)])
def test_a_table_has_a_plain_name_in_a_plain_database(name):
    with pytest.raises(InvalidInputError):
        catalog.split_name(name)
