"""Between which times the rows of data files are, by the statistics in a table's log.

Opens no data file.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MILLISECOND = 1_000
"""Microseconds that an engine may have cut off a file's greatest time."""


class TimedFile(NamedTuple):
    """A file, and what is known of its rows' times."""

    file: DataFile
    bounds: tuple[int, int] | None
    """The least and the greatest, in microseconds since 1970; engines may cut both down to whole
    milliseconds. None if they are not known, or there are none."""

    has_times: bool = True
    """Whether any row may have a time; else all are null."""

    came: int | None = None
    """The least time at which a row came to its source, likewise; None if not known of all."""


def timed(file: DataFile, column: str, came: str | None = None) -> TimedFile:
    """A file that a commit added, by the statistics there.

    Args:
        file: it.
        column: with the rows' times.
        came: with the times at which rows came; None if there is none.
    """
    try:
        stats = json.loads(file.stats)
        if stats["nullCount"][column] == stats["numRecords"]:
            return TimedFile(file, None, has_times=False)
        bounds = _parsed(stats["minValues"][column]), _parsed(stats["maxValues"][column])
    except (ValueError, KeyError, TypeError):
        return TimedFile(file, None)
    try:
        is_told = came is not None and stats["nullCount"][came] == 0
        least = _parsed(stats["minValues"][came]) if is_told else None
    except (ValueError, KeyError, TypeError):
        least = None
    return TimedFile(file, bounds, came=least)


def timed_files(handle: DeltaTable, column: str, came: str | None = None) -> list[TimedFile]:
    """The files of a table's version; as `timed`."""
    actions = pa.table(handle.get_add_actions(flatten=True))
    places = {path: place for place, path in enumerate(actions["path"].to_pylist())}
    names = [f"{of}.{column}" for of in ("min", "max", "null_count")]
    is_told = set(names) <= set(actions.column_names)
    files = active_files(handle)
    if not is_told:
        return [TimedFile(file, None) for file in files]
    least, greatest, nulls = (actions[name].to_pylist() for name in names)
    arrivals = _arrivals(actions, came)
    found = []
    for file in files:
        place = places[file.logged or file.path]
        if nulls[place] is not None and nulls[place] == file.rows:
            found.append(TimedFile(file, None, has_times=False))
        elif isinstance(least[place], datetime) and isinstance(greatest[place], datetime):
            bounds = _micros(least[place]), _micros(greatest[place])
            found.append(TimedFile(file, bounds, came=arrivals[place]))
        else:
            found.append(TimedFile(file, None))
    return found


def _arrivals(actions: pa.Table, came: str | None) -> list[int | None]:
    """By file the least time of arrival; None where it is not known of all rows."""
    names = [f"min.{came}", f"null_count.{came}"]
    if not set(names) <= set(actions.column_names):
        return [None] * actions.num_rows
    rows = (actions[name].to_pylist() for name in names)
    return [
        _micros(least) if nulls == 0 and isinstance(least, datetime) else None
        for least, nulls in zip(*rows, strict=True)
    ]


def _parsed(text: str) -> int:
    return _micros(datetime.fromisoformat(text))


def _micros(time: datetime) -> int:
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(
        microseconds=1
    )


@dataclass(frozen=True, slots=True)
class RowsFrom:
    """Rows of a table from some time on, by a column of theirs."""

    column: str
    since: int | None
    """Microseconds since 1970; None for all rows that have a time."""

    def has_none(self, file: TimedFile) -> bool:
        """Whether no row of a file is one of them, for sure."""
        if not file.has_times:
            return True
        if self.since is None or file.bounds is None:
            return False
        return file.bounds[1] + _MILLISECOND < self.since

    def has_all(self, file: TimedFile) -> bool:
        """Whether each row of a file that has a time is one of them, for sure."""
        return file.bounds is not None and (self.since is None or file.bounds[0] >= self.since)
