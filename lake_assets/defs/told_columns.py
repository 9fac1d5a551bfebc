"""Which columns Dagster was told of, so that a materialization has them only where they are news.

A schema is most of what a materialization takes in Dagster's storage. So an event of a table has it
when it changes, and else once a day: the event that had it is deleted by age one day. The page of
an asset shows the newest event of any partition, and if that has no columns, those that the code
location was loaded with, however long ago: so the last event of an asset in a report has them, too.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg

from lake_assets.defs.internals.materializations import latest_materializations
from lake_assets.defs.metadata import COLUMNS, COLUMNS_DIGEST, Metadata


@dataclass(frozen=True, kw_only=True, slots=True)
class TableEvent:
    """A table that Dagster is told of."""

    asset: dg.AssetKey
    partition: str | None
    metadata: Metadata
    """With the columns, if there are any."""


class ToldColumns:
    """Digests of the columns that were told, by asset and partition.

    One that is new has told nothing, as in a new run: whatever Dagster lost, it is told again.
    """

    def __init__(self) -> None:
        """Nothing was told."""
        self._digests: dict[tuple[dg.AssetKey, str | None], str] = {}

    def look_up(
        self,
        instance: dg.DagsterInstance,
        asset: dg.AssetKey,
        partitions: Collection[str],
        *,
        now: datetime,
    ) -> None:
        """Take for told what today's newest events of these partitions say, by their digests.

        For a short run, which would tell all anew. Days are those of UTC; a clock that was set
        makes columns be told once more.
        """
        for partition, latest in latest_materializations(instance, asset, partitions).items():
            digest = latest.event.metadata.get(COLUMNS_DIGEST)
            day = datetime.fromtimestamp(latest.timestamp, UTC).date()
            if digest is not None and day == now.date():
                self._digests[asset, partition] = str(digest.value)

    def materializations(self, events: Sequence[TableEvent]) -> Iterator[dg.AssetMaterialization]:
        """The events of one report, in this order, without the columns that are no news."""
        last = {event.asset: event for event in events}
        for event in events:
            metadata = event.metadata
            digest = metadata.get(COLUMNS_DIGEST)
            if digest is not None:
                place = (event.asset, event.partition)
                is_told = self._digests.get(place) == digest.value
                self._digests[place] = str(digest.value)
                if is_told and last[event.asset] is not event:
                    metadata = {name: v for name, v in metadata.items() if name != COLUMNS}
            yield dg.AssetMaterialization(event.asset, partition=event.partition, metadata=metadata)
