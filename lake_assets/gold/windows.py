"""When windows of event time close, and which rows come too late for theirs. Pure.

Times are microseconds since 1970, of rows alone: no clock is asked.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lake_assets.model.gold_views import Windows

_MICROSECONDS = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros_of(windows: Windows) -> tuple[int, int]:
    """A window's length, and how long after its end it stays open."""
    every, delay = windows.every.total_seconds(), windows.watermark.total_seconds()
    return round(every * _MICROSECONDS), round(delay * _MICROSECONDS)


def closed_until(windows: Windows, newest: int | None) -> int | None:
    """The end of the last window that is closed once a row of the time `newest` is there.

    A window is closed when the watermark, the newest time minus the delay, has reached its end.
    None without rows.
    """
    if newest is None:
        return None
    every, delay = micros_of(windows)
    return (newest - delay) // every * every


def is_ahead(windows: Windows, newest: int, came: int | None) -> bool:
    """Whether a row of the time `newest` may be too far ahead to be believed.

    Args:
        windows: that say how far it may be.
        newest: the greatest time of some rows.
        came: the least time at which one of them came; None if it is not known.
    """
    return came is None or newest > came + round(windows.ahead.total_seconds() * _MICROSECONDS)


def believed_sql(windows: Windows, time: str, came: str) -> str:
    """Spark SQL for the time that a row of a time and an arrival, both such numbers, may close.

    A source may not know when a row came: null, or 1970 and before, which Kafka has for that.
    """
    ahead = round(windows.ahead.total_seconds() * _MICROSECONDS)
    return f"case when {came} > 0 and {time} > {came} + {ahead}L then {came} else {time} end"


def start_sql(windows: Windows, microseconds: int = 0) -> str:
    """Spark SQL for the beginning of a row's window, and so much after it; exact, in whole numbers.

    Windows begin at multiples of their length since 1970 in UTC.
    """
    every, _ = micros_of(windows)
    time = f"unix_micros(`{windows.time}`)"
    return f"timestamp_micros({time} - pmod({time}, {every}L) + {microseconds}L)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Which rows of a key a refresh takes."""

    since: int | None
    """Windows that end up to here were closed before: a row of theirs is late. None if none was."""

    until: int | None
    """Windows that end up to here are closed now; None if none is."""

    @property
    def is_empty(self) -> bool:
        """Whether no window closes."""
        return self.until is None or (self.since is not None and self.until <= self.since)

    def may_have(self, bounds: tuple[int, int] | None) -> bool:
        """Whether rows between these times, or of any if None, may be in a window that closes."""
        if self.is_empty or self.until is None:
            return False
        if bounds is None:
            return True
        least, greatest = bounds
        return least < self.until and (self.since is None or greatest >= self.since)

    def may_be_late(self, bounds: tuple[int, int] | None) -> bool:
        """Whether rows that came now, between these times, may be late."""
        if self.since is None:
            return False
        return bounds is None or bounds[0] < self.since


def range_of(windows: Windows, since: int | None, newest: int | None) -> Range:
    """What a refresh takes that finds closed windows up to `since`, and new rows up to `newest`."""
    until = closed_until(windows, newest)
    if since is not None:
        until = since if until is None else max(since, until)
    return Range(since=since, until=until)


@dataclass(frozen=True, kw_only=True, slots=True)
class LateRows:
    """Rows of a key that came after their window was closed."""

    rows: int
    words: str
    """How many, of which times, and where one of them is from."""


def late_rows(rows: int, least: int, greatest: int, example: str) -> LateRows:
    """So many rows between two times in microseconds since 1970, and the origin of one."""
    first, last = (
        f"{_EPOCH + timedelta(microseconds=at):%Y-%m-%d %H:%M:%S}" for at in (least, greatest)
    )
    times = f"of {first} to {last}" if first != last else f"of {first}"
    who = (
        "1 row came after its window was"
        if rows == 1
        else f"{rows} rows came after their windows were"
    )
    words = f"{who} closed, {times} UTC, such as {example}"
    return LateRows(rows=rows, words=words)
