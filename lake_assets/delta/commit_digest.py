"""Telling one commit of a table from another one of the same number, after the table was restored.

A consumer that remembers the version it has read up to remembers this digest of it, too: a folder
put back from a copy and appended to again, or a table created again, reaches the same version with
other rows. What follows from a difference is the consumer's to decide.
"""

import hashlib
import json

from lake_assets.delta.table_log import TableLog

ORIGINAL = "lake_assets.commit_digest"
"""Key in a commit's custom metadata: the digest that it had when it was made. Only a commit has it
that was written again without values that were erased."""

_BYTES = 16
"""Of the digest: chance does not meet, and a position in a commit's metadata stays short."""


def commit_digest(log: TableLog, version: int) -> str | None:
    """A digest of the bytes of a version's commit file, 32 hexadecimal digits.

    A commit names its files by random names and its time in milliseconds, so two commits have one
    digest only if one is a copy of the other. Its file is not changed once it is there but by
    `delta.history_end`, which leaves it its digest.

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
    return digest_of(commit)


def digest_of(commit: bytes) -> str:
    """The digest of a commit, by what its file has."""
    if ORIGINAL.encode() in commit:  # a value may say so, too
        noted = _noted(commit)
        if noted is not None:
            return noted
    return hashlib.blake2b(commit, digest_size=_BYTES).hexdigest()


def _noted(commit: bytes) -> str | None:
    """The digest that a commit notes of itself; None if it does not."""
    for line in commit.splitlines():
        try:
            action = json.loads(line)
        except ValueError:
            return None  # torn
        info = action.get("commitInfo") if isinstance(action, dict) else None
        if isinstance(info, dict) and isinstance(info.get(ORIGINAL), str):
            return str(info[ORIGINAL])
    return None
