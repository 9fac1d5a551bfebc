"""Demux's micro-batch: bronze rows decoded, judged, and committed to one silver table a game.

One Spark job writes all tables' files (`silver.job`); the commit door then commits them. Rows that
raise a question (a schema id or a game never met) are answered here and the batch runs again,
before anything of it was committed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter

import pyarrow as pa
from pyspark.sql import DataFrame

from lake_assets.decode.columns import columns
from lake_assets.decode.schemas import SchemaSet
from lake_assets.errors import ExpectationFailedError
from lake_assets.lake.commits import Batch, Commit
from lake_assets.lake.fanout import UnresolvedError
from lake_assets.lake.journal import Journal
from lake_assets.lake.means import Means
from lake_assets.model.feeds import Action, Feed, Unknown
from lake_assets.model.reports import BatchReport, Hop, Judged
from lake_assets.model.tables import quarantine_of, silver_of
from lake_assets.silver.job import Demuxed, Job
from lake_assets.silver.replay import note_of, replayed
from lake_assets.silver.rows import QUARANTINE, silver_schema
from lake_assets.silver.stage import GAME_QUESTION, SCHEMA_QUESTION, DecodePlan


@dataclass(kw_only=True)
class Demux:
    """What `foreachBatch` calls for a feed's second hop; it remembers schemas and games."""

    feed: Feed
    means: Means
    journal: Journal
    newest: Callable[[], SchemaSet]
    """Asks the registry for the feed's schemas; may wait for it."""

    resolve: Callable[[SchemaSet, frozenset[int]], SchemaSet]
    """Asks the registry about schema ids never met; may wait for it."""

    report: Callable[[BatchReport], None]
    _schemas: SchemaSet | None = None
    _games: dict[str, None] = field(default_factory=dict)

    def __call__(self, bronze: DataFrame, batch: Batch) -> None:
        """Place a micro-batch; a batch that runs again is finished from its journal (exactly once).

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was committed.
            LakeError: the lake cannot be written.
            CommitConflictError: another process demuxes the same feed.
        """
        started = perf_counter()
        noted = self.journal.read(batch)
        if noted is not None:
            self.means.door.append(noted, batch)
            self.report(replayed(self.feed.feed, batch, noted, self.journal.note()))
            return
        demuxed = self._write(bronze, batch)
        done = perf_counter()
        commits = [
            Commit(table=table, files=written.files, info={"rows": str(written.rows)})
            for table, written in demuxed.written.items()
        ]
        self.journal.write(batch, commits, note_of(demuxed))
        self.means.door.append(commits, batch)
        seconds = {"job": done - started, "commit": perf_counter() - done}
        self.report(
            BatchReport(
                feed=self.feed.feed,
                hop=Hop.DEMUX,
                batch_id=batch.version,
                rows={table.name: written.rows for table, written in demuxed.written.items()},
                dropped={game: found.dropped for game, found in demuxed.outcomes.items()},
                judged=demuxed.judged,
                seconds=seconds,
                files=sum(len(written.files) for written in demuxed.written.values()),
            )
        )

    def _write(self, bronze: DataFrame, batch: Batch) -> Demuxed:
        """Run the job until it raises no question that was not answered."""
        if self._schemas is None:
            self._adopt(self.newest(), self.feed.route.keys)
        while True:
            schemas = self._known_schemas()
            job = Job(self.feed, self._plan(schemas), self.means)
            try:
                demuxed = job.run(bronze)
            except UnresolvedError as problem:
                self._answer(schemas, problem.questions)
            else:
                self._ensure_none_failed(job, demuxed, batch)
                return demuxed

    def _plan(self, schemas: SchemaSet) -> DecodePlan:
        return DecodePlan(
            schemas=schemas,
            route=self.feed.route.column,
            games=tuple(self._games),
            create_unknown=self.feed.route.unknown is Unknown.CREATE,
            refused_at=pa.scalar(datetime.now(UTC), pa.timestamp("us", tz="UTC")),
            keep_values=any(e.action is Action.QUARANTINE for e in self.feed.expectations),
        )

    def _ensure_none_failed(self, job: Job, demuxed: Demuxed, batch: Batch) -> None:
        failing = {e.name for e in self.feed.expectations if e.action is Action.FAIL}
        violated = {
            (game, name): judged
            for (game, name), judged in demuxed.judged.items()
            if name in failing and judged.violated
        }
        if not violated:
            return
        job.discard(demuxed)
        self.report(
            BatchReport(
                feed=self.feed.feed,
                hop=Hop.DEMUX,
                batch_id=batch.version,
                rows={},
                judged=violated,
                is_committed=False,
            )
        )
        raise _failure(violated)

    def _answer(self, schemas: SchemaSet, questions: frozenset[str]) -> None:
        """Find out about ids and games never met, before the batch runs again."""
        asked: dict[str, list[str]] = {SCHEMA_QUESTION: [], GAME_QUESTION: []}
        for question in questions:
            kind, _, value = question.partition("=")
            asked[kind].append(value)
        ids = frozenset(int(value) for value in asked[SCHEMA_QUESTION])
        self._adopt(self.resolve(schemas, ids) if ids else schemas, sorted(asked[GAME_QUESTION]))

    def _adopt(self, schemas: SchemaSet, games: Iterable[str]) -> None:
        """Make the tables fit these schemas and games; both are remembered."""
        self._games |= dict.fromkeys(games)
        silver = silver_schema(columns(schemas))
        wanted = {silver_of(game): silver for game in self._games}
        self.means.door.create({**wanted, quarantine_of(self.feed.feed): QUARANTINE})
        self.means.door.add_columns(wanted)
        self._schemas = schemas

    def _known_schemas(self) -> SchemaSet:
        assert self._schemas is not None  # noqa: S101 - set by the caller
        return self._schemas


def _failure(violated: Mapping[tuple[str, str], Judged]) -> ExpectationFailedError:
    (game, name), judged = next(iter(violated.items()))
    examples = ", ".join(str(origin) for origin in judged.examples)
    found = f"{judged.violated} of {judged.seen} rows of the batch violate it, such as {examples}"
    if len(violated) > 1:
        found += f"; and so it is with {len(violated) - 1} more"
    return ExpectationFailedError(name, game, found)
