"""Feeds: what a user declares in YAML, as frozen nouns. `feeds.load` reads the files."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from lake_assets.model.base import Identifier, KeyName, Noun
from lake_assets.model.checks import Duration, GoldCheck, SilverCheck
from lake_assets.model.payload import Payload
from lake_assets.model.queries import columns_of, reads_all
from lake_assets.model.routes import Route, Unknown
from lake_assets.model.sources import Source
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import EVERY_KEY, TableRef, gold_of_all


class Action(StrEnum):
    """What becomes of a row that violates an expectation."""

    WARN = "warn"  # kept and counted
    DROP = "drop"  # dropped and counted
    QUARANTINE = "quarantine"  # to the quarantine table, with the expectation's name
    FAIL = "fail"  # the stream stops before anything of the row's batch is committed


MAX_SHARE = 0.05
"""One row in twenty: stray bad rows are what quarantine is for, and a producer that broke is soon
above it. Of a batch with fewer rows than that a single one is an error."""


class Expectation(Noun):
    """A named Spark SQL condition over decoded columns; null counts as violated."""

    name: Identifier
    """Unique among a feed's or a view's expectations and checks."""

    sql: str = Field(min_length=1)
    """Condition that a good row fulfils."""

    action: Action = Action.WARN
    """What becomes of a row that violates it: `warn` keeps and counts it, `drop` drops and counts
    it, `quarantine` moves it to the quarantine table; with `fail` the stream stops before anything
    of the row's batch is committed."""

    keys: tuple[KeyName, ...] | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("keys", "games")
    )
    """Keys whose rows are judged; all of them if unset."""

    max_share: float | None = Field(default=None, ge=0, le=1)
    """Of `quarantine`: the share of a batch's rows above which it is an error, and up to which a
    warning; unset, 0.05."""

    blocking: bool = False
    """Whether a key that fails it keeps its gold views as they are until it passes again. With
    `quarantine` it fails for that above `max_share` only: the rows below it are not in silver."""

    @model_validator(mode="after")
    def _share_is_of_what_is_quarantined(self) -> Self:
        if self.max_share is not None and self.action is not Action.QUARANTINE:
            message = f"max_share is of `action: quarantine`, not of {self.action}"
            raise ValueError(message)
        return self

    @property
    def allowed_share(self) -> float:
        """`max_share`, or what it is by default."""
        return MAX_SHARE if self.max_share is None else self.max_share

    def concerns(self, key: str) -> bool:
        """Whether the rows of a key are judged."""
        return self.keys is None or key in self.keys


def _readable(sql: str) -> str:
    reads_all(sql)  # raises what is wrong with it
    return sql


class GoldView(Noun):
    """A materialized view: `keys` and `measures`, or free `sql`.

    With keys and measures it has a table a key, one row for each combination of the keys. Free SQL
    over `silver` has a table a key as well; over `silver_all`, all keys' rows, it has one table.
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

    sql: Annotated[str, AfterValidator(_readable)] | None = None
    """A Spark SQL query over `silver` or `silver_all`; its columns are the view's. What it computes
    from the clock or by chance changes only when silver does."""

    schedule: str | None = None
    """Cron expression of the refresh; unset, the view is refreshed by hand."""

    expectations: tuple[Expectation, ...] = ()
    """Of the view's rows, over its columns; judged before a refresh commits."""

    checks: tuple[GoldCheck, ...] = ()
    """Of each of the view's tables."""

    @field_validator("keys", mode="before")
    @classmethod
    def _a_list_names_columns(cls, keys: object) -> object:
        if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
            return keys
        _refuse_twins("keys", list(keys))
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
                    "and nothing behind them to block: use warn, drop or fail"
                )
                raise ValueError(message)
        return expectations

    @model_validator(mode="after")
    def _is_computed_one_way(self) -> Self:
        if self.sql is not None and (self.keys or self.measures):
            message = "give keys and measures, or sql, not both"
            raise ValueError(message)
        if self.sql is None and not (self.keys and self.measures):
            message = "give keys and measures, or sql"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _columns_are_unique(self) -> Self:
        both = sorted(set(self.keys) & set(self.measures))
        if both:
            message = f"named as key and as measure: {', '.join(both)}"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _checks_have_names_of_their_own(self) -> Self:
        names = [*(e.name for e in self.expectations), *(check.name for check in self.checks)]
        _refuse_twins("expectations and checks", names)
        return self

    @model_validator(mode="after")
    def _keys_are_told_apart_where_there_are_some(self) -> Self:
        choosy = [e.name for e in self.expectations if e.keys is not None]
        choosy += [check.name for check in self.checks if check.keys is not None]
        if self.is_over_all and choosy:
            message = f"{choosy[0]} is of some keys, and the view is over all: leave keys out"
            raise ValueError(message)
        return self

    @property
    def is_over_all(self) -> bool:
        """Whether it has one table, of all keys' rows."""
        return self.sql is not None and reads_all(self.sql)

    @property
    def key_expressions(self) -> dict[str, str]:
        """By key column, its SQL; a column is quoted, since `current_date` is a function, too."""
        return {name: f"`{sql}`" if name == sql else sql for name, sql in self.keys.items()}

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of its columns; None where only Spark can tell."""
        return (*self.keys, *self.measures) if self.sql is None else columns_of(self.sql)

    def scopes(self, keys: Iterable[str]) -> tuple[str, ...]:
        """What it has a table for: each of these keys, or all of them together."""
        return (EVERY_KEY,) if self.is_over_all else tuple(keys)


Trigger = Annotated[Duration, Field(ge=timedelta(milliseconds=100), le=timedelta(hours=1))]
"""Below 100 ms the looks for new rows alone keep a core busy; above an hour it is no stream."""


class Reset(StrEnum):
    """Whether a command may drop a feed's bronze table."""

    PROTECTED = "protected"  # no: the source may have forgotten what is in it
    ALLOWED = "allowed"


