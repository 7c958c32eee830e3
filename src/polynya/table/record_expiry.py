"""Rows that are too old to be kept: `record-level.expire-time`, counted from a column of the row.

Compaction drops such rows; reads show them until then. A row without a time stays.
"""

from datetime import UTC, datetime

from polynya.errors import InvalidInputError
from polynya.model import bind
from polynya.model import types as t
from polynya.model.options_keys import RECORD_LEVEL_EXPIRE_TIME, RECORD_LEVEL_TIME_FIELD
from polynya.model.predicate import Column, Predicate, all_of, any_of
from polynya.model.schema import Schema

FIRST_MILLISECONDS = 10**12  # a BIGINT from here on counts milliseconds, below it seconds


def expired_rows(schema: Schema, now_ms: int) -> Predicate | None:
    """What is true of rows that are too old, bound to the schema; None where rows do not expire."""
    age_ms = RECORD_LEVEL_EXPIRE_TIME.find(schema.options)
    if age_ms is None:
        return None
    name = RECORD_LEVEL_TIME_FIELD.find(schema.options)
    if name is None:
        raise InvalidInputError(
            "option 'record-level.expire-time' needs 'record-level.time-field': the column to look at"
        )
    border_s = now_ms // 1000 - age_ms // 1000
    column = Column((name,))
    match schema.column(name).type:
        case t.Int():
            expired = column < border_s
        case t.BigInt():
            in_seconds = all_of(column < FIRST_MILLISECONDS, column < border_s)
            expired = any_of(in_seconds, all_of(column >= FIRST_MILLISECONDS, column < border_s * 1000))
        case t.Timestamp():
            expired = column < datetime.fromtimestamp(border_s, UTC).replace(tzinfo=None)
        case t.LocalTimestamp():
            expired = column < datetime.fromtimestamp(border_s, UTC)
        case other:
            raise InvalidInputError(
                f"option 'record-level.time-field': expected a column of INT, BIGINT or TIMESTAMP, found {other}"
            )
    return bind.bind(expired, schema.fields)
