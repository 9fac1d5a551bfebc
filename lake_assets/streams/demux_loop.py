"""Demux's loop: bronze's log followed from where silver's own commits say that demux is.

One batch at a time, as plain Spark jobs in the caller's thread: `feed_streams.FeedStreams` steps
it, woken by ingest. What a batch does is `silver.demux`' work; what is done about one that was cut
off, `silver.recovery`'s.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from time import monotonic

from pyspark.sql import SparkSession

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.commit import Batch
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.increments import Increment, next_increment
from lake_assets.delta.origins import Before, NotIn
from lake_assets.delta.source_offsets import furthest, offsets_of_rows
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.transaction_numbers import checksum
from lake_assets.errors import ColumnsChangedError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Span, Stage
from lake_assets.model.tables import TableRef, bronze_of, duplicates_of, erased_of, waiting_of
from lake_assets.runtime.log_lines import about
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_commits import Reached
from lake_assets.silver.demux_job import Job
from lake_assets.silver.demux_position import POSITION, Position, batch_of, demux_app
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.recovery import Recovery
from lake_assets.silver.rows import demux_names
from lake_assets.spark.scan import Rows, ScannedFile, rows_in, scan
from lake_assets.spark.task_slots import task_slots
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.storage.store import Store
from lake_assets.streams.batch_attempts import BatchAttempts
from lake_assets.streams.progress import sources_in
from lake_assets.streams.triggers import tasks_of

_FEW_VERSIONS = 20
"""Of bronze: who is more behind has rows to take, and its log is not read to be sure of it."""

_RENEW_EVERY_S = 86_400.0
"""Seconds between two looks whether a quiet feed's position is in the newest commit; logs are kept
for 30 days by default."""


def tables_of_silver(lake: Store, feed: Feed) -> list[TableRef]:
    """The tables that batches of demux write, quarantine aside."""
    aside = (waiting_of(feed.feed), duplicates_of(feed.feed), erased_of(feed.feed))
    return [*map(feed.silver_table, keys_found(lake, feed)), *aside]


@dataclass(frozen=True, kw_only=True, slots=True)
class Derived:
    """What a job left that wrote bronze rows and what becomes of them at once."""

    bronze: frozenset[str]
    """Paths of the files in bronze whose rows they are."""

    job: Job
    demuxed: Demuxed

    def is_all_of(self, increment: Increment) -> bool:
        """Whether it is what demux would make of what came to bronze."""
        return increment.is_exact and self.bronze == {file.path for file in increment.files}

    def discard(self) -> None:
        """Delete what the job left."""
        self.job.discard(self.demuxed)


def begin_of(position: Position) -> str:
    """Where the batch after a position begins: of no other one the same (`BatchRange.begin`)."""
    offsets = sorted([*place, offset] for place, offset in position.offsets.items())
    return json.dumps([position.bronze_id, position.bronze.version, offsets])


@dataclass(kw_only=True)
class Follower:
    """Takes what comes into a feed's bronze to silver, batch by batch."""

    session: SparkSession
    demux: Demux
    recovery: Recovery
    max_bytes: int
    """Of bronze's files in a batch, after which no further version of bronze is taken."""

    attempts: BatchAttempts | None = None
    """By which batches are counted that fail."""

    _renewed_at: float = field(default_factory=monotonic)
    _position: Position | None = None
    _numbers: dict[TableRef, int] = field(default_factory=dict)

    def step(self, derived: Derived | None = None) -> bool:
        """Take the next batch; False if nothing came. The first step recovers first.

        Args:
            derived: what was made already of rows that came last, if it was; used if they are all
                that came, and else discarded.

        Raises:
            StreamError: silver's tables do not fit together, or an expectation fails.
            LakeError: the lake cannot be read or written.
        """
        try:
            return self._step(derived)
        except BaseException:
            # What was committed of the batch only the tables know.
            self._position = None
            raise

    def is_at_end(self) -> bool:
        """Whether demux has all rows of bronze; not if that takes long to tell."""
        while (position := self._position) is not None:
            if self._log.has(position.bronze.version + _FEW_VERSIONS):
                return False
            increment = self._increment(position)
            if increment is None:
                return True
            if increment.files:
                return False
            self._position = self._reached(position, increment)
        return False

    def _increment(self, position: Position) -> Increment | None:
        """What came to bronze after a position."""
        return next_increment(
            self._log,
            sources_in(self._feed, position),
            position.bronze,
            taken=position.offsets,
            max_bytes=self._bytes_after(position),
        )

    def _reached(self, position: Position, increment: Increment) -> Position:
        """The position after an increment, but for what its batch makes of it."""
        new_offsets = increment.offsets if increment.files else {}
        if increment.files and not new_offsets:  # bronze of another release or engine
            new_offsets = offsets_of_rows(self._log, increment.files, self._feed.source.origin)
        offsets = furthest([position.offsets, new_offsets])
        return replace(position, bronze=increment.until, offsets=offsets)

    def _step(self, derived: Derived | None) -> bool:
        self.recover()
        position = self._position or Position()
        increment = self._increment(position)
        if derived is not None and not (increment and derived.is_all_of(increment)):
            derived.discard()
            derived = None
        if increment is None:
            self._renew(position)
            return False
        reached = self._reached(position, increment)
        if increment.files:
            self._position = self._take(position, reached, increment, derived)
        else:
            self._position = reached
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

    @property
    def _log(self) -> TableLog:
        """Of the feed's bronze."""
        return log_of(self._lake, bronze_of(self._feed.feed))

    def _recovered(self) -> Position:
        bronze = self.demux.context.committer.fresh(bronze_of(self._feed.feed))
        recovered = self.recovery.run(tables_of_silver(self._lake, self._feed), bronze)
        self._numbers = dict(recovered.numbers)
        return recovered.position

    def _bytes_after(self, position: Position) -> int:
        """As `max_bytes`; after a batch that failed, one commit of bronze a batch up to its end."""
        until = self.attempts.small_until if self.attempts else ""
        return 1 if until and position.bronze.version < int(until) else self.max_bytes

    def _tried(self, position: Position, found: Increment) -> AbstractContextManager[None]:
        """A batch's attempt, which counts if it fails."""
        if self.attempts is None:
            return nullcontext()
        table = bronze_of(self._feed.feed).name
        first, last = position.bronze.version + 1, found.until.version
        return self.attempts.attempt(
            BatchRange(
                begin=begin_of(position),
                end=str(last),
                words=f"versions {first} to {last} of {table}",
            )
        )

    def _take(
        self, position: Position, reached: Position, found: Increment, derived: Derived | None
    ) -> Position:
        number = position.number + 1
        numbers: dict[TableRef, int] = {}
        last = reached

        def record(tables: Iterable[TableRef]) -> Mapping[str, str]:
            nonlocal numbers, last
            numbers = self._numbers | dict.fromkeys(tables, number)
            last = replace(reached, number=number, tables=checksum(numbers))
            return {POSITION: last.to_json()}

        span = Span(
            query=f"{demux_app(self._feed.feed)}:{position.bronze_id}",
            version_from=position.bronze.version + 1,
            version_to=found.until.version + 1,
        )
        batch = batch_of(self._feed.feed, number)
        with about(stage=Stage.DEMUX.value, batch=number), self._tried(position, found):
            is_placed = derived is not None and self._is_placed(derived, batch, record, span)
            if not is_placed:
                self.demux(self._rows(position, found), batch, record, span)
        self._numbers = numbers
        return last

    def _is_placed(self, derived: Derived, batch: Batch, record: Reached, span: Span) -> bool:
        """Commit what was made already; False if it was made for columns that are others by now."""
        try:
            self.demux.place(derived.demuxed, batch, record, span, job_s=0.0)
        except ColumnsChangedError:
            with self.demux.alone:
                self.demux.forget()
            return False
        return True

    def _rows(self, position: Position, found: Increment) -> Rows:
        """What came to bronze, as tasks read it."""
        bronze, origin = bronze_of(self._feed.feed), self._feed.source.origin
        # Versions that only added files deleted no rows.
        kept = (
            {}
            if found.is_exact
            else kept_rows(self._log, self.demux.context.committer.fresh(bronze))
        )
        files = [
            ScannedFile(file=place, size=file.size, rows=file.rows or None, kept=kept.get(place))
            for file in found.files
            for place in [self._log.data_file(file.path)]
        ]
        cores = task_slots(self.session)
        return scan(
            self.session,
            self._lake,
            files,
            demux_names(self._feed),
            tasks=tasks_of(rows_in(self._lake, files), self.demux.tables, cores),
            keep=None if found.is_exact else NotIn(Before(position.offsets, origin)),
        )
