"""Feeds: what a user declares in YAML, as frozen nouns. `feeds.load` reads the files."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from lake_assets.errors import FeedError
from lake_assets.model.base import Identifier, KeyName, Noun
from lake_assets.model.checks import ColumnName, Duration, SilverCheck
from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets.model.layouts import (
    Layout,
    PartitionBy,
    PartitionColumn,
    TableLayout,
    partition_columns,
)
from lake_assets.model.payload import Payload
from lake_assets.model.retention import Age, LayerRetention, SilverRetention
from lake_assets.model.routed import Routed
from lake_assets.model.routes import Route, TableColumns
from lake_assets.model.sources import Source
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import Layer, TableRef, bronze_of, gold_of_all, quarantine_of
from lake_assets.model.transforms import Mask, SelectItem
from lake_assets.model.unique_names import refuse_twins

Trigger = Annotated[Duration, Field(ge=timedelta(milliseconds=100), le=timedelta(hours=1))]
"""Below 100 ms the looks for new rows alone keep a core busy; above an hour it is no stream."""


class Reset(StrEnum):
    """Whether a command may drop a feed's bronze table."""

    PROTECTED = "protected"  # no: the source may have forgotten what is in it
    ALLOWED = "allowed"


class Feed(Noun, Routed):
    """One declared stream, from its source to its gold views."""

    feed: Identifier
    """Its name; part of the names of its bronze and quarantine tables, and of Dagster's assets."""

    source: Source
    """Where its rows come from."""

    payload: Payload
    """How its values are decoded."""

    select: tuple[SelectItem, ...] = ()
    """Columns of silver, as in Spark's `SELECT` over the decoded ones: `*`, `* except (email)`,
    `time as event_time`, `heart_bpm / 60d as heart_hz`, `cast(level as bigint) as level`. Route,
    expectations and views know these columns alone. Each row is computed by itself, and gives the
    same whenever it is; what cannot be computed is null. Unset, all decoded columns are silver's.
    """

    mask: dict[ColumnName, Mask] = Field(default_factory=dict)
    """By column of silver that holds text, how it is hidden before it is written: `hash` (with the
    key of the settings' `masking`; equal texts stay equal), `redact` or `last4`. Route and
    expectations see the text itself; bronze and quarantine keep the value as it came."""

    route: Route | None = None
    """Which table a row goes to; unset, all rows are of one key, which is called as the feed."""

    routes: tuple[Route, ...] = ()
    """In place of `route`, several: a row goes to the table of each key that any of them names,
    once to each. One that reads nothing of a row (null, no header) names none. If one names a key
    that no route knows, or none names any, the row is quarantined as a whole; so is one that an
    expectation of any of its keys has quarantined."""

    columns: TableColumns = TableColumns.SHARED
    """`own`: a key's table has the columns of the messages that go there, and of no others; only
    with `route: {message: true}`. `shared`: the keys' tables all have the columns of all."""

    tables: TableNames = TableNames()
    """What the keys' tables are called."""

    expectations: tuple[Expectation, ...] = ()
    """Of each row, before it is written to silver."""

    checks: tuple[SilverCheck, ...] = ()
    """Of each key's silver table."""

    gold: tuple[GoldView, ...] = ()
    """Views over silver, which refreshes keep up to date."""

    partition_by: PartitionBy = Field(default_factory=dict)
    """Columns of few values by which silver's tables are partitioned, and days of timestamps:
    `date(event_timestamp)`, or `{event_date: date(event_timestamp)}` to name the column that a
    table gets for it. Tables that are there keep their layout until `rebuild silver`."""

    cluster_by: tuple[ColumnName, ...] = ()
    """Columns of silver by which rows are sorted when small files are joined, the first of them
    first: queries for a few values of it skip most of a large file. Tables that lack one do
    without it."""

    retention: SilverRetention | None = None
    """How long silver keeps a row: `90d`, or `{column: event_timestamp, keep: 90d}`; unset, for
    ever. Views that are merged keep what they counted; those computed anew know only what is left.
    """

    layouts: dict[KeyName, Layout] = Field(default_factory=dict)
    """By key whose table is laid out otherwise: `partition_by`, `cluster_by` or `retention` in
    place of the feed's."""

    bronze: LayerRetention = LayerRetention()
    """How long bronze keeps a row. What a row became in silver then stays as it is, whatever is
    rebuilt."""

    quarantine: LayerRetention = LayerRetention()
    """How long a refused row can be requeued."""

    trigger: Trigger | None = None
    """Time between two micro-batches of ingest (`1s`, `500ms`, `5m`); unset, that of the settings.
    Longer makes fewer and larger files and commits, shorter a lower latency."""

    run: str | None = None
    """Cron expression in UTC (`0 * * * *`) of the feed's runs by Dagster: each takes what came
    since the last one and ends. Unset, the streams run the feed without pause. Views with `refresh`
    are refreshed at the end of a run, whatever their pace; `trigger` is not used in one."""

    reset: Reset = Reset.PROTECTED
    """`allowed`: `rebuild bronze` may drop bronze and read the source again. `protected`: it may
    not, since the source may have forgotten what is in bronze."""

    _others: tuple["Feed", ...] = PrivateAttr(default=())
    """Other feeds of the lake, whose tables its views may read."""

    @field_validator("checks")
    @classmethod
    def _checks_have_names_of_their_own(
        cls, checks: tuple[SilverCheck, ...], info: ValidationInfo
    ) -> tuple[SilverCheck, ...]:
        """Expectations are checks of silver, too, where they are shown."""
        names = [check.name for check in checks]
        refuse_twins("checks", names)
        expectations = {e.name for e in info.data.get("expectations", ())}
        refuse_twins("expectations and checks", [*names, *expectations])
        return checks

    @model_validator(mode="after")
    def _silver_tells_how_old_rows_are(self) -> Self:
        kept = (self.retention, *(layout.retention for layout in self.layouts.values()))
        if not self.source.origin.time and any(one and not one.column for one in kept):
            message = "retention: the source does not tell when it got a row, so name a `column`"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _rows_can_be_routed(self) -> Self:
        self.ensure_routable()
        return self

    @model_validator(mode="after")
    def _layouts_are_of_its_keys(self) -> Self:
        strange = sorted(set(self.layouts) - {*self.keys})
        if strange and not self.creates_keys:
            keys = ", ".join(self.keys)
            message = f"layouts: {strange[0]} is no key of this feed, which has {keys}"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_twins("expectations", [e.name for e in self.expectations])
        refuse_twins("gold", [v.name for v in self.gold])
        refuse_twins("cluster_by", list(self.cluster_by))
        return self

    def beside(self, feeds: Iterable["Feed"]) -> Self:
        """The same feed, with others of the lake that its views may read."""
        copied = self.model_copy()
        # Without theirs, so that two feeds that read each other are no endless structure.
        others = tuple(feed.beside(()) for feed in feeds if feed.feed != self.feed)
        copied._others = others  # noqa: SLF001 - our own, of the copy
        return copied

    @property
    def others(self) -> tuple["Feed", ...]:
        """The other feeds of the lake, as far as they were made known."""
        return self._others

    def feed_of(self, name: str) -> "Feed":
        """The feed that one of its views reads; empty is the feed itself.

        Raises:
            FeedError: it is not declared.
        """
        for feed in (self, *self._others):
            if name in {"", feed.feed}:
                return feed
        known = ", ".join(feed.feed for feed in self._others) or "none"
        fact = f"reads feed {name!r}, which is not declared"
        raise FeedError(f"feed {self.feed!r}", fact, f"Other feeds are {known}")

    def view(self, name: str) -> GoldView:
        """One of its views.

        Raises:
            FeedError: it has none of that name.
        """
        for view in self.gold:
            if view.name == name:
                return view
        names = ", ".join(view.name for view in self.gold) or "none"
        raise FeedError(f"feed {self.feed!r}", f"has no gold view {name!r}", f"It has {names}")

    @property
    def is_triggered(self) -> bool:
        """Whether it is run on a schedule, and not by the streams without pause."""
        return self.run is not None

    def silver_table(self, key: str) -> TableRef:
        """The silver table of a key."""
        return self.tables.silver_of(key)

    @property
    def lets_rows_go(self) -> bool:
        """Whether rows of any table leave for their age."""
        ages = (self.retention, self.bronze.retention, self.quarantine.retention)
        of_keys = (layout.retention for layout in self.layouts.values())
        return any(age is not None for age in (*ages, *of_keys))

    @property
    def is_partitioned(self) -> bool:
        """Whether any silver table of it is."""
        return any(self.partitions)

    @property
    def partition_days(self) -> tuple[str, ...]:
        """Names of the columns that a silver table has for days that it is partitioned by."""
        days = (column.name for by in self.partitions for column in by if column.is_day)
        return tuple(dict.fromkeys(days))

    @property
    def partitions(self) -> tuple[tuple[PartitionColumn, ...], ...]:
        """What its silver tables are partitioned by: most of them, and those of some keys."""
        return tuple(self.layout_of(key).partition_by for key in (None, *self.layouts))

    def layout_of(self, key: str | None) -> TableLayout:
        """How a key's silver table is laid out; of None, one that has no layout of its own."""
        common = TableLayout(
            partition_by=partition_columns(self.partition_by),
            cluster_by=self.cluster_by,
            retention=self.retention,
        )
        return common.but(self.layouts.get(key or ""))

    def layout_in(self, table: TableRef) -> TableLayout:
        """As `layout_of`, by the table."""
        return self.layout_of(self.tables.key_of_silver(table.name))

    def age_of(self, table: TableRef) -> Age | None:
        """How old the rows of one of its tables may become; None if they stay for ever."""
        origin = self.source.origin
        kept = self.layout_in(table).retention if table.layer is Layer.SILVER else None
        if kept is not None:
            return _age(kept.keep, kept.column, origin.in_silver.time)
        if table == bronze_of(self.feed):
            return _age(self.bronze.retention, origin.time, "ingested_at")
        if table == quarantine_of(self.feed):
            return _age(self.quarantine.retention, origin.time, "quarantined_at")
        return None

    def gold_table(self, view: GoldView, scope: str) -> TableRef:
        """The table of a view for a key, or for `EVERY_KEY` if it is over all."""
        if view.is_over_all:
            return gold_of_all(self.feed, view.name)
        return self.tables.gold_of(scope, view.name)


def supervised(feeds: Iterable[Feed]) -> tuple[Feed, ...]:
    """Those that the streams run without pause."""
    return tuple(feed for feed in feeds if not feed.is_triggered)


def _age(keep: timedelta | None, *columns: str | None) -> Age | None:
    return None if keep is None else Age(keep=keep, columns=tuple(name for name in columns if name))