class Feed(Noun):
    """One declared stream, from its source to its gold views."""

    feed: Identifier
    """Its name; part of the names of its bronze and quarantine tables, and of Dagster's assets."""

    source: Source
    """Where its rows come from."""

    payload: Payload
    """How its values are decoded."""

    route: Route | None = None
    """Which table a row goes to; unset, all rows are of one key, which is called as the feed."""

    tables: TableNames = TableNames()
    """What the keys' tables are called."""

    expectations: tuple[Expectation, ...] = ()
    """Of each row, before it is written to silver."""

    checks: tuple[SilverCheck, ...] = ()
    """Of each key's silver table."""

    gold: tuple[GoldView, ...] = ()
    """Views over silver, which refreshes keep up to date."""

    trigger: Trigger | None = None
    """Time between two micro-batches of ingest (`1s`, `500ms`, `5m`); unset, that of the settings.
    Longer makes fewer and larger files and commits, shorter a lower latency."""

    reset: Reset = Reset.PROTECTED
    """`allowed`: `rebuild bronze` may drop bronze and read the source again. `protected`: it may
    not, since the source may have forgotten what is in bronze."""

    @field_validator("checks")
    @classmethod
    def _checks_have_names_of_their_own(
        cls, checks: tuple[SilverCheck, ...], info: ValidationInfo
    ) -> tuple[SilverCheck, ...]:
        """Expectations are checks of silver, too, where they are shown."""
        names = [check.name for check in checks]
        _refuse_twins("checks", names)
        expectations = {e.name for e in info.data.get("expectations", ())}
        _refuse_twins("expectations and checks", [*names, *expectations])
        return checks

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        _refuse_twins("expectations", [e.name for e in self.expectations])
        _refuse_twins("gold", [v.name for v in self.gold])
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """The declared keys; without a route the one key there is."""
        return (self.feed,) if self.route is None else self.route.keys

    @property
    def creates_keys(self) -> bool:
        """Whether a key that is not declared gets its tables with its first row."""
        return self.route is not None and self.route.unknown is Unknown.CREATE

    @property
    def route_column(self) -> str | None:
        """Silver's column that names a row's key; None without a route."""
        return None if self.route is None else self.route.column

    def silver_table(self, key: str) -> TableRef:
        """The silver table of a key."""
        return self.tables.silver_of(key)

    def gold_table(self, view: GoldView, scope: str) -> TableRef:
        """The table of a view for a key, or for `EVERY_KEY` if it is over all."""
        if view.is_over_all:
            return gold_of_all(self.feed, view.name)
        return self.tables.gold_of(scope, view.name)


def _refuse_twins(kind: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"two {kind} are called {', '.join(twice)}"
        raise ValueError(message)
