"""The filesystem catalog: databases and tables are folders, `<database>.db/<table>`.

A database exists when its folder does; an empty one is kept by a marker. A table exists when it has a schema file, and
creating it is creating `schema-0` if that name is free.
"""

from polynya.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from polynya.model.schema import Schema
from polynya.paimon import layout, schema_file
from polynya.storage.protocol import Storage
from polynya.table import history
from polynya.table.checks import check_new_schema
from polynya.table.history import TableRoot

DATABASE_SUFFIX = ".db"
DATABASE_MARKER = ".database"
SYSTEM_DATABASE = "sys"  # Paimon shows tables about all tables there


def database_names(warehouse: Storage) -> list[str]:
    """The databases, sorted; a folder whose name cannot be that of a database is none."""
    folders = _folders(warehouse, "")
    names = (name.removesuffix(DATABASE_SUFFIX) for name in folders if name.endswith(DATABASE_SUFFIX))
    return sorted(filter(_is_plain, names))


def table_names(warehouse: Storage, database: str) -> list[str]:
    """The tables of a database, sorted."""
    require_database(warehouse, database)
    names = _folders(warehouse, _folder(database))
    return sorted(name for name in names if is_table(warehouse.child(f"{_folder(database)}/{name}")))


def has_database(warehouse: Storage, database: str) -> bool:
    """Whether the database exists, perhaps as an empty folder."""
    pages = warehouse.list(_folder(database))
    return any(page.blobs or page.folders for page in pages) or database in database_names(warehouse)


def require_database(warehouse: Storage, database: str) -> None:
    """Raise NotFoundError unless the database exists."""
    if not has_database(warehouse, database):
        known = ", ".join(database_names(warehouse)) or "none"
        raise NotFoundError(f"database '{database}' of {warehouse.location} does not exist; there are: {known}")


def create_database(warehouse: Storage, database: str, *, exist_ok: bool) -> None:
    """Create an empty database."""
    if database == SYSTEM_DATABASE:
        raise InvalidInputError(f"database name '{database}' is reserved; choose another")
    if has_database(warehouse, database):
        if not exist_ok:
            raise AlreadyExistsError(f"database '{database}' of {warehouse.location} exists already")
        return
    warehouse.put(f"{_folder(database)}/{DATABASE_MARKER}", b"")


def drop_database(warehouse: Storage, database: str, *, cascade: bool) -> None:
    """Delete the database; its tables only with `cascade`."""
    tables = table_names(warehouse, database)
    if tables and not cascade:
        raise InvalidInputError(
            f"database '{database}' holds {len(tables)} tables ({', '.join(tables[:5])}); drop them or use cascade=True"
        )
    warehouse.delete_folder(_folder(database))


def table_folder(warehouse: Storage, name: str) -> str:
    """The folder of `database.table`, whose database must exist."""
    database, table = split_name(name)
    require_database(warehouse, database)
    return f"{_folder(database)}/{table}"


def create_table(root: TableRoot, schema: Schema) -> Schema:
    """Create the table; AlreadyExistsError when there is one."""
    checked = check_new_schema(schema)
    if history.schema_ids(root):
        raise AlreadyExistsError(f"table {root.storage.location} exists already")
    try:
        root.storage.put_new(layout.schema_name(checked.id, root.branch), schema_file.encode(checked))
    except AlreadyExistsError:
        raise AlreadyExistsError(f"table {root.storage.location} was just created by another writer") from None
    return checked


def drop_table(warehouse: Storage, name: str) -> None:
    """Delete the table with all its files."""
    folder = table_folder(warehouse, name)
    if not is_table(warehouse.child(folder)):
        raise NotFoundError(f"table '{name}' of {warehouse.location} does not exist")
    warehouse.delete_folder(folder)


def rename_table(warehouse: Storage, old: str, new: str) -> None:
    """Give the table another name, perhaps in another database."""
    source, target = table_folder(warehouse, old), table_folder(warehouse, new)
    if not is_table(warehouse.child(source)):
        raise NotFoundError(f"table '{old}' of {warehouse.location} does not exist")
    if is_table(warehouse.child(target)):
        raise AlreadyExistsError(f"table '{new}' of {warehouse.location} exists already")
    warehouse.rename_folder(source, target)


def is_table(storage: Storage) -> bool:
    """Whether the folder holds a table."""
    return bool(history.schema_ids(TableRoot(storage)))


def split_name(name: str) -> tuple[str, str]:
    """The database and the table of `database.table`."""
    if not isinstance(name, str):
        raise InvalidInputError(f"table name: expected 'database.table', found {name!r}")
    database, dot, table = name.partition(".")
    _require_plain(database, f"database of '{name}'")
    if not dot:
        raise InvalidInputError(f"table name {name!r}: expected 'database.table'")
    _require_plain(table, f"table of '{name}'")
    return database, table


def _is_plain(name: str) -> bool:
    return layout.is_plain(name) and name == name.strip() and not any(mark in name for mark in ".$")


def _require_plain(name: object, what: str) -> None:
    if not isinstance(name, str) or not _is_plain(name):
        raise InvalidInputError(f"{what}: expected a name without '/', '.', '$' and outer blanks, found {name!r}")


def _folder(database: str) -> str:
    _require_plain(database, "database name")
    return database + DATABASE_SUFFIX


def _folders(storage: Storage, folder: str) -> list[str]:
    return [name.rstrip("/").rsplit("/", 1)[-1] for page in storage.list(folder) for name in page.folders]
