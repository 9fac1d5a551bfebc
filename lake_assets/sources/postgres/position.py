"""How far a table was read, and from where on later rows are looked for. Pure.

Before a pass over the table a number is drawn as transactions get theirs (`Horizon`): whoever gets
a later one writes first after that, with a watermark that is at most `late` behind what was there
then: that is what a feed declares. A pass sees one snapshot of the database, which tells below
which number (`xmin`) all transactions have ended. So once that has reached a horizon's number,
nothing further comes below the horizon's mark less `late`, however long a transaction lasted.
"""

import json
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """A moment of the database."""

    number: int
    """Of a transaction of ours; those that began to write later have greater ones. 0 of a server
    that gives none: then nothing is known of those that are under way."""

    mark: int | None
    """The watermark that rows had come to, at most the database's own time or number; None without
    rows. Times in microseconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What one look at the database sees."""

    xmin: int
    """The first number of a transaction that has not ended."""

    xmax: int
    """The number behind the last one that has."""

    mark: int | None
    """As `Horizon.mark`."""

    at_us: int
    """When it began, by the database's clock, in microseconds since 1970."""

    reached: int | None = None
    """Of a watermark of numbers, the last that was given, or, if nothing tells that, that a row
    has; None of times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """One reading of all rows that may be new."""

    xmin: int
    """Of its first snapshot."""

    horizon: Horizon
    """Of before that."""

    first: int = 0
    """The offset that the first row of it got."""

    after: tuple[str, ...] = ()
    """Watermark and key of the last row that was read, as texts; empty if none was. A pass whose
    process died goes on behind it, in another snapshot."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a table was read."""

    database: str
    """Which it is in, and of which server."""

    table: int
    """Which table it is, by the database's own number."""

    by: tuple[str, ...]
    """Columns that it is read by: the watermark, and the key."""

    xmax: int
    """Of the last snapshot: an older state of the database is behind it."""

    is_timed: bool | None = None
    """Whether watermarks are times; None where it was not noted."""

    low: int | None = None
    """No row comes below this watermark that was not read; None if none is known."""

    pending: Horizon | None = None
    """Before which transactions began that had not all ended yet; None if all had."""

    begun: Pass | None = None
    """The pass that has not ended."""

    @property
    def text(self) -> str:
        """As JSON."""
        begun = self.begun
        told = {
            "database": self.database,
            "table": self.table,
            "by": list(self.by),
            "xmax": self.xmax,
            "is_timed": self.is_timed,
            "low": self.low,
            "pending": _of_horizon(self.pending),
            "begun": begun
            and {
                "xmin": begun.xmin,
                "horizon": _of_horizon(begun.horizon),
                "first": begun.first,
                "after": list(begun.after),
            },
        }
        return json.dumps(told, ensure_ascii=False)

    @classmethod
    def of(cls, text: str) -> Self:
        """Of `text`.

        Raises:
            ValueError: it is of something else.
        """
        try:
            told = json.loads(text)
            begun = told["begun"]
            return cls(
                database=told["database"],
                table=told["table"],
                by=tuple(told["by"]),
                xmax=told["xmax"],
                is_timed=told.get("is_timed"),
                low=told["low"],
                pending=_horizon(told["pending"]),
                begun=begun
                and Pass(
                    xmin=begun["xmin"],
                    horizon=Horizon(**begun["horizon"]),
                    first=begun["first"],
                    after=tuple(begun["after"]),
                ),
            )
        except (KeyError, TypeError) as problem:
            message = f"is no position: {text}"
            raise ValueError(message) from problem


def _of_horizon(horizon: Horizon | None) -> dict[str, int | None] | None:
    return None if horizon is None else {"number": horizon.number, "mark": horizon.mark}


def _horizon(told: dict[str, Any] | None) -> Horizon | None:
    return None if told is None else Horizon(number=told["number"], mark=told["mark"])


def at_clock(position: Position, seen: Snapshot, late: int) -> Position:
    """A position of times by a look at the database, whose clock may have been set back.

    What comes now may then have a watermark below that of rows that were read.
    """
    if position.low is None or not position.is_timed:
        return position
    return replace(position, low=min(position.low, seen.at_us - late))


def after_pass(position: Position, done: Pass, late: int) -> Position:
    """Where a table is once a pass has read all rows from `position.low` on.

    Args:
        position: before it.
        done: the pass.
        late: how far a watermark may be behind, in its own unit.
    """
    settled, pending, low = None, position.pending, position.low
    if done.xmin >= done.horizon.number:
        settled, pending = done.horizon, None
    elif pending is None:
        pending = done.horizon
    elif done.xmin >= pending.number:
        settled, pending = pending, done.horizon
    if settled is not None and settled.mark is not None:
        # Never back: what was known not to come below it still does not.
        low = max(settled.mark - late, settled.mark - late if low is None else low)
    return replace(position, low=low, pending=pending, begun=None)
