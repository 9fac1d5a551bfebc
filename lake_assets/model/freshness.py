"""How old the tables of a feed may be before Dagster shows them as stale: a feed's `freshness`."""

from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from lake_assets.model.base import Noun
from lake_assets.model.checks import duration

_OFF = timedelta(0)
"""Never."""

_SHORTEST = timedelta(minutes=5)
"""Dagster looks every half a minute, and reports of rows come half a minute late."""


def _fresh_within(value: object) -> timedelta:
    # YAML reads `off` as false.
    if value is False or value in ("off", _OFF):
        return _OFF
    try:
        found = duration(value)
    except ValueError:
        found = _OFF
    if found < _SHORTEST:
        message = f"{value!r} is no time of at least five minutes\nwrite 15m, 1h, 2d, or off"
        raise ValueError(message)
    return found


def _text(value: timedelta) -> str:
    return f"{value.total_seconds():g}s" if value else "off"


FreshWithin = Annotated[
    timedelta, BeforeValidator(_fresh_within), PlainSerializer(_text, return_type=str)
]


class Fresh(Noun):
    """The part of `model.feeds.Feed` about how fresh its tables are to be."""

    freshness: FreshWithin | None = None
    """After how long without news Dagster shows bronze and silver as stale: `1h`, of at least five
    minutes, or `off`. News is also that the source has none. Unset, as the settings have it
    (`fresh_within_s`), and of a feed with `run` never."""

    def fresh_within(self, default_s: float, *, is_streamed: bool) -> timedelta | None:
        """After how long its tables are stale; None if never.

        Args:
            default_s: as the settings have it, in seconds; 0 for never.
            is_streamed: whether it is run without pause.
        """
        if self.freshness is not None:
            return self.freshness or None
        return max(_SHORTEST, timedelta(seconds=default_s)) if is_streamed and default_s else None
