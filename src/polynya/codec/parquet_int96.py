"""INT96 timestamps of a Parquet file with their nanoseconds taken as signed numbers, by DataFusion."""

import tempfile
from pathlib import Path

import pyarrow as pa
from datafusion import SessionConfig, SessionContext

_COERCE = "datafusion.execution.parquet.coerce_int96"


def signed_seconds(data: bytes | Path, column: str) -> pa.Array | None:
    """A column of a file, or of the bytes of one, all rows in order, its INT96 leaves in seconds or a finer unit.

    Before 1970 they may be a second late. None when DataFusion cannot tell: it cannot read the file, or that asks for
    nanoseconds, which do not hold all times.
    """
    if isinstance(data, Path):
        return _read(data, column)
    with tempfile.NamedTemporaryFile(prefix="polynya-", suffix=".parquet") as spool:
        spool.write(data)
        spool.flush()
        return _read(Path(spool.name), column)


def _read(path: Path, column: str) -> pa.Array | None:
    context = SessionContext(SessionConfig().with_target_partitions(1).set(_COERCE, "s"))
    name = column.replace('"', '""')
    try:
        batches = context.read_parquet(str(path), file_extension="").select(f'"{name}"').collect()
    except Exception:  # noqa: BLE001  # DataFusion raises no other class; the caller says what is not known
        return None
    rows = pa.Table.from_batches(batches).column(0).combine_chunks()
    return None if "timestamp[ns" in str(rows.type) else rows
