"""Feeds: what a user declares in YAML, as frozen nouns. `feeds.load` reads the files."""

from collections.abc import Iterable
from typing import Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from lake_assets.errors import FeedError
from lake_assets.model.base import Identifier, KeyName
from lake_assets.model.checks import ColumnName, SilverCheck
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.expectations import Expectation
from lake_assets.model.external_tables import ExternalName, ExternalTable
from lake_assets.model.freshness import Fresh
from lake_assets.model.gold_views import GoldView
from lake_assets.model.grants import Grant, ensure_grants_fit
from lake_assets.model.keyed import Keyed
from lake_assets.model.keyed_views import keyed_parts
from lake_assets.model.laid_out import LaidOut
from lake_assets.model.layouts import Columns, Layout, PartitionBy
from lake_assets.model.payload import Payload
from lake_assets.model.retention import LayerRetention, Reset, SilverRetention
from lake_assets.model.routed import Routed
from lake_assets.model.routes import Route, TableColumns
from lake_assets.model.scheduled import Scheduled, Trigger
from lake_assets.model.selects import Masks, SelectedByKey, Selects
from lake_assets.model.sinks import Sink
from lake_assets.model.sources import Source
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import TableRef, gold_of_all
from lake_assets.model.tombstones import refuse_unmarked_tombstones, tombstone_columns
from lake_assets.model.transforms import (
    FunctionName,
    Mask,
    SelectItem,
    refuse_beside_elements,
    with_implied,
)
from lake_assets.model.unique_names import refuse_twins
from lake_assets.model.view_sinks import ensure_sinks_fit
from lake_assets.model.without_silver import Silver


