"""Which rows of a table are too old to stay, by the ages of its files' rows. Pure."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from lake_assets.delta.commit import DataFile
from lake_assets.model.retention import RowAges

_PATIENCE = timedelta(days=1)
"""Over its time a row may be before its file is rewritten for it: each file is at most once a day.
Shorter costs rewrites, longer keeps rows for longer than was promised."""

_ROUNDED = timedelta(milliseconds=1)
"""Of the times that other engines put into a log."""

_SLICES = 16
"""Parts of the time that rows stay, by which their files are joined: more are more files, fewer are
more rows that must be written again to get rid of older ones beside them."""


def rows_go_before(now: datetime, newest: datetime, keep: timedelta) -> datetime:
    """The time before which rows are too old.

    A clock that is set ahead makes no row old: none is older than the newest that came lets it be.

    Args:
        now: by the clock.
        newest: time of the newest row that the feed has got.
        keep: how long rows stay.
    """
    return min(now, newest) - keep


def overdue(
    files: Sequence[tuple[DataFile, RowAges]], before: datetime, keep: timedelta
) -> tuple[list[DataFile], list[DataFile]]:
    """The files all of whose rows are too old, and those with rows that are so for a day."""
    patience = min(_PATIENCE, keep)
    whole: list[DataFile] = []
    partly: list[DataFile] = []
    for file, ages in files:
        if ages.newest is not None and ages.newest < before - _ROUNDED:
            whole.append(file)
        elif ages.oldest is not None and ages.oldest < before - patience:
            partly.append(file)
    return whole, partly


def without_spared(
    whole: Sequence[DataFile],
    partly: Sequence[DataFile],
    all_spared: Collection[str],
    none_spared: Collection[str],
) -> tuple[list[DataFile], list[DataFile]]:
    """The files of `overdue`, where some rows stay whatever their age.

    Args:
        whole: files all of whose rows are too old.
        partly: files with rows that are.
        all_spared: paths of files all of whose rows stay.
        none_spared: paths of files none of whose rows does.
    """
    concerned = [file for file in (*whole, *partly) if file.path not in all_spared]
    all_go = {file.path for file in whole} & set(none_spared)
    return (
        [file for file in concerned if file.path in all_go],
        [file for file in concerned if file.path not in all_go],
    )


def slice_of(ages: RowAges, keep: timedelta) -> int:
    """Which part of time a file's newest row is in: files of several are not joined.

    So most rows leave with their whole file, when its newest is too old.
    """
    time = ages.newest or ages.oldest
    return 0 if time is None else int(time.timestamp() // (keep / _SLICES).total_seconds())
