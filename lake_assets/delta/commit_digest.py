"""Telling one commit of a table from another one of the same number, after the table was restored.

A consumer that remembers the version it has read up to remembers this digest of it, too: a folder
put back from a copy and appended to again, or a table created again, reaches the same version with
other rows. What follows from a difference is the consumer's to decide.
"""

import hashlib

from lake_assets.delta.table_log import TableLog

_BYTES = 16
"""Of the digest: chance does not meet, and a position in a commit's metadata stays short."""


def commit_digest(log: TableLog, version: int) -> str | None:
    """A digest of the bytes of a version's commit file, 32 hexadecimal digits.

    A commit names its files by random names and its time in milliseconds, so two commits have one
    digest only if one is a copy of the other. Its file is never changed once it is there.

    Args:
        log: of the table.
        version: of the commit.

    Returns:
        None if the log has no such commit, or no longer.

    Raises:
        LakeError: the file is there and cannot be read.
    """
    try:
        commit = log.commit(version)
    except FileNotFoundError:
        return None
    return hashlib.blake2b(commit, digest_size=_BYTES).hexdigest()
