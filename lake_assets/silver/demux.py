"""Demux's micro-batch: bronze rows decoded, judged, and committed to one silver table a key.

One Spark job writes all tables' files (`silver.demux_job`); the committer then commits them. Rows
that raise a question (a schema id or a key never met) are answered here and the batch runs again,
before anything of it was committed.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter, time
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from lake_assets.delta.catalog import adoptable_keys, keys_to_adopt, refused_keys
from lake_assets.delta.commit import Batch
from lake_assets.delta.commit_journal import Journal
from lake_assets.errors import ColumnsChangedError
from lake_assets.formats.base import Decoder, PayloadFormat, SchemaSource
from lake_assets.formats.questions import Question as FormatQuestion
from lake_assets.model.expectations import Action
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.judged_rows import as_judged
from lake_assets.model.reports import BatchReport, Span
from lake_assets.silver.batch_notes import note_of, refused_report, report_of
from lake_assets.silver.compiled_expectations import Compiled, Compiler
from lake_assets.silver.deduplicate import Deduplication
from lake_assets.silver.demux_commits import Reached, commit_batch, commits_of
from lake_assets.silver.demux_duplicates import deduplicated, deduplication_of, with_keys_held
from lake_assets.silver.demux_job import Job
from lake_assets.silver.demux_task import DecodePlan
from lake_assets.silver.demuxed import Demuxed, failure
from lake_assets.silver.erasing import Erasing
from lake_assets.silver.fit_tables import TableFitting
from lake_assets.silver.layouts import with_partition_sources
from lake_assets.silver.many_partitions import ManyPartitions
from lake_assets.silver.questions import KeyQuestion, RouteQuestion, SqlQuestion, decoded
from lake_assets.silver.route_expressions import RouteCompiler
from lake_assets.silver.schema_history import SchemaHistory
from lake_assets.silver.scopes import EVERYTHING, Scope
from lake_assets.silver.selecting_by_key import decoder_of_rows, keys_selects
from lake_assets.silver.selecting_decoder import explodes
from lake_assets.silver.shared_tables import while_it_commits
from lake_assets.silver.stored_keys import ensure_deduplicable
from lake_assets.silver.turn import Turn, no_turn
from lake_assets.spark.fan_out import UnresolvedError
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.scan import Rows

_CREATING = threading.Lock()
"""Held while keys get their tables: the feeds' threads may meet the same new one at once."""

_TRIES = 5
"""Tries of a batch while another feed that fills its tables changes their columns."""


