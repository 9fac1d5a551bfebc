"""Putting rows into one record, as the Kinesis Producer Library does."""

import hashlib

from lake_assets.sources.kinesis.aggregated import AGGREGATED, MAGIC


def aggregated(rows):
    message = AGGREGATED()
    for row in rows:
        if row.key not in message.partition_key_table:
            message.partition_key_table.append(row.key)
        index = list(message.partition_key_table).index(row.key)
        message.records.add(partition_key_index=index, data=row.data)
    body = message.SerializeToString()
    return MAGIC + body + hashlib.md5(body, usedforsecurity=False).digest()
