"""Rows that a producer sent again: what a feed declares of them, as a frozen noun.

Which rows are duplicates is decided by `silver.first_rows`.
"""

from datetime import timedelta
from typing import Annotated

from humanfriendly import format_timespan
from pydantic import Field, field_validator

from lake_assets.model.base import Noun
from lake_assets.model.checks import ColumnName, Duration
from lake_assets.model.unique_names import refuse_twins

Within = Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(days=366))]
"""Below a second, what is sent again comes later than that; memory grows with the window."""


class Deduplicate(Noun):
    """Which rows of a key's table are the same event."""

    key: tuple[ColumnName, ...] = Field(min_length=1)
    """Columns of silver that name an event (`[event_id]`), of numbers, texts, bytes, booleans or
    times. Rows are equal if Spark's `=` says so of each: a null equals nothing, `a` is not `A`,
    `NaN` is `NaN`, `-0.0` is `0.0`, and 1 stays 1 when its column becomes wider."""

    within: Within
    """How far the times of two rows may lie apart for the later one to be a duplicate, this much
    included (`1h`). Rows with the same key that are further apart stay."""

    time: ColumnName | None = None
    """Timestamp column of silver that says when a row is from; unset, the time at which the source
    got it. Never the clock, so a rebuild decides alike. A row without one is no duplicate."""

    def __str__(self) -> str:
        """In words: `once per event_id within 1 hour`."""
        of_time = f" of {self.time}" if self.time else ""
        return f"once per {' and '.join(self.key)} within {format_timespan(self.within)}{of_time}"

    @field_validator("key")
    @classmethod
    def _columns_are_named_once(cls, key: tuple[str, ...]) -> tuple[str, ...]:
        refuse_twins("deduplicate.key", list(key))
        return key
