"""Records of the Kinesis Producer Library that have several rows in one: taken apart.

The form is Amazon's: four bytes, a message of protobuf with the rows and their keys, and the
message's MD5. What looks like one and is none is a plain record, as Amazon's own clients have it.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

MAGIC = b"\xf3\x89\x9a\xc2"
"""What they begin with."""

_DIGEST = 16


class UserRecord(NamedTuple):
    """A row of an aggregated record."""

    key: str
    data: bytes
    hash_key: int | None = None
    """Which shard it is for, where its producer says so; else its key says it."""

    @property
    def hash(self) -> int:
        """By which it belongs to a shard."""
        if self.hash_key is not None:
            return self.hash_key
        return int.from_bytes(hashlib.md5(self.key.encode(), usedforsecurity=False).digest())


PRODUCER_KEY = "a"
"""The partition key of each record that the Producer Library puts together: that library sends it
by a hash alone. Others take the key of a row."""


def is_sent_again(key: str, rows: Sequence[UserRecord], hashes: tuple[int, int] | None) -> bool:
    """Whether a producer sends the rows of a record again, to the shard that they are for.

    While a stream is split or merged, the Producer Library puts rows together for a shard that is
    no more. It sees where the record went, and sends all of its rows again; Amazon's own readers
    pass over the first.

    Args:
        key: the record's partition key.
        rows: what is in it.
        hashes: the first and the last that the shard has, which it is in; None if they are not
            known.
    """
    if key != PRODUCER_KEY or hashes is None:
        return False
    first, last = hashes
    return any(not first <= row.hash <= last for row in rows)


def user_records(data: bytes) -> list[UserRecord] | None:
    """The rows of a record, in their order; None of one that is not aggregated."""
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + _DIGEST:
        return None
    body = data[len(MAGIC) : -_DIGEST]
    if hashlib.md5(body, usedforsecurity=False).digest() != data[-_DIGEST:]:
        return None
    try:
        message = AGGREGATED.FromString(body)
        keys, hashes = message.partition_key_table, message.explicit_hash_key_table
        return [
            UserRecord(
                keys[one.partition_key_index],
                one.data,
                int(hashes[one.explicit_hash_key_index])
                if one.HasField("explicit_hash_key_index")
                else None,
            )
            for one in message.records
        ]
    except (DecodeError, IndexError, ValueError):
        return None


def _message() -> Any:  # noqa: ANN401 - classes of messages are made, and have no type
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="lake_assets/kinesis_aggregated.proto", package="lake_assets.kinesis", syntax="proto2"
    )
    record = file.message_type.add(name="Record")
    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    for name, number, kind in (
        ("partition_key_index", 1, field.TYPE_UINT64),
        ("explicit_hash_key_index", 2, field.TYPE_UINT64),
        ("data", 3, field.TYPE_BYTES),
    ):
        record.field.add(name=name, number=number, type=kind, label=one)
    whole = file.message_type.add(name="AggregatedRecord")
    for name, number in (("partition_key_table", 1), ("explicit_hash_key_table", 2)):
        whole.field.add(name=name, number=number, type=field.TYPE_STRING, label=many)
    whole.field.add(
        name="records",
        number=3,
        type=field.TYPE_MESSAGE,
        label=many,
        type_name=".lake_assets.kinesis.Record",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("lake_assets.kinesis.AggregatedRecord")
    return message_factory.GetMessageClass(found)


AGGREGATED = _message()
"""The message."""
