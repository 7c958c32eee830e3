"""The Iceberg twin of a table, published with what only a look into files tells: which of their rows are hidden."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from polynya.arrow import file_rows, vector_files
from polynya.arrow.file_rows import DataFile
from polynya.arrow.files import BatchSize
from polynya.arrow.merge import losers
from polynya.codec.bitmap import Bitmap
from polynya.errors import PolynyaError
from polynya.model.merge_spec import merge_spec, required_columns
from polynya.model.predicate import TRUE
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema
from polynya.paimon import layout
from polynya.storage.protocol import Storage
from polynya.table import history
from polynya.table.commit import Target
from polynya.table.history import TableRoot
from polynya.table.iceberg_mirror import MirrorSource, Published
from polynya.table.iceberg_mirror import publish as mirror
from polynya.table.twin_settings import is_published, settings_of

_LOG = logging.getLogger(__name__)


def publish(root: TableRoot, schema: Schema, *, history_too: bool = False, live: bool | None = None) -> Published:
    """Bring the twin up to the latest snapshot of the table."""
    settings = settings_of(root.storage, schema, live=live)
    return mirror(MirrorSource(root, schema, _FilePositions(root)), settings, history_too=history_too)


def publish_after_commit(target: Target) -> None:
    """Publish where the table's options ask for it.

    The commit stands, whatever goes wrong here: that is logged, and the next publish catches up.
    """
    root = target.root
    if root.branch != layout.MAIN_BRANCH or not is_published(target.schema.options):
        return
    try:
        publish(root, history.find_latest_schema(root) or target.schema)
    except PolynyaError as error:
        _LOG.warning("Iceberg twin of %s after a commit: %s", root.storage.location, error)


@dataclass(frozen=True)
class _Source:
    """The files of a table, read in one schema."""

    storage: Storage
    schema: Schema
    file_schemas: Mapping[int, Schema]
    batch_size: BatchSize = field(default_factory=BatchSize)


@dataclass(frozen=True)
class _FilePositions:
    """Hidden rows, found in the files of the table."""

    root: TableRoot

    def vectors(self, index: pa.Table, schema: Schema) -> Mapping[str, Bitmap]:
        """The deletion vectors of these index files, by data file name."""
        return vector_files.read_vectors(self.root.storage, index, schema)

    def superseded(self, files: pa.Table, schema: Schema) -> Mapping[str, Bitmap]:
        """The rows of these files, with sections, that a merge would not give, by data file name."""
        ids = pc.unique(files["schema_id"]).to_pylist()
        schemas = {id: schema if id == schema.id else history.read_schema(self.root, id) for id in ids}
        source = _Source(self.root.storage, schema, schemas)
        hidden: dict[str, Bitmap] = {}
        for section in pc.unique(files["section"]).to_pylist():
            members = file_rows.files_of(files.filter(pc.equal(files["section"], section)))
            hidden |= _hidden_in(source, members)
        return hidden


def _hidden_in(source: _Source, members: list[DataFile]) -> dict[str, Bitmap]:
    """The rows of one section that lose, or are deletes; only keys and what orders them are read."""
    spec = merge_spec(source.schema)
    names = required_columns(spec, list(source.schema.trimmed_primary_key))
    wanted = (SEQUENCE_NUMBER, VALUE_KIND, *source.schema.select(names))
    batches = [batch for file in members for _, batch in file_rows.read_positions(source, file, wanted, TRUE)]
    if not batches:
        return {}
    lost = losers(pa.Table.from_batches(batches), spec).to_numpy(zero_copy_only=False)
    hidden: dict[str, Bitmap] = {}
    start = 0
    for file in members:
        rows = np.flatnonzero(lost[start : start + file.row_count]).astype(np.uint64)
        hidden[file.file_name] = BitMap64(rows)
        start += file.row_count
    return hidden
