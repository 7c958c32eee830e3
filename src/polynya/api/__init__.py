"""What people call without Spark: warehouses, tables, scans."""

from polynya.api.scan import Scan, parse_predicate
from polynya.api.table import Table, open_table
from polynya.api.warehouse import Warehouse, open_warehouse

__all__ = ["Scan", "Table", "Warehouse", "open_table", "open_warehouse", "parse_predicate"]
