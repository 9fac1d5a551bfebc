"""Buckets: which file of a gold table a row belongs to, so that a refresh writes only some. Pure.

A row's bucket is the hash of its keys modulo a power of two, and a file holds rows of one bucket,
which its name tells. A refresh that touches k keys of a table with n buckets writes about
n * (1 - exp(-k / n)) of them: with 64 buckets (a million rows) 1 key is 1 bucket, 10 keys are 9,
64 keys are 41 and 300 keys are 63. So buckets pay where a refresh touches fewer keys than there are
buckets; 1 % of a million keys, 10,000, touches them all, whatever their hash, and would with a
thousand buckets, too. What is always saved is reading silver.

16,384 rows a bucket (a setting: `fanout.bucket_rows`) take some 10 ms to write, a few times what
opening and naming a file costs; far smaller ones make tables that read slowly. Tables of up to two
buckets' rows, and that is most of them, are one file.
"""

from lake_assets.delta.commit import DataFile

MAX_BUCKETS = 256
"""Files of a table beyond which each commit and each reader pays for their number."""

_PREFIX = "bucket-"


def buckets_for(rows: int, bucket_rows: int) -> int:
    """The least power of two that makes buckets of at most `bucket_rows`, up to `MAX_BUCKETS`."""
    buckets = 1
    while rows > buckets * bucket_rows and buckets < MAX_BUCKETS:
        buckets *= 2
    return buckets


def buckets_now(rows: int, had: int, bucket_rows: int) -> int:
    """How many buckets a table should have that has `had`: more only where they are twice too full.

    A change rewrites the whole table.
    """
    return buckets_for(rows, bucket_rows) if rows > 2 * had * bucket_rows else had


def prefix_of(bucket: int) -> str:
    """How the names of a bucket's files begin."""
    return f"{_PREFIX}{bucket}"


def bucket_of(file: DataFile) -> int | None:
    """The bucket that a file's name tells; None if it tells none."""
    number, _, _ = file.path.removeprefix(_PREFIX).partition("-")
    is_told = file.path.startswith(_PREFIX) and number.isdecimal()
    return int(number) if is_told else None
