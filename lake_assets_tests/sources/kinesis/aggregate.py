"""Putting rows into one record, as the Kinesis Producer Library does."""

import hashlib

from lake_assets.sources.kinesis.aggregated import AGGREGATED, MAGIC


def aggregated(rows):
    message = AGGREGATED()
    for row in rows:
        if row.key not in message.partition_key_table:
            message.partition_key_table.append(row.key)
        index = list(message.partition_key_table).index(row.key)
        record = message.records.add(partition_key_index=index, data=row.data)
        if row.hash_key is not None:
            record.explicit_hash_key_index = len(message.explicit_hash_key_table)
            message.explicit_hash_key_table.append(str(row.hash_key))
    body = message.SerializeToString()
    return MAGIC + body + hashlib.md5(body, usedforsecurity=False).digest()
