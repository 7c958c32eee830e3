"""Rows packed for the task that writes their bucket, and unpacked there."""

import numpy as np
import pyarrow as pa
import pytest

from polynya.errors import InvalidInputError
from polynya.model.schema import schema_of
from polynya.paimon.bucket import bucket_ids
from polynya.spark.answers import told
from polynya.spark.exchange import (
    GATHERED_BYTES,
    GATHERED_ROWS,
    HOT_BYTES,
    MESSAGE_BYTES,
    PACKED_SCHEMA,
    SHARES,
    Dealer,
    Receivers,
    gathered,
    pack,
    unpack,
)


def some_rows(count=5000, text_bytes=4):
    random = np.random.default_rng(7)
    return pa.record_batch(
        {
            "id": pa.array(random.integers(-(2**63), 2**63 - 1, count)),
            "p": pa.array([None if one == 3 else str(one) for one in random.integers(0, 5, count)]),
            "t": pa.array(["x" * text_bytes if one % 7 else None for one in range(count)]),
            "a": pa.array([list(range(one % 4)) for one in range(count)]),
        }
    )


def by_receiver(packed, schema):
    found = {}
    for receiver in dict.fromkeys(packed["receiver"].to_pylist()):
        own = packed.filter(pa.array(np.asarray(packed["receiver"]) == receiver))
        found[receiver] = pa.Table.from_batches([rows for _, rows in unpack([own], schema)], schema)
    return found


def test_receivers_get_their_rows_whole_and_in_order():
    rows = some_rows()
    receivers = np.random.default_rng(1).integers(0, 7, rows.num_rows)
    found = by_receiver(pack(rows, receivers, np.zeros_like(receivers)), rows.schema)
    assert sorted(found) == list(range(7))
    for receiver, table in found.items():
        assert table.equals(pa.Table.from_batches([rows.filter(pa.array(receivers == receiver))]))


def test_rows_of_one_receiver_and_no_rows_are_packed_too():
    rows = some_rows(100)
    (found,) = by_receiver(pack(rows, np.full(100, 3), np.zeros(100, np.int64)), rows.schema).values()
    assert found.equals(pa.Table.from_batches([rows]))
    assert pack(rows.slice(0, 0), *(np.empty(0, np.int64),) * 2).num_rows == 0


def test_messages_are_small_however_long_a_text_is():
    packed = pack(some_rows(4000, text_bytes=1000), *(np.zeros(4000, np.int64),) * 2)
    sizes = [len(message) for message in packed["rows"].to_pylist()]
    assert max(sizes) < 2 * MESSAGE_BYTES
    assert pack(some_rows(3, text_bytes=10**6), *(np.zeros(3, np.int64),) * 2).num_rows == 3


@pytest.mark.parametrize("partition", [[], ["p"]])
def test_a_bucket_of_a_partition_has_one_receiver(partition):
    rows = some_rows()
    options = {"bucket": "11", "bucket-key": "id"}
    schema = schema_of(rows.schema, partition_by=partition, options=options)
    receivers = Receivers(schema, 11, 4, 4).of(rows)
    buckets = bucket_ids([rows["id"]], 11, "default").to_pylist()
    owners = {}
    for value, bucket, receiver in zip(rows["p"].to_pylist(), buckets, receivers.tolist(), strict=True):
        owners.setdefault((value if partition else "", bucket), set()).add(receiver)
    assert all(len(one) == 1 for one in owners.values())
    assert set(receivers.tolist()) == {0, 1, 2, 3}


def test_the_error_of_a_sender_reaches_its_receiver():
    error = InvalidInputError("column 'x' does not fit")
    packed = pa.RecordBatch.from_pylist([{"receiver": 0, **told(error)}], schema=PACKED_SCHEMA)
    with pytest.raises(InvalidInputError, match="column 'x' does not fit"):
        list(unpack([packed], some_rows(1).schema))


def test_batches_are_gathered_up_to_rows_or_bytes():
    small, large = some_rows(1000), some_rows(100, text_bytes=GATHERED_BYTES // 200)
    assert max(batch.num_rows for batch in gathered(iter([small] * 100))) <= GATHERED_ROWS + 1000
    assert [batch.num_rows for batch in gathered(iter([large] * 6))] == [300, 300]


def keyed(options):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("t", pa.string())])
    return schema_of(schema, primary_key=["id"], options=options)


def dealt(schema, bucket_count, batches):
    """What a sender of these batches says of each row: (receiver, share), and whether it has a home among these."""
    dealer = Dealer(Receivers(schema, bucket_count, min(bucket_count, 4), 4))
    return [list(zip(*(one.tolist() for one in dealer.deal(batch)), strict=True)) for batch in batches]


def long_texts(ids):
    return pa.record_batch({"id": pa.array(ids, pa.int64()), "t": pa.array(["x" * (HOT_BYTES // 500)] * len(ids))})


def test_what_follows_many_rows_of_one_bucket_is_dealt_out_by_key():
    first, *later = dealt(keyed({"bucket": "1"}), 1, [long_texts(range(1000))] * 3)
    assert set(first) == {(0, 0)}
    assert {receiver for receiver, _ in later[0]} == {1, 2, 3, 4}
    assert {share for _, share in later[0]} == set(range(1, SHARES + 1))
    assert later[0] == later[1]


def test_buckets_of_like_size_are_not_dealt_out():
    rows = [long_texts(range(1000))] * 8
    assert {share for batch in dealt(keyed({"bucket": "4"}), 4, rows) for _, share in batch} == {0}


def test_a_few_rows_of_one_bucket_are_not_dealt_out():
    rows = [pa.record_batch({"id": pa.array(range(1000), pa.int64()), "t": pa.array(["x"] * 1000)})] * 20
    assert {share for batch in dealt(keyed({"bucket": "1"}), 1, rows) for _, share in batch} == {0}


def test_the_order_of_a_bucket_without_keys_is_left_alone():
    schema = schema_of(long_texts([1]).schema, options={"bucket": "1", "bucket-key": "id"})
    rows = [long_texts(range(1000))] * 3
    assert {place for batch in dealt(schema, 1, rows) for place in batch} == {(0, 0)}
