"""What keeps keyed tables, ours and `MERGE` as anybody would write it, and whether rows differ.

They read the changes from the same Delta tables; AUTO CDC is in `auto_cdc_peer`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from benchmarks.ground import timed
from lake_assets.gold.keyed_refresh import refresh_keyed
from lake_assets.gold.refresh import refresh
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext

ROW = ("id", "version", "value")
"""Columns of the rows that are compared."""

_MERGED = pa.schema(
    [
        ("id", pa.int64()),
        ("version", pa.int64()),
        ("value", pa.string()),
        ("deleted", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class Ours:
    """The feed's keyed table `current`, in a warm session."""

    session: SparkSession
    feed: Feed
    context: LakeContext

    def refresh(self) -> float:
        """Seconds of the refreshes of both views, the table and what it remembers of deletes."""
        keys = self.feed.keys

        def act() -> None:
            feed, context = self.feed, self.context
            refresh(self.session, feed, feed.view("current_deletes"), keys, context)
            refresh_keyed(self.session, feed, feed.view("current"), keys, context)

        return timed(act, lambda: False)

    def rows(self, name: str) -> pa.Table:
        """A table's rows."""
        table = self.feed.gold_table(self.feed.view("current"), name)
        return DeltaTable(self.context.lake.root.as_path() / table.relative).to_pyarrow_table()


@dataclass(frozen=True, slots=True)
class Merge:
    """`MERGE INTO` in `foreachBatch`, a query a table; deleted rows stay, marked."""

    session: SparkSession
    settings: Settings
    changes: Mapping[str, Path]

    @property
    def _folder(self) -> Path:
        return self.settings.lake_dir / "merge"

    def refresh(self) -> float:
        """Seconds until all queries have taken what is new, one after the other."""
        began = perf_counter()
        for name, place in self.changes.items():
            target = self._folder / name
            if not target.exists():
                write_deltalake(target, pa.Table.from_pylist([], schema=_MERGED))
            writer = self.session.readStream.format("delta").load(str(place)).writeStream
            query = (
                writer.foreachBatch(partial(_merge, target=target))
                .option("checkpointLocation", str(self._folder / "checkpoints" / name))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        return perf_counter() - began

    def rows(self, name: str) -> pa.Table:
        """A table's rows."""
        found = DeltaTable(self._folder / name).to_pyarrow_table()
        return found.filter(pc.invert(found["deleted"])).select(list(ROW))


def _merge(batch: DataFrame, _number: int, target: Path) -> None:
    batch.createOrReplaceTempView("changes")
    batch.sparkSession.sql(
        f"""
        merge into delta.`{target}` t using (
            select id, max(version) version, max_by(value, version) value,
                max_by(op = 'D', version) deleted
            from changes group by id
        ) c on t.id = c.id
        when matched and c.version > t.version then update set *
        when not matched then insert *
        """  # noqa: S608 - our own path
    )


def differing(tables: Sequence[pa.Table]) -> bool:
    """Whether tables have other rows than the first."""
    keys = [(name, "ascending") for name in ROW]
    first, *others = [table.select(list(ROW)).sort_by(keys).combine_chunks() for table in tables]
    return any(other.cast(first.schema) != first for other in others)
