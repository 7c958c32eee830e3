"""LATEST and EARLIEST: a snapshot id in decimal digits, nothing else; it may be stale, so nobody trusts it alone."""

_LONG_MAX = 2**63 - 1


def decode(data: bytes) -> int | None:
    """The id, or None where the hint is damaged: the caller lists the folder instead."""
    digits = data.strip()
    if not digits.isdigit() or len(digits) > 19:
        return None
    number = int(digits)
    return number if number <= _LONG_MAX else None


def encode(snapshot_id: int) -> bytes:
    """The hint's file."""
    return str(snapshot_id).encode("ascii")
