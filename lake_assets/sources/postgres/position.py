"""How far a table was read, and from where on later rows are looked for. Pure.

A pass over the table sees one snapshot of the database. Which transactions that snapshot knows to
have ended it says by their numbers: all below `xmin`; none has a number from `xmax` on. A row whose
transaction got its number later has a watermark that is at most `late` behind what was there then
(`Horizon.mark`): that is what a feed declares. So once all transactions below a horizon's `xmax`
have ended and a pass saw them, nothing further comes below that horizon's mark less `late`, however
long a transaction lasted.
"""

import json
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """What a snapshot could not know of yet."""

    xmax: int
    """The number that the next transaction gets."""

    mark: int | None
    """The watermark that rows had come to, at most the database's own time or number; None without
    rows. Times in microseconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What one look at the database sees."""

    xmin: int
    """The first number of a transaction that has not ended."""

    horizon: Horizon
    at_us: int
    """When it began, by the database's clock, in microseconds since 1970."""

    reached: int | None = None
    """Of a watermark of numbers, the last that was given, or, if nothing tells that, that a row
    has; None of times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """One reading of all rows that may be new."""

    xmin: int
    """The first number of a transaction that had not ended when it began."""

    horizon: Horizon
    """Of its first snapshot."""

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

    low: int | None = None
    """No row comes below this watermark that was not read; None if none is known."""

    pending: Horizon | None = None
    """Whose transactions have not all been seen to end."""

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

    @property
    def seen_up_to(self) -> int:
        """A number that transactions had come to when the table was last read; 0 if not known."""
        horizons = (self.pending, self.begun and self.begun.horizon)
        return max((one.xmax for one in horizons if one), default=0)


def _of_horizon(horizon: Horizon | None) -> dict[str, int | None] | None:
    return None if horizon is None else {"xmax": horizon.xmax, "mark": horizon.mark}


def _horizon(told: dict[str, Any] | None) -> Horizon | None:
    return None if told is None else Horizon(xmax=told["xmax"], mark=told["mark"])


def after_pass(position: Position, done: Pass, late: int) -> Position:
    """Where a table is once a pass has read all rows from `position.low` on.

    Args:
        position: before it.
        done: the pass.
        late: how far a watermark may be behind, in its own unit.
    """
    pending, settled = position.pending, None
    if done.xmin >= done.horizon.xmax:  # nothing was under way
        settled, pending = done.horizon, done.horizon
    elif pending is not None and done.xmin >= pending.xmax:
        settled, pending = pending, done.horizon
    low = position.low
    if settled is not None and settled.mark is not None:
        # Never back: what was known not to come below it still does not.
        low = max(settled.mark - late, settled.mark - late if low is None else low)
    return replace(position, low=low, pending=pending or done.horizon, begun=None)