@dataclass(kw_only=True)
class Demux:
    """What a feed's second stage does with a batch; it remembers schemas and keys."""

    feed: Feed
    context: LakeContext
    journal: Journal
    format: PayloadFormat[Any]
    """Of the feed's values."""

    schemas: SchemaSource[Any]
    """Whom the format's questions are put to; may wait for the answers."""

    report: Callable[[BatchReport], None]
    feeds: Sequence[Feed] = ()
    """All that are declared; a key that comes along gets no table that another one would have."""

    rounds: bool = True
    """As `silver.fit_tables` has it."""

    turn: Turn = no_turn
    """As `silver.deduplicate` has it."""

    _schemas: Any = None
    _decoder: Decoder | None = None
    _keys: dict[str, None] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)
    partitions: ManyPartitions = field(init=False)
    duplicates: Deduplication | None = field(init=False)
    _compiler: Compiler = field(init=False)
    _routes: RouteCompiler = field(init=False)
    _fitting: TableFitting = field(init=False)
    _erasing: Erasing = field(init=False)
    alone: threading.Lock = field(default_factory=threading.Lock)
    """Held while rows are derived: batches and what catches up with them take turns."""

    def __post_init__(self) -> None:
        """Nothing is compiled yet."""
        self._compiler = Compiler(as_judged(self.feed))
        self._routes = RouteCompiler(self.feed)
        self.partitions, self._erasing = ManyPartitions(self.feed), Erasing(self.feed, self.context)
        self.duplicates = deduplication_of(self.feed, self.context, self.turn)
        own: Any = {"feed": self.feed, "format": self.format, "context": self.context}
        self._fitting = TableFitting(**own, history=SchemaHistory(**own), rounds=self.rounds)

    def __call__(
        self, bronze: Rows, batch: Batch, reached: Reached, span: Span | None = None
    ) -> None:
        """Place a micro-batch that no table has yet; `silver.recovery` sees to that.

        The quarantine table is committed last, with or without rows: its commit is what says that
        the batch is whole.

        Args:
            bronze: the columns `silver.rows.read_names`.
            batch: its identity.
            reached: from the tables that get rows, what the last commit records.
            span: what part of bronze it is, for the report.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was committed.
            PartitionsExceededError: they are of too many partitions; nothing was committed.
            LakeError: the lake cannot be written.
            CommitConflictError: another process demuxes the same feed.
        """
        started = perf_counter()
        for tries_left in reversed(range(_TRIES)):
            with self.alone:
                demuxed = self._write(bronze, batch, span)
            try:
                self.place(demuxed, batch, reached, span, job_s=perf_counter() - started)
            except ColumnsChangedError:
                if not tries_left:
                    raise
                with self.alone:
                    self.forget()
            else:
                break

    def place(
        self, demuxed: Demuxed, batch: Batch, reached: Reached, span: Span | None, *, job_s: float
    ) -> None:
        """Commit what a job of `job_s` seconds left that violates nothing; else as a call.

        Raises:
            ColumnsChangedError: it was made for other columns; nothing was committed.
        """
        began = perf_counter()
        with while_it_commits(self.feed), deduplicated(self.duplicates, demuxed) as unique:
            unique_s = perf_counter() - began if self.duplicates else 0.0
            commits = commits_of(self.feed, unique, reached)
            commit_batch(self.context, self.journal, commits, batch, note_of(unique))
        self.partitions.tell(unique.written)
        seconds = {"job": job_s + unique_s, "commit": perf_counter() - began - unique_s}
        report = report_of(self.feed.feed, batch, unique, span, seconds)
        self.report(with_keys_held(report, self.duplicates))

    def _write(self, bronze: Rows, batch: Batch, span: Span | None) -> Demuxed:
        job, demuxed = self.derive(bronze)
        if violated := job.failures(demuxed):
            job.discard(demuxed)
            self.report(refused_report(self.feed.feed, batch, violated, span))
            raise failure(violated)
        if too_many := self.partitions.problem(demuxed.written):
            job.discard(demuxed)
            raise too_many
        return demuxed

    def derive(
        self,
        rows: Rows,
        scope: Callable[[tuple[str, ...]], Scope] = lambda _: EVERYTHING,
        *,
        skip_failing: bool = False,
    ) -> tuple[Job, Demuxed]:
        """Run the job over rows of bronze until it raises no question that was not answered.

        Commits nothing. The job that ran comes back beside what it left.

        Args:
            rows: the columns `silver.rows.read_names`.
            scope: which of the rows are written, by the keys that are known.
            skip_failing: put rows aside, as skipped, that violate an expectation that fails.
        """
        if self._schemas is None:
            self._adopt(self.schemas.newest(), keys_to_adopt(self.context.lake, self.feed))
        else:
            self._adopt(self.format.for_next_batch(self._schemas, time()), ())
        while True:
            job = self._job(rows.frame.sparkSession, skip_failing=skip_failing)
            try:
                return job, job.run(rows, scope(job.plan.keys))
            except UnresolvedError as problem:
                self._answer(problem.questions)

    def next_job(self, session: SparkSession) -> Job | None:
        """The job for rows that come now, by what is known; None if schemas were not asked for."""
        with self.alone:
            if self._schemas is None:
                return None
            self._adopt(self.format.for_next_batch(self._schemas, time()), ())
            return self._job(session)

    def _job(self, session: SparkSession, *, skip_failing: bool = False) -> Job:
        compiled = self._compiled(session)
        plan = self._plan(keep_values=skip_failing)
        beside = self.duplicates.beside(len(plan.keys)) if self.duplicates else None
        judged_by = compiled.reading, compiled.program
        return Job(self.feed, plan, self.context, *judged_by, skip_failing, beside)

    @property
    def tables(self) -> int:
        """Into how many tables its rows may go, without keys that nobody knows yet."""
        return len(self._keys or self.feed.keys) + 1

    def prepare(self, session: SparkSession) -> None:
        """Make the tables ready before the first row comes; without it the first batch does.

        Raises:
            FeedError: an expectation does not fit the columns of the feed's schema.
            LakeError: the lake cannot be written.
        """
        with self.alone:
            lake, feed = self.context.lake, self.feed
            keys = (*keys_to_adopt(lake, feed), *adoptable_keys(lake, feed))
            self._adopt(self.schemas.newest(), keys)
            self._compiled(session)

    def made(self) -> list[pa.Schema]:
        """The decoded columns of each message that rows may have, whatever the tables have.

        Raises:
            RegistryError: the registry has no answer.
        """
        schemas = self._schemas if self._schemas is not None else self.schemas.newest()
        return self.format.made_by(schemas, self.feed.route_columns)

    def forget(self) -> None:
        """Look at the tables and ask for the schemas again, before the next rows."""
        self._schemas = self._decoder = None
        self._keys = {}
        self._compiler.forget()
        self._routes.forget()

    def _compiled(self, session: SparkSession) -> Compiled:
        decoder = self._decoder
        assert decoder is not None  # noqa: S101 - the caller adopted schemas
        columns = pa.schema([*decoder.columns, *decoder.unused])
        rows = decoder_of_rows(decoder)
        self._routes.compiled(session, pa.schema([*rows.columns, *rows.unused]))
        ensure_deduplicable(self.feed, columns)
        return self._compiler.compiled(session, columns)

    def _plan(self, *, keep_values: bool = False) -> DecodePlan:
        decoder, compiled = self._decoder, self._compiler.last
        assert decoder is not None  # noqa: S101 - the caller adopted schemas
        assert compiled is not None  # noqa: S101 - and compiled expectations for them
        split = with_partition_sources(self.feed, decoder.columns, decoder.unused)
        wanted = {*compiled.reading.columns, *split.names}
        return DecodePlan(
            decoder=decoder_of_rows(decoder),
            by_key=keys_selects(decoder),
            origin=origin_of(self.feed),
            unused=pa.schema([one for one in decoder.unused if one.name in wanted]),
            routes=self._routes.last,
            keeps_headers=self.feed.keeps_headers,
            keys=tuple(self._keys),
            refused_keys=dict(self._refused),
            refused_at=pa.scalar(datetime.now(UTC), pa.timestamp("us", tz="UTC")),
            keep_values=keep_values
            or explodes(decoder)
            or any(e.action is Action.QUARANTINE for e in self.feed.expectations),
            erasing=self._erasing.look(),
        )

    def _answer(self, asked: frozenset[str]) -> None:
        """Find out what rows need to be placed, before the batch runs again."""
        assert self._schemas is not None  # noqa: S101 - set before a job runs
        questions = [decoded(text) for text in asked]
        for kind, asked_of in ((SqlQuestion, self._compiler), (RouteQuestion, self._routes)):
            if any(isinstance(question, kind) for question in questions):
                asked_of.ask_spark()
        own = frozenset(question for question in questions if isinstance(question, FormatQuestion))
        schemas = self.schemas.resolve(self._schemas, own) if own else self._schemas
        lake, new = self.context.lake, [q.key for q in questions if isinstance(q, KeyQuestion)]
        with _CREATING:
            if new:
                self._refused |= refused_keys(lake, self.feed, self.feeds, self._keys, new)
            keys = sorted(key for key in new if key not in self._refused)
            self._adopt(schemas, keys)

    def _adopt(self, schemas: Any, keys: Iterable[str]) -> None:  # noqa: ANN401 - the format's own
        """Make the tables fit these schemas and keys; both are remembered."""
        added = [key for key in keys if key not in self._keys]
        if schemas is self._schemas and not added:
            return
        known = [*self._keys, *added]
        self._schemas, self._decoder = self._fitting.fit(schemas, self._decoder, known, added)
        self._keys = dict.fromkeys(known)
