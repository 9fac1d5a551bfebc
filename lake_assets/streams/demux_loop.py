"""Demux's loop: bronze's log followed from where silver's own commits say that demux is.

One batch at a time, as plain Spark jobs in the caller's thread: `feed_streams.FeedStreams` steps
it, woken by ingest. What a batch does is `silver.demux`' work; what is done about one that was cut
off, `silver.recovery`'s.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic

from pyspark.sql import SparkSession

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.increments import Increment, next_increment
from lake_assets.delta.origins import Before, NotIn
from lake_assets.delta.source_offsets import furthest, offsets_of_rows
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Span
from lake_assets.model.tables import TableRef, bronze_of, waiting_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_position import POSITION, Position, batch_of, demux_app
from lake_assets.silver.recovery import Recovery
from lake_assets.silver.rows import bronze_names
from lake_assets.spark.scan import ScannedFile, rows_in, scan
from lake_assets.storage.store import Store
from lake_assets.streams.triggers import tasks_of

_RENEW_EVERY_S = 86_400.0
"""Seconds between two looks whether a quiet feed's position is in the newest commit; logs are kept
for 30 days by default."""


def tables_of_silver(lake: Store, feed: Feed) -> list[TableRef]:
    """The tables that batches of demux write, quarantine aside."""
    return [*map(feed.silver_table, keys_found(lake, feed)), waiting_of(feed.feed)]


@dataclass(kw_only=True)
class Follower:
    """Takes what comes into a feed's bronze to silver, batch by batch."""

    session: SparkSession
    demux: Demux
    recovery: Recovery
    max_bytes: int
    """Of bronze's files in a batch, after which no further version of bronze is taken."""

    _renewed_at: float = field(default_factory=monotonic)
    _position: Position | None = None
    _numbers: dict[TableRef, int] = field(default_factory=dict)

    def step(self) -> bool:
        """Take the next batch; False if nothing came. The first step recovers first.

        Raises:
            StreamError: silver's tables do not fit together, or an expectation fails.
            LakeError: the lake cannot be read or written.
        """
        self.recover()
        position, table = self._position or Position(), bronze_of(self._feed.feed)
        source = self._feed.source
        # Bronze may have rows of what the feed read before, under another name.
        names = dict.fromkeys([source.name, *sorted(name for name, _ in position.offsets)])
        log = log_of(self._lake, table)
        increment = next_increment(
            log,
            [source.named(name) for name in names],
            position.bronze,
            taken=position.offsets,
            max_bytes=self.max_bytes,
        )
        if increment is None:
            self._renew(position)
            return False
        new_offsets = increment.offsets if increment.files else {}
        if increment.files and not new_offsets:  # bronze of another release or engine
            new_offsets = offsets_of_rows(log, increment.files, source.origin)
        offsets = furthest([position.offsets, new_offsets])
        reached = replace(position, bronze=increment.until, offsets=offsets)
        self._position = self._take(position, reached, increment) if increment.files else reached
        return True

    def _renew(self, position: Position) -> None:
        """Keep the position where the log does not forget it, though no batch comes for weeks."""
        if monotonic() - self._renewed_at > _RENEW_EVERY_S:
            self._position = self.recovery.renewed(position)
            self._renewed_at = monotonic()

    def recover(self) -> None:
        """Finish or undo a batch that was cut off; raises as `step`."""
        if self._position is None:
            self._position = self._recovered()

    def drain(self) -> None:
        """Take all that there is; raises as `step`."""
        while self.step():
            pass

    @property
    def _feed(self) -> Feed:
        return self.demux.feed

    @property
    def _lake(self) -> Store:
        return self.demux.context.lake

    def _recovered(self) -> Position:
        bronze = self.demux.context.committer.fresh(bronze_of(self._feed.feed))
        recovered = self.recovery.run(tables_of_silver(self._lake, self._feed), bronze)
        self._numbers = dict(recovered.numbers)
        return recovered.position

    def _take(self, position: Position, reached: Position, found: Increment) -> Position:
        number = position.number + 1
        numbers: dict[TableRef, int] = {}
        last = reached

        def record(tables: Iterable[TableRef]) -> Mapping[str, str]:
            nonlocal numbers, last
            numbers = self._numbers | dict.fromkeys(tables, number)
            last = replace(reached, number=number, tables=checksum(numbers))
            return {POSITION: last.to_json()}

        bronze, origin = bronze_of(self._feed.feed), self._feed.source.origin
        log = log_of(self._lake, bronze)
        # Versions that only added files deleted no rows.
        kept = {} if found.is_exact else kept_rows(self.demux.context.committer.fresh(bronze))
        files = [
            ScannedFile(file=place, size=file.size, kept=kept.get(place))
            for file in found.files
            for place in [log.data_file(file.path)]
        ]
        cores = self.session.sparkContext.defaultParallelism
        rows = scan(
            self.session,
            self._lake,
            files,
            ("value", *bronze_names(origin)),
            tasks=tasks_of(rows_in(self._lake, files), self.demux.tables, cores),
            keep=None if found.is_exact else NotIn(Before(position.offsets, origin)),
        )
        span = Span(
            query=f"{demux_app(self._feed.feed)}:{position.bronze_id}",
            version_from=position.bronze.version + 1,
            version_to=found.until.version + 1,
        )
        self.demux(rows, batch_of(self._feed.feed, number), record, span)
        self._numbers = numbers
        return last