class Feed(Fresh, Routed, LaidOut, Scheduled, SelectedByKey):
    """One declared stream, from its source to its gold views."""

    feed: Identifier
    """Its name; part of the names of its bronze and quarantine tables, and of Dagster's assets."""

    source: Source
    """Where its rows come from."""

    payload: Payload
    """How its values are decoded."""

    silver: Silver = Silver.TABLES
    """`none`: it has no tables but bronze, whose rows go to its sinks, `from: bronze`."""
    where: str | None = Field(default=None, min_length=1)
    """With `into`, which of its rows go there: a condition over silver's columns as in Spark SQL,
    `at < timestamp'2026-03-01'`. Others, and those of which it is null, are dropped and counted."""
    into: Identifier | None = None
    """Another feed whose silver tables this one's rows go into, beside its own rows; they have the
    feed's name in `_feed`. Source, payload, bronze and quarantine are this feed's; how silver looks
    and what is made of it (`route`, `tables`, `expectations`, `checks`, `gold`, `sinks`, `layouts`,
    `partition_by`, `cluster_by`, `bloom_filters`, `retention`) is declared there. Unset, it has its
    own tables."""
    transform: FunctionName | None = None
    """A function of Python, `my_package.enrich:add_country`: from decoded rows, a
    `pyarrow.RecordBatch`, to one of as many rows in the same order, whose columns `select` and all
    else then know. Pure: a row gives the same whenever, and beside whichever others, it comes. Rows
    for which it raises are quarantined (`transform_failed`)."""

    select: tuple[SelectItem, ...] = ()
    """Columns of silver, as in Spark's `SELECT` over the decoded ones: `*`, `* except (email)`,
    `time as event_time`, `heart_bpm / 60d as heart_hz`, `cast(level as bigint) as level`. Route,
    expectations and views know these columns alone. Each row is computed by itself, and gives the
    same whenever it is; what cannot be computed is null. One item may make a row of each element of
    an array: `explode(items) as item`. Unset, all decoded columns are silver's."""

    mask: dict[ColumnName, Mask] = Field(default_factory=dict)
    """By column of silver that holds text, how it is hidden before it is written: `hash` (with the
    key of the settings' `masking`; equal texts stay equal), `redact` or `last4`. Route and
    expectations see what is written; bronze and quarantine keep the value as it came."""

    selects: Selects = Field(default_factory=dict)
    """By key, what becomes of its rows once they are routed, as `select` says it, of the columns
    that this gave: `{poker: ["* except (ante)", "ante / 100d as stake"]}`. Each table then has what
    its own rows have; without an item here, all that `select` gave."""

    masks: Masks = Field(default_factory=dict)
    """By key, a `mask` of its own columns, beside the feed's: `{poker: {mail: hash}}`."""

    route: Route | None = None
    """Which table a row goes to; unset, all rows are of one key, which is called as the feed."""

    routes: tuple[Route, ...] = ()
    """In place of `route`, several: a row goes to the table of each key that any of them names,
    once to each. One that reads nothing of a row (null, no header) names none. If one names a key
    that no route knows, or none names any, the row is quarantined as a whole; so is one that an
    expectation of any of its keys has quarantined."""

    columns: TableColumns = TableColumns.SHARED
    """`own`: a key's table has the columns of the messages that go there, and of no others; only
    with `route: {message: true}`, and not beside `transform`, `explode`, `keyed` or `into`.
    `shared`: the keys' tables all have the columns of all."""

    tables: TableNames = TableNames()
    """What the keys' tables are called."""

    expectations: tuple[Expectation, ...] = Field(default=(), validate_default=True)
    """Of each row, before it is written to silver. Where `select` has `explode`, `posexplode` or
    `inline`, one more is there unless it is declared: `has_elements`, which drops values without
    elements. A value whose array did not fit its column is none: it goes to quarantine."""

    deduplicate: Deduplicate | None = None
    """For producers that send an event again: `{key: [event_id], within: 1h}` lets the first row of
    each event into its key's table, of those that met the expectations. The others are counted, and
    `lake-assets trace` tells of which row one is a duplicate."""

    checks: tuple[SilverCheck, ...] = ()
    """Of each key's silver table."""

    gold: tuple[GoldView, ...] = ()
    """Views over silver, which refreshes keep up to date."""

    external: dict[ExternalName, ExternalTable] = Field(default_factory=dict)
    """Tables outside the lake that its views in SQL read as `external.<name>`, where they are."""

    sinks: tuple[Sink, ...] = ()
    """Where rows of its tables are sent to."""

    grants: tuple[Grant, ...] = ()
    """Who may read which of its tables, where a catalogue, or AWS, asks that."""

    keyed: Keyed | None = None
    """That silver's rows are changes: short for a live view `current` (`history: 1`) or `history`
    with this `keyed`. Rows without `by` or `order` go to quarantine."""

    partition_by: PartitionBy = Field(default_factory=dict)
    """Columns of few values by which silver is partitioned, and days: `date(at)`, or `{day:
    date(at)}` to name the column. Tables keep their layout until `rebuild silver`."""

    cluster_by: Columns = ()
    """Columns of silver by which rows are sorted when small files are joined, first by the first:
    queries for few values of it skip most of a large file. Tables that lack one do without it."""

    bloom_filters: Columns = ()
    """Columns of texts, numbers or bytes whose joined files get Bloom filters, for few values."""
    retention: SilverRetention | None = None
    """How long silver keeps a row: `90d`, or `{column: event_timestamp, keep: 90d}`; unset, for
    ever. Merged views keep what they counted; those computed anew know only what is left."""

    layouts: dict[KeyName, Layout] = Field(default_factory=dict)
    """By key whose table is laid out otherwise: `partition_by` to `retention`, in their place."""

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
    since the last one and ends. `manual`: it runs when asked, by `lake-assets backfill` or its job
    in Dagster. Unset, the streams run the feed without pause. Views with `refresh` are refreshed
    at the end of a run, whatever their pace; `trigger` is not used in one."""

    reset: Reset = Reset.PROTECTED
    """`allowed`: `rebuild bronze` may drop bronze and read the source again. `protected`: it may
    not, since the source may have forgotten what is in bronze."""

    _others: tuple["Feed", ...] = PrivateAttr(default=())
    """Other feeds of the lake, whose tables its views may read."""

    @field_validator("expectations")
    @classmethod
    def _values_have_elements(
        cls, expectations: tuple[Expectation, ...], info: ValidationInfo
    ) -> tuple[Expectation, ...]:
        """What has none is dropped as if that were asked for: counted, and shown."""
        return with_implied(info.data.get("select", ()), expectations)

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
        message = "{}: the source does not tell when it got a row\nname a `{}`"
        if not self.source.origin.time and any(one and not one.column for one in kept):
            raise ValueError(message.format("retention", "column"))
        if not self.source.origin.time and self.deduplicate and not self.deduplicate.time:
            raise ValueError(message.format("deduplicate", "time"))
        return self

    @model_validator(mode="after")
    def _rows_can_be_routed(self) -> Self:
        self.ensure_routable()
        self.ensure_selectable()
        return self

    @model_validator(mode="after")
    def _elements_are_told_apart(self) -> Self:
        views = [view for view in self.gold if view.keyed]
        names = ("routes", "deduplicate", "into", "keyed")
        told = {name: getattr(self, name) for name in names} | {"a keyed view": views}
        refuse_beside_elements(self.select, told)
        return self

    @model_validator(mode="after")
    def _keyed_tables_are_views(self) -> Self:
        has_ages = self.retention or any(layout.retention for layout in self.layouts.values())
        whose = (self.source.origin, self.all_routes)
        found = keyed_parts(self.keyed, self.gold, *whose, has_ages=bool(has_ages))
        refuse_unmarked_tombstones(found.views, self.select, self.transform)
        if self.deduplicate and tombstone_columns(found.views):
            message = "deduplicate: it would take a tombstone for a copy of what it deletes"
            raise ValueError(message)
        if found.views:
            # Frozen for everybody else; this is still its making.
            expectations = (*self.expectations, *found.missing_from(self.expectations))
            self.__dict__.update(gold=found.views, expectations=expectations)
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_twins("expectations", [e.name for e in self.expectations])
        refuse_twins("views", [v.name for v in self.gold])
        ensure_sinks_fit(self.sinks, self.source, self.gold, key_column=self.view_key_column)
        without = self.layers_without_tables
        ensure_grants_fit(self.grants, None if self.creates_keys else self.keys, without)
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

    def silver_table(self, key: str) -> TableRef:
        """The silver table of a key."""
        return self.tables.silver_of(key)

    def gold_table(self, view: GoldView, scope: str) -> TableRef:
        """The table of a view for a key, or for `EVERY_KEY` if it is over all."""
        if view.is_over_all:
            return gold_of_all(self.feed, view.name)
        return self.tables.gold_of(scope, view.name)


def supervised(feeds: Iterable[Feed]) -> tuple[Feed, ...]:
    """Those that the streams run without pause."""
    return tuple(feed for feed in feeds if not feed.is_triggered)
