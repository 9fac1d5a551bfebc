"""Files that were written for a commit which was then not made, and their end.

A commit that fails may have been made all the same: the store's answer was lost, or the process was
interrupted while another thread put the log's entry. What such a commit names stays: if it was not
made, the files are in no version of the table, and maintenance deletes them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import (
    CommitConflictError,
    ConstraintViolatedError,
    LakeError,
    TableFeatureError,
)

NOT_MADE = (CommitConflictError, ConstraintViolatedError, TableFeatureError)
"""Errors of commits that say for certain that nothing was committed."""


def discard(log: TableLog, files: Sequence[DataFile]) -> None:
    """Delete files that no commit names, and none will.

    Raises:
        LakeError: one cannot be deleted.
    """
    for file in files:
        log.store.delete(log.data_file(file.path))


@contextmanager
def discarded_on_failure(log: TableLog, files: Sequence[DataFile]) -> Iterator[None]:
    """Delete the files that there are by then, if the block fails: it writes them, commits none."""
    try:
        yield
    except BaseException:
        with suppress(LakeError):  # what failed before is what is to be told
            discard(log, files)
        raise


@contextmanager
def discarded_if_not_made(log: TableLog, files: Sequence[DataFile]) -> Iterator[None]:
    """Delete the files if the block's commit of them was refused, and not if nobody knows."""
    try:
        yield
    except NOT_MADE:
        with suppress(LakeError):
            discard(log, files)
        raise
