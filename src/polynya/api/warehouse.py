"""The filesystem catalog, as people call it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from polynya.api import arguments
from polynya.api.later import Later
from polynya.api.table import Table, open_root
from polynya.errors import InvalidInputError, NotFoundError
from polynya.model.schema import Schema, schema_of
from polynya.storage import open_storage
from polynya.table.history import TableRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from polynya.api import iceberg
    from polynya.storage.protocol import Storage
    from polynya.table import catalog
else:
    iceberg = Later("polynya.api.iceberg")
    catalog = Later("polynya.table.catalog")


def open_warehouse(location: str | os.PathLike[str], **storage_options: str | bool) -> Warehouse:
    """The filesystem catalog at a path or URL; nothing is created until a database is."""
    return Warehouse(open_storage(location, **storage_options))


@dataclass(frozen=True)
class Warehouse:
    """Databases and tables under one location."""

    storage: Storage

    @property
    def location(self) -> str:
        """Where it is."""
        return self.storage.location

    def databases(self) -> list[str]:
        """The names of the databases."""
        return catalog.database_names(self.storage)

    def create_database(self, name: str, exist_ok: bool = False) -> None:
        """Create an empty database."""
        catalog.create_database(self.storage, name, exist_ok=exist_ok)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Delete a database, with its tables if `cascade`."""
        catalog.drop_database(self.storage, name, cascade=cascade)

    def tables(self, database: str) -> list[str]:
        """The names of the tables of a database."""
        return catalog.table_names(self.storage, database)

    def table(self, name: str) -> Table:
        """The table `database.table`: `<database>.db/<table>`, or an Iceberg table in `<database>/<table>`."""
        try:
            return open_root(TableRoot(self.storage.child(catalog.table_folder(self.storage, name))))
        except NotFoundError:
            found = iceberg.find_table(self.storage.child(name.replace(".", "/", 1)))
            if found is None:
                raise
            return found

    def create_table(
        self,
        name: str,
        schema: pa.Schema | Schema,
        primary_key: Iterable[str] = (),
        partition_by: Iterable[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        exist_ok: bool = False,
    ) -> Table:
        """Create the table `database.table`; with `exist_ok` an existing one is opened as it is."""
        root = TableRoot(self.storage.child(catalog.table_folder(self.storage, name)))
        if exist_ok and catalog.is_table(root.storage):
            return open_root(root)
        if not isinstance(schema, Schema | pa.Schema):
            raise InvalidInputError(f"schema of {name}: expected an Arrow schema or a polynya.Schema, found {schema!r}")
        if options is not None:
            arguments.mapping(options, "options")
        columns = schema.fields if isinstance(schema, Schema) else schema
        given = schema if isinstance(schema, Schema) else Schema(())
        new = schema_of(
            columns,
            primary_key=arguments.names(primary_key, "primary_key") or given.primary_key,
            partition_by=arguments.names(partition_by, "partition_by") or given.partition_by,
            options={**given.options, **(options or {})},
            comment=comment if comment is not None else given.comment,
        )
        catalog.create_table(root, replace(new, time_ms=time.time_ns() // 1_000_000))
        return open_root(root)

    def drop_table(self, name: str) -> None:
        """Delete the table `database.table` with all its files."""
        catalog.drop_table(self.storage, name)

    def rename_table(self, old: str, new: str) -> None:
        """Rename `database.table`."""
        catalog.rename_table(self.storage, old, new)
