"""Which blocks of a container file may hold a value, told in the header of a file whose records are in order.

The header's key `polynya.blocks` is for readers that want few of the records; to all others it means nothing. Its value
is a JSON list after a hash of it and of all blocks: XXH3 of 64 bits, in 16 hexadecimal digits. So an index that is
damaged, or was copied to a file of other blocks, tells nothing, and every block is looked at.

The list has [number of blocks, least value, greatest value] of blocks that agree in these, the values in base64.
Values are compared as bytes.
"""

import base64
import json
from collections.abc import Sequence
from itertools import chain, groupby, repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from polynya.codec.avro_container import Block, Container
from polynya.codec.value_codes import Ints, value_codes

KEY = "polynya.blocks"
_BLOCKS_MIN = 8
_SHARE_MAX = 0.75  # of the values that a block cannot be told not to hold
_DIGEST_DIGITS = 16

Bounds = tuple[bytes, bytes]


def encode_index(values: pa.Array, blocks: Sequence[Block]) -> dict[str, str]:
    """What the header says of the blocks, which hold the values in order; nothing where that would spare little."""
    if len(blocks) < _BLOCKS_MIN:
        return {}
    distinct, least, greatest = _ranges(values, blocks)
    if (greatest - least + 1).mean() > _SHARE_MAX * len(distinct):
        return {}
    spelled = [base64.b64encode(value).decode() for value in distinct]
    ranges = groupby(zip(least.tolist(), greatest.tolist(), strict=True))
    runs = [[sum(1 for _ in group), spelled[low], spelled[high]] for (low, high), group in ranges]
    text = json.dumps(runs, separators=(",", ":"))
    return {KEY: _digest(text, blocks) + text}


def blocks_holding(container: Container, wanted: Sequence[bytes]) -> tuple[Block, ...]:
    """The blocks that may hold one of the values."""
    bounds = _decode_index(container)
    if bounds is None:
        return container.blocks
    held = (any(low <= one <= high for one in wanted) for low, high in bounds)
    return tuple(block for block, is_held in zip(container.blocks, held, strict=True) if is_held)


def _ranges(values: pa.Array, blocks: Sequence[Block]) -> tuple[list[bytes], Ints, Ints]:
    """The distinct values in order, and of each block the places of the least and the greatest among them."""
    codes, distinct = value_codes(values)
    order = pc.sort_indices(distinct)
    ranks = np.argsort(np.asarray(order))[codes]
    starts = np.cumsum([0, *(block.count for block in blocks[:-1])])
    return distinct.take(order).to_pylist(), np.minimum.reduceat(ranks, starts), np.maximum.reduceat(ranks, starts)


def _decode_index(container: Container) -> list[Bounds] | None:
    """The bounds of each block; None where there is no index, or none to believe."""
    stored = container.metadata.get(KEY, "")
    digest, text = stored[:_DIGEST_DIGITS], stored[_DIGEST_DIGITS:]
    if not text or digest != _digest(text, container.blocks):
        return None
    runs = [(count, (base64.b64decode(low), base64.b64decode(high))) for count, low, high in json.loads(text)]
    return list(chain.from_iterable(repeat(both, count) for count, both in runs))


def _digest(text: str, blocks: Sequence[Block]) -> str:
    digest = xxhash.xxh3_64(text.encode())
    for block in blocks:
        digest.update(block.data)
    return digest.hexdigest()
