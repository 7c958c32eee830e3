"""consumer-<id>: how far a streaming reader has come, as JSON: {"nextSnapshot" : <the first snapshot not yet read>}."""

from dataclasses import dataclass

from polynya.codec import json_text


@dataclass(frozen=True)
class Consumer:
    """The progress of a reader: the first snapshot that it has not read yet."""

    next_snapshot: int


def decode(data: bytes, *, name: str) -> Consumer:
    """The progress that the file holds."""
    found = json_text.decode(data, name=name)
    next_snapshot = found.integer("nextSnapshot")
    return Consumer(next_snapshot) if next_snapshot >= 0 else found.refuse("nextSnapshot", "a snapshot id")


def encode(consumer: Consumer) -> bytes:
    """The file of the progress."""
    return json_text.encode({"nextSnapshot": consumer.next_snapshot})
