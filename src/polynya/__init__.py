"""Apache Paimon tables, native to PySpark.

    import polynya
    warehouse = polynya.open_warehouse("path-or-url")
    orders = warehouse.create_table("shop.orders", schema, primary_key=["id"], options={"bucket": "4"})
    orders.write(rows)
    orders.scan(where="amount > 10").to_arrow()

Names are loaded when they are first used, so that `import polynya` is cheap.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polynya.api import Scan, Table, Warehouse, open_table, open_warehouse
    from polynya.errors import (
        AlreadyExistsError,
        CommitUnknownError,
        ConflictError,
        CorruptFileError,
        InvalidInputError,
        NotFoundError,
        PolynyaError,
        StorageError,
        UnsupportedError,
    )
    from polynya.model.predicate import col
    from polynya.model.schema import Schema
    from polynya.model.types import Field
    from polynya.table.commit import Commit
    from polynya.table.plan import Plan

__version__ = "0.1.0"

_HOMES = {
    "polynya.api": ("Scan", "Table", "Warehouse", "open_table", "open_warehouse"),
    "polynya.errors": (
        "AlreadyExistsError",
        "CommitUnknownError",
        "ConflictError",
        "CorruptFileError",
        "InvalidInputError",
        "NotFoundError",
        "PolynyaError",
        "StorageError",
        "UnsupportedError",
    ),
    "polynya.model.predicate": ("col",),
    "polynya.model.schema": ("Schema",),
    "polynya.model.types": ("Field",),
    "polynya.table.commit": ("Commit",),
    "polynya.table.plan": ("Plan",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AlreadyExistsError",
    "Commit",
    "CommitUnknownError",
    "ConflictError",
    "CorruptFileError",
    "Field",
    "InvalidInputError",
    "NotFoundError",
    "Plan",
    "PolynyaError",
    "Scan",
    "Schema",
    "StorageError",
    "Table",
    "UnsupportedError",
    "Warehouse",
    "__version__",
    "col",
    "open_table",
    "open_warehouse",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'polynya' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
