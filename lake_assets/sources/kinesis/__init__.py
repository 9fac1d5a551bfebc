"""A Kinesis data stream as a source: shards, each read to its end before those that follow it.

Records land first, in a Delta table beside bronze, in a commit with how far each shard was read.
Why, and what is told of records that Kinesis deleted: `docs/decisions/0085-kinesis-lands-first.md`.
"""
