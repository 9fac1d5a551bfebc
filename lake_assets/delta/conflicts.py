"""Commits that cannot be made, such as one that another writer came before: noticed and told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from lake_assets.delta.commit import Commit
from lake_assets.errors import CommitConflictError, LakeError, first_line
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import TableRef

_P = ParamSpec("_P")
_T = TypeVar("_T")


def again_on_conflict(tries: int) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Have a function called anew, up to so many times in all, that raises `CommitConflictError`.

    It is to look at the table anew, and leave nothing behind; the last error comes out as it is.
    """
    return retry(
        retry=retry_if_exception_type(CommitConflictError),
        stop=stop_after_attempt(tries),
        reraise=True,
    )


def overtaken(table: TableRef, why: str) -> CommitConflictError:
    """The error of a commit that another writer came before."""
    return CommitConflictError(
        table.name,
        f"another writer changed it during this commit ({why})",
        "Make sure that only one process runs the streams of this lake",
    )


def moved_on(commit: Commit) -> CommitConflictError:
    """The error of a commit that was made for a version which is no longer the newest."""
    fact = f"is no longer at version {commit.seen}"
    return CommitConflictError(commit.table.name, fact, "Do it again from the table as it is")


def ensure_seen(handle: DeltaTable, commit: Commit) -> None:
    """Make sure that a table is at the version that a commit was made for, if it names one.

    Raises:
        CommitConflictError: it is not.
    """
    if commit.seen not in {None, handle.version()}:
        raise moved_on(commit)


def ensure_there(handle: DeltaTable, commit: Commit) -> None:
    """Make sure that a table still has the files that a commit removes.

    Raises:
        CommitConflictError: it does not.
    """
    active = {unquote(path) for path in pa.table(handle.get_add_actions())["path"].to_pylist()}
    gone = [file.path for file in commit.removed if file.path not in active]
    if gone:
        raise CommitConflictError(
            commit.table.name,
            f"another writer removed {len(gone)} of the files that this commit replaces",
            "Do it again from the table as it is now",
        )


@contextmanager
def lake_errors(lake: LakeUri) -> Iterator[None]:
    """Tell what deltalake and the system say of a lake as an error of ours.

    Raises:
        LakeError: the lake cannot be written.
    """
    try:
        yield
    except (DeltaError, OSError) as problem:
        if not lake.is_local:
            from lake_assets.storage.object_errors import unusable  # noqa: PLC0415 - of buckets

            raise unusable(lake, "written", problem) from problem
        raise LakeError(
            str(lake), f"cannot be written ({first_line(problem)})", "Check the folder and the disk"
        ) from problem
