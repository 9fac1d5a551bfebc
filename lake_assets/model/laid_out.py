"""What follows for a feed from how its tables are laid out, and how long they keep rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lake_assets.model.layouts import PartitionColumn, TableLayout, partition_columns
from lake_assets.model.retention import Age
from lake_assets.model.tables import (
    Layer,
    TableRef,
    bronze_of,
    deliveries_of,
    duplicates_of,
    quarantine_of,
)

if TYPE_CHECKING:
    from lake_assets.model.layouts import Layout, PartitionBy
    from lake_assets.model.retention import LayerRetention, SilverRetention
    from lake_assets.model.sinks import Sink
    from lake_assets.model.sources import Source
    from lake_assets.model.table_names import TableNames


class LaidOut:
    """The part of `model.feeds.Feed` that its layouts and retentions decide."""

    if TYPE_CHECKING:
        feed: str
        source: Source
        tables: TableNames
        partition_by: PartitionBy
        cluster_by: tuple[str, ...]
        bloom_filters: tuple[str, ...]
        layouts: Mapping[str, Layout]
        retention: SilverRetention | None
        bronze: LayerRetention
        quarantine: LayerRetention
        sinks: tuple[Sink, ...]

    @property
    def lets_rows_go(self) -> bool:
        """Whether rows of any table leave for their age."""
        ages = (self.retention, self.bronze.retention, self.quarantine.retention)
        of_keys = (layout.retention for layout in self.layouts.values())
        of_sinks = (sink.retention for sink in self.sinks)
        return any(age is not None for age in (*ages, *of_keys, *of_sinks))

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
            bloom_filters=self.bloom_filters,
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
            return Age.of(kept.keep, kept.column, origin.in_silver.time)
        if table == bronze_of(self.feed):
            return Age.of(self.bronze.retention, origin.time, "ingested_at")
        if table == quarantine_of(self.feed):
            return Age.of(self.quarantine.retention, origin.time, "quarantined_at")
        if table == duplicates_of(self.feed):
            return Age.of(self.quarantine.retention, origin.time, "dropped_at")
        sinks = {deliveries_of(self.feed, sink.name): sink for sink in self.sinks}
        return Age.of(sinks[table].retention, "time") if table in sinks else None
