"""Skipping a batch of ingest: each of its rows goes where it can, the first way that works.

To bronze, row by row where it does not take them together; else to quarantine as it came, and the
table `gaps` says that bronze has it not (`refused`); and what the source cannot give is a gap
(`skipped`). Quarantine comes first and bronze last, whose commit passes the batch: what a death
leaves in between is found by the next try.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.bronze.batch_range import offsets_of
from lake_assets.bronze.ingest import Ingest
from lake_assets.bronze.single_file import landed, write_landed
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.origins import Before, Both, From, Origins, Within
from lake_assets.delta.table_log import log_of
from lake_assets.delta.unused_writes import discard
from lake_assets.formats.catalog import ids_in
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.origins import ByPlace, OriginColumns, Place
from lake_assets.model.owners import Owner
from lake_assets.model.quarantine import Reason
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.demux_position import skip_app
from lake_assets.silver.rows import quarantine_of_feed
from lake_assets.silver.set_aside import as_skipped, skipped_since
from lake_assets.sources.catalog import source_of
from lake_assets.state.batch_strikes import Strikes
from lake_assets.streams.batch_errors import Blame, blame_for
from lake_assets.streams.pipeline import Pipeline

_LOG = logging.getLogger(__name__)


def skip_ingest(pipeline: Pipeline, feed: Feed, strikes: Strikes) -> bool:
    """Skip the batch; False if it does not come next any more.

    Raises:
        SourceError: the source cannot be asked, or lost rows of the batch meanwhile.
        StreamError: as `Ingest.prepare`.
        LakeError: the lake cannot be read or written.
    """
    source = source_of(feed, pipeline.endpoints, pipeline.context.lake)
    ingest = Ingest(feed=feed, source=source, context=pipeline.context, report=pipeline.report)
    starts = ingest.prepare()
    if ingest.range_until({}).begin != strikes.batch.begin:
        return False
    there = source.extent().ends  # a broker that crashed may have lost the last ones
    ends = {p: min(end, there[p]) for p, end in offsets_of(strikes.batch.end).items() if p in there}
    skipping = _Skipping(
        pipeline=pipeline,
        feed=feed,
        ingest=ingest,
        why=f"{_WHY}: {strikes.cause}",
        known=_skipped_before(pipeline, feed, starts, ends),
        erased=ingest.erased_again(),
    )
    for fetched in source.fetch(starts=starts, ends=ends):
        skipping.take(fetched.rows)
        for place, ranges in fetched.unreadable.items():
            for first, end in ranges:
                skipping.pass_over(place, first, end, GapReason.SKIPPED)
    skipping.commit(ends)
    return True


_WHY = "bronze did not take it"

_MOST_TRIES = 200
"""Refusals of bronze after which rows that it refuses together go to quarantine together: a table's
constraints are Spark's to judge, at some tenths of a second each time."""


def _skipped_before(pipeline: Pipeline, feed: Feed, starts: ByPlace, ends: ByPlace) -> Origins:
    """The rows of the batch that quarantine has already, from a skip that died."""
    origin, table = feed.source.origin, quarantine_of(feed.feed)
    found, log = Origins(origin), log_of(pipeline.context.lake, table)
    if not log.exists():
        return found
    batch = Both(From(starts, origin), Before(ends, origin))
    for file in active_files(pipeline.context.committer.fresh(table)):
        rows = read_file(log, file, (*origin.identity, "reason"))
        rows = rows.filter(pc.equal(rows["reason"], Reason.SKIPPED.value))
        found.add(rows.filter(pa.array(batch.mask(rows))))
    return found


