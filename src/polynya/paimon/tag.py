"""tag-<name>: the snapshot that the tag keeps, as JSON, and for how long.

| key | what |
|---|---|
| those of a snapshot | |
| tagCreateTime | [year, month, day, hour, minute, second, nanosecond] on the wall clock; last zeros may be missing |
| tagTimeRetained | seconds with nine decimals |

Both of the last are left out in tags that are kept until they are deleted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from polynya.codec import json_text
from polynya.codec.json_text import Json, JsonObject
from polynya.paimon import snapshot
from polynya.paimon.snapshot import Snapshot

_NANOS = 10**9
_CREATE_TIME = "tagCreateTime"
_TIME_RETAINED = "tagTimeRetained"
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Tag:
    """A kept snapshot; the creation time is nanoseconds since 1970 on the wall clock of the creator."""

    snapshot: Snapshot
    create_time_ns: int | None = None
    time_retained_ns: int | None = None


def decode(data: bytes, *, name: str) -> Tag:
    """The tag that the file holds."""
    found = json_text.decode(data, name=name)
    kept = snapshot.from_json(found)
    extra = {key: value for key, value in kept.extra.items() if key not in (_CREATE_TIME, _TIME_RETAINED)}
    return Tag(replace(kept, extra=extra), _create_time(found), _time_retained(found))


def encode(tag: Tag) -> bytes:
    """The file of the tag."""
    members = snapshot.to_json(tag.snapshot)
    members[_CREATE_TIME] = None if tag.create_time_ns is None else _wall_clock(tag.create_time_ns)
    members[_TIME_RETAINED] = None if tag.time_retained_ns is None else _seconds(tag.time_retained_ns)
    return json_text.encode(members)


def _create_time(found: JsonObject) -> int | None:
    if found.members.get(_CREATE_TIME) is None:
        return None
    parts = found.list(_CREATE_TIME)
    numbers = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    if len(numbers) != len(parts) or not 3 <= len(numbers) <= 7:
        found.refuse(_CREATE_TIME, "three to seven integers")
    *clock, nanos = numbers + [0] * (7 - len(numbers))
    try:
        passed = datetime(*clock) - _EPOCH  # type: ignore[arg-type]  # six numbers
    except (ValueError, OverflowError):
        found.refuse(_CREATE_TIME, "a date and a time")
    if not 0 <= nanos < _NANOS:
        found.refuse(_CREATE_TIME, "less than a second of nanoseconds")
    return (passed.days * 86400 + passed.seconds) * _NANOS + nanos


def _time_retained(found: JsonObject) -> int | None:
    value = found.members.get(_TIME_RETAINED)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value < 2**63:
        found.refuse(_TIME_RETAINED, "a number of seconds")
    return int(value) * _NANOS + int(value % 1 * _NANOS)


def _wall_clock(time_ns: int) -> Sequence[Json]:
    seconds, nanos = divmod(time_ns, _NANOS)
    clock = _EPOCH + timedelta(seconds=seconds)
    parts = [clock.year, clock.month, clock.day, clock.hour, clock.minute]
    if clock.second or nanos:
        parts.append(clock.second)
    if nanos:
        parts.append(nanos)
    return parts


def _seconds(time_ns: int) -> Decimal:
    if time_ns == 0:
        return Decimal("0.0")
    seconds, nanos = divmod(time_ns, _NANOS)
    return Decimal(f"{seconds}.{nanos:09}")
