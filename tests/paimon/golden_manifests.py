"""The Avro metadata files of the golden tables, by kind."""

from functools import cache

from golden_data import golden_names, golden_table
from polynya.codec.avro import AvroSource
from polynya.paimon import snapshot

KINDS = ("manifest-list-", "index-manifest-", "manifest-")


@cache
def sources(table, kind):
    """The files of one kind (a prefix of `KINDS`) of a table."""
    folder = golden_table(table) / "manifest"
    paths = sorted(folder.iterdir()) if folder.exists() else []
    return [AvroSource(path.name, path=str(path)) for path in paths if kind_of(path.name) == kind]


def kind_of(name):
    """The prefix of the file's kind."""
    return next(kind for kind in KINDS if name.startswith(kind))


def tables_with(kind):
    """The golden tables that have files of the kind."""
    return [name for name in golden_names() if sources(name, kind)]


def source(table, name):
    """One file of a table's manifest folder."""
    return AvroSource(name, path=str(golden_table(table) / "manifest" / name))


def latest_snapshot(table):
    """The snapshot with the highest id."""
    paths = (golden_table(table) / "snapshot").glob("snapshot-*")
    path = max(paths, key=lambda path: int(path.name.removeprefix("snapshot-")))
    return snapshot.decode(path.read_bytes(), name=path.name)
