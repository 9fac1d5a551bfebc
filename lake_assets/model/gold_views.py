"""Gold views, as a feed declares them; how one is computed is `gold`'s."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    field_validator,
    model_validator,
)

from lake_assets.model.base import Identifier, Noun
from lake_assets.model.checks import Duration, GoldCheck, duration
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.keyed import Keyed
from lake_assets.model.queries import QuerySource, columns_of, reads_all, sources_of
from lake_assets.model.tables import EVERY_KEY
from lake_assets.model.unique_names import refuse_twins


def _readable(sql: str) -> str:
    reads_all(sql)  # raises what is wrong with it
    return sql


_LIVE = "live"

_LONGEST_PACE = timedelta(days=1)


def _pace(value: object) -> timedelta:
    if value in (_LIVE, timedelta(0)):
        return timedelta(0)
    try:
        pace = duration(value)
    except ValueError as problem:
        message = f"{value!r} is no pace\nwrite `live`, or a duration as 30s, 15m, 1h or 2d"
        raise ValueError(message) from problem
    if pace > _LONGEST_PACE:
        message = f"{value!r} is longer than a day\nleave it to a schedule"
        raise ValueError(message)
    return pace


Pace = Annotated[
    timedelta,
    BeforeValidator(_pace, json_schema_input_type=str),
    PlainSerializer(lambda pace: f"{pace.total_seconds():g}s" if pace else _LIVE, return_type=str),
]
"""`live`, which is no time at all, or a duration."""


WINDOW_START, WINDOW_END = "window_start", "window_end"
"""Columns of a view of windows, before its keys."""


def _whole_seconds(span: timedelta) -> timedelta:
    if span % timedelta(seconds=1):
        message = "takes whole seconds\nwrite it as 1s, 30s or 5m"
        raise ValueError(message)
    return span


WholeSeconds = Annotated[Duration, AfterValidator(_whole_seconds)]


class Windows(Noun):
    """Windows of equal length, which do not overlap; they begin at multiples of it since 1970."""

    time: Annotated[str, Field(min_length=1)]
    """Silver's column with the time of a row, a timestamp: the event's own."""

    every: WholeSeconds
    """Their length: `30s`, `5m`, `1h`."""

    watermark: WholeSeconds
    """How much a row may be older than the newest one of its key: a window is closed, and appears,
    when a row is there that is so much newer than its end. Rows that come later are counted."""

    ahead: WholeSeconds = timedelta(days=1)
    """How much later than its arrival at the source (Kafka's timestamp) a row's time may be, a day
    by default. A row that says more closes windows only up to its arrival: one device whose clock
    is years ahead must not make all others late."""


class GoldView(Noun):
    """A materialized view: `keys` and `measures`, free `sql`, or a `keyed` table.

    With keys and measures it has a table a key, one row for each combination of the keys; with
    `windows` one for each of those in each window, which is added once it is closed. Free SQL
    over `silver` has a table a key as well; over `silver_all`, all keys' rows, it has one table. It
    may read other views, too: `gold.<view>` of the key, or `gold_all.<view>` of all keys.
    """

    name: Identifier
    """Unique in the feed; part of its tables' names."""

    description: str | None = None
    """What it is good for, in Markdown; Dagster shows it."""

    keys: dict[Identifier, str] = Field(default_factory=dict)
    """Column name to Spark SQL expression over silver's columns; a list names columns of silver."""

    measures: dict[Identifier, str] = Field(default_factory=dict)
    """Column name to Spark SQL aggregate over silver's columns. As with `sql`, what asks the clock
    or chance changes only when silver does; such a view is recomputed in full then."""

    windows: Windows | None = None
    """Of event time, for `keys` and `measures`: the view has a row for each window and combination
    of keys, with `window_start` and `window_end`, and those never change once they are there."""

    sql: Annotated[str, AfterValidator(_readable)] | None = None
    """A Spark SQL query over `silver` or `silver_all`, over other views (`gold.<view>`,
    `gold_all.<view>`), and over what other feeds have (`<feed>.silver`, `<feed>.gold.<view>`); its
    columns are the view's. What it computes from the clock or by chance changes only when what it
    reads does."""

    keyed: Keyed | None = None
    """Silver's rows are changes, and the view has what they come to: a row a key, or all of its
    versions."""

    refresh: Pace | None = None
    """When the streams refresh it, while they run: `live`, as soon as silver has something new, or
    at most every so often (`30s`, `5m`); unset, they do not."""

    schedule: str | None = None
    """Cron expression of the refresh by Dagster, beside `refresh` or instead; with neither, the
    view is refreshed by hand."""

    expectations: tuple[Expectation, ...] = ()
    """Of the view's rows, over its columns; judged before a refresh commits."""

    checks: tuple[GoldCheck, ...] = ()
    """Of each of the view's tables."""

    @field_validator("keys", mode="before")
    @classmethod
    def _a_list_names_columns(cls, keys: object) -> object:
        if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
            return keys
        refuse_twins("keys", list(keys))
        return {key: key for key in keys}

    @field_validator("expectations")
    @classmethod
    def _a_view_has_nothing_to_quarantine(
        cls, expectations: tuple[Expectation, ...]
    ) -> tuple[Expectation, ...]:
        for expectation in expectations:
            if expectation.action is Action.QUARANTINE or expectation.blocking:
                message = (
                    f"{expectation.name} is of a view, whose rows have no message to quarantine "
                    "and nothing behind them to block\nuse warn, drop or fail"
                )
                raise ValueError(message)
        return expectations

    @model_validator(mode="after")
    def _is_computed_one_way(self) -> Self:
        if self.sql is not None and (self.keys or self.measures):
            message = (
                "keys or measures are given, and sql\ngive keys and measures, or sql, not both"
            )
            raise ValueError(message)
        if self.keyed is not None:
            if self.sql is not None or self.keys or self.measures or self.windows:
                message = "a keyed table has its columns from silver\nleave out what else computes"
                raise ValueError(message)
            return self
        if self.sql is None and not (self.measures and (self.keys or self.windows)):
            message = "\ngive keys and measures, or sql"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _windows_are_of_rows(self) -> Self:
        if self.windows is None:
            return self
        if self.sql is not None:
            message = "windows go with keys and measures, not with sql"
            raise ValueError(message)
        taken = {WINDOW_START, WINDOW_END} & {*self.keys, *self.measures}
        if taken:
            message = f"{min(taken)} is a column that windows bring\ncall it something else"
            raise ValueError(message)
        counting = [check.name for check in self.checks if check.equals_source]
        if counting:
            message = f"{counting[0]} counts all of silver's rows, and open windows have none yet"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _columns_are_unique(self) -> Self:
        both = sorted(set(self.keys) & set(self.measures))
        if both:
            fact = f"named as key and as measure: {', '.join(both)}"
            message = f"{fact}\ngive one of them another name"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _checks_have_names_of_their_own(self) -> Self:
        names = [*(e.name for e in self.expectations), *(check.name for check in self.checks)]
        refuse_twins("expectations and checks", names)
        return self

    @model_validator(mode="after")
    def _silver_is_counted_where_it_is_read(self) -> Self:
        counting = [check.name for check in self.checks if check.equals_source]
        if counting and self.keyed is not None:
            message = f"{counting[0]} counts silver's rows, and a keyed table has fewer"
            raise ValueError(message)
        if counting and not any(source.is_plain for source in self.sources):
            message = f"{counting[0]} counts silver's rows, and the view reads none of its feed's"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _keys_are_told_apart_where_there_are_some(self) -> Self:
        choosy = [e.name for e in self.expectations if e.keys is not None]
        choosy += [check.name for check in self.checks if check.keys is not None]
        if self.is_over_all and choosy:
            message = f"{choosy[0]} is of some keys, and the view is over all\nleave keys out"
            raise ValueError(message)
        return self

    @property
    def is_over_all(self) -> bool:
        """Whether it has one table, of all keys' rows."""
        return self.sql is not None and reads_all(self.sql)

    @property
    def sources(self) -> tuple[QuerySource, ...]:
        """What it reads."""
        return (QuerySource(is_of_key=True),) if self.sql is None else sources_of(self.sql)

    @property
    def reads_more(self) -> bool:
        """Whether it reads other views or other feeds, beside its feed's silver or instead."""
        return not all(source.is_plain for source in self.sources)

    @property
    def key_expressions(self) -> dict[str, str]:
        """By key column, its SQL; a column is quoted, since `current_date` is a function, too."""
        return {name: f"`{sql}`" if name == sql else sql for name, sql in self.keys.items()}

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of its columns; None where only Spark can tell."""
        if self.keyed is not None:
            return None
        if self.sql is not None:
            return columns_of(self.sql)
        of_windows = (WINDOW_START, WINDOW_END) if self.windows else ()
        return (*of_windows, *self.keys, *self.measures)

    def scopes(self, keys: Iterable[str]) -> tuple[str, ...]:
        """What it has a table for: each of these keys, or all of them together."""
        return (EVERY_KEY,) if self.is_over_all else tuple(keys)
