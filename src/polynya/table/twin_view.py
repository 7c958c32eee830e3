"""What an Iceberg reader of a Paimon table may see: which files, and which rows of them are hidden.

| view | tables | files | hidden rows |
|---|---|---|---|
| ALL | append | all | deletion vectors |
| TOP | primary key | top level, as far as they hold no deletes | none |
| ABOVE | primary key with deletion vectors, or first-row | above level 0 | deletion vectors |
| LIVE | primary key, on request | all | superseded rows and deletes, found by merging keys |

Whether a file is seen depends on its own manifest entry only, so the change of a snapshot is the change of the view.
"""

import enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import UnsupportedError
from polynya.model.options import level_count
from polynya.model.options_data import DATA_EVOLUTION_ENABLED
from polynya.model.options_keys import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MERGE_ON_READ, MERGE_ENGINE
from polynya.model.schema import Schema
from polynya.paimon import layout

Mask = npt.NDArray[np.bool_]
WHOLE_ROW_ENGINES = ("deduplicate", "first-row")


class View(enum.StrEnum):
    """Which files and rows are published."""

    ALL = "all"
    TOP = "compacted"
    ABOVE = "vectors"
    LIVE = "live"


def view_of(schema: Schema, *, live: bool) -> View:
    """The view of a table; UnsupportedError where its rows are not rows of its files."""
    options = schema.options
    if DATA_EVOLUTION_ENABLED.of(options):
        raise UnsupportedError("option 'data-evolution.enabled' = 'true': rows in several files have no Iceberg form")
    if not schema.primary_key:
        return View.ALL
    engine = MERGE_ENGINE.of(options)
    has_vectors = DELETION_VECTORS_ENABLED.of(options) and not DELETION_VECTORS_MERGE_ON_READ.of(options)
    if has_vectors or engine == "first-row":
        return View.ABOVE
    if not live:
        return View.TOP
    if engine not in WHOLE_ROW_ENGINES or DELETION_VECTORS_ENABLED.of(options):
        raise UnsupportedError(
            f"option 'metadata.iceberg.live' with merge-engine '{engine}': rows that are combined while reading are in "
            "no file; publish the compacted view"
        )
    return View.LIVE


def is_seen(entries: pa.Table, view: View, schema: Schema) -> Mask:
    """Which of the entries' files the view shows."""
    seen = entries["bucket"].to_numpy() >= 0
    level = entries["level"].to_numpy()
    if view is View.TOP:
        has_deletes = np.asarray(pc.fill_null(pc.greater(entries["delete_row_count"], 0), False))
        seen &= (level == level_count(schema.options) - 1) & ~has_deletes
    if view is View.ABOVE:
        seen &= level > 0
    return seen


def require_parquet(entries: pa.Table) -> None:
    """Raise UnsupportedError for a data file that Iceberg readers would not find columns by id in."""
    plain = pc.ends_with(entries["file_name"], ".parquet")
    if not pc.all(plain, min_count=0).as_py():
        name = entries.filter(pc.invert(plain))["file_name"][0].as_py()
        raise UnsupportedError(
            f"data file '{name}': files of format {layout.format_of(name)} carry no Iceberg field ids; only Parquet "
            "files are published"
        )
