"""What the public contract names and this release does not do refuses by name."""

import pyarrow as pa
import pytest

import polynya

LATER = ("changes", "alter", "expire_snapshots", "remove_orphans", "rollback", "create_tag", "delete_tag")
LATER += ("create_branch", "fast_forward")


@pytest.mark.parametrize("name", LATER)
def test_what_comes_later_refuses_and_names_the_table(name, tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", pa.schema([("a", pa.int32())]))
    with pytest.raises(polynya.UnsupportedError, match=r"db.db/t: .* is not supported yet"):
        getattr(table, name)(1)