@dataclass(kw_only=True)
class _Skipping:
    """What becomes of the rows; nothing of it is committed before `commit`."""

    pipeline: Pipeline
    feed: Feed
    ingest: Ingest
    why: str
    known: Origins
    """Rows that quarantine has already."""

    files: list[DataFile] = field(default_factory=list)
    refused: list[pa.Table] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    erased: Within | None = None
    """Rows that nobody is to have."""

    _tries: int = 0

    def take(self, rows: pa.Table) -> None:
        """Have bronze take rows, or quarantine those that it refuses."""
        if self.erased is not None:
            rows = rows.filter(pa.array(~self.erased.mask(rows)))
        if not rows.num_rows:
            return
        bronze_rows = landed(rows, self.ingest.source.columns, ids=ids_in(self.feed.payload))
        again = pa.array(self.known.mask(bronze_rows))
        self._note_refused(bronze_rows.filter(again))
        self._land(bronze_rows.filter(pc.invert(again)))

    def pass_over(self, place: Place, first: int, end: int, reason: GapReason) -> None:
        """Note what bronze does not get."""
        name, partition = place
        self.gaps.append(
            Gap(source=name, partition=partition, offset_from=first, offset_to=end, reason=reason)
        )

    def commit(self, ends: ByPlace) -> None:
        """Make all of it part of the lake."""
        refused = self._quarantine()
        self.ingest.pass_over(ends, self.gaps, self.files)
        landed_rows = sum(file.rows for file in self.files)
        about = (self.feed.feed, landed_rows, refused)
        _LOG.warning(
            "ingest of feed %r: of a skipped batch bronze got %d rows, quarantine %d", *about
        )
        for gap in self.gaps:
            if gap.is_loss:
                _LOG.warning("ingest of feed %r skipped %s", self.feed.feed, gap)

    def _land(self, rows: pa.Table) -> None:
        """Write rows for bronze, by halves where it does not take them together."""
        if not rows.num_rows:
            return
        context, table = self.pipeline.context, bronze_of(self.feed.feed)
        file = None
        try:
            file = write_landed(context, table, rows)
            self.ingest.judge(file)
        except Exception as problem:
            if file is not None:
                discard(log_of(context.lake, table), [file])
            if blame_for(problem) is not Blame.BATCH:
                raise
            self._tries += 1
            if rows.num_rows == 1 or self._tries > _MOST_TRIES:
                self._note_refused(rows)
                return
            half = rows.num_rows // 2
            self._land(rows.slice(0, half))
            self._land(rows.slice(half))
        else:
            self.files.append(file)

    def _note_refused(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        self.refused.append(rows.filter(pa.array(~self.known.mask(rows))))
        for place, first, end in _ranges(_places(rows, self.feed.source.origin)):
            self.pass_over(place, first, end, GapReason.REFUSED)

    def _quarantine(self) -> int:
        """Put what bronze refuses aside; how many rows that were not there yet."""
        rows = pa.concat_tables(self.refused) if self.refused else None
        if rows is None or not rows.num_rows:
            return 0
        context, table = self.pipeline.context, quarantine_of(self.feed.feed)
        columns = quarantine_of_feed(self.feed)
        context.committer.create({table: columns}, owners={table: Owner(feed=self.feed.feed)})
        aside = as_skipped(rows, self.feed, skipped_since(self.why))
        written = write_file(context.lake, aside, log_of(context.lake, table).folder)
        file = DataFile(**written)  # type: ignore[arg-type]
        app_id, handle = skip_app(self.feed.feed), context.committer.fresh(table)
        batch = Batch(app_id, 1 + (handle.transaction_version(app_id) or 0))
        commit = Commit(table=table, files=[file], info={"rows": str(file.rows)})
        context.committer.append([commit], batch)
        return file.rows


def _places(rows: pa.Table, origin: OriginColumns) -> list[tuple[Place, int]]:
    """Name and partition, and offset, of each row."""
    partitions = rows[origin.partition].to_pylist() if origin.partition else [0] * rows.num_rows
    places = zip(rows[origin.name].to_pylist(), partitions, strict=True)
    return list(zip(places, rows[origin.offset].to_pylist(), strict=True))


def _ranges(places: list[tuple[Place, int]]) -> Iterator[tuple[Place, int, int]]:
    """Name and partition, first offset and that after the last of rows that follow each other."""
    numbered = enumerate(sorted(places))
    for _, run in groupby(numbered, lambda each: (each[1][0], each[1][1] - each[0])):
        part = [place for _, place in run]
        yield part[0][0], part[0][1], part[-1][1] + 1
