"""Demux's micro-batch: bronze rows decoded, judged, and committed to one silver table a game.

One Spark job writes all tables' files; the commit door then commits them. Rows that raise a
question (a schema id or a game never met) are answered here and the batch runs again, before
anything of it was committed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from lake_assets.decode.columns import columns
from lake_assets.decode.schemas import SchemaSet
from lake_assets.lake.commits import Batch, Commit
from lake_assets.lake.fanout import UnresolvedError, Written, fan_out
from lake_assets.lake.journal import Journal
from lake_assets.lake.means import Means
from lake_assets.lake.writer import Layout, Target, WritePlan
from lake_assets.model.feeds import Feed, Unknown
from lake_assets.model.reports import BatchReport, Hop, Judged
from lake_assets.model.tables import TableRef, quarantine_of, silver_of
from lake_assets.silver.expect import DROPPED, judged, mark_of
from lake_assets.silver.rows import BRONZE_NAMES, QUARANTINE, QUARANTINE_SOURCES, silver_schema
from lake_assets.silver.stage import (
    GAME_QUESTION,
    SCHEMA_QUESTION,
    DecodePlan,
    decode_task,
    stage_schema,
)

_SILVER = "silver"
_QUARANTINE = "quarantine"

_ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

_ANSI = "spark.sql.ansi.enabled"

_ROWS_WITH_LISTS = 2_000
"""Rows an Arrow batch holds where a column has a list or map in it: Spark 4.2 takes time that grows
with the square of a run of null ones (refused rows, unset messages; docs/performance.md). Of
1,000,000 rows, 65,536 a batch take 70-100 s, 10,000 take 13-19 s and 2,000 take 5 s; fewer gain
nothing and cost more calls."""


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
            LakeError: the lake cannot be written.
            CommitConflictError: another process demuxes the same feed.
        """
        started = perf_counter()
        noted = self.journal.read(batch)
        if noted is not None:
            self.means.door.append(noted, batch)
            self.report(_replayed(self.feed.feed, batch, noted))
            return
        plan, written = self._write(bronze)
        done = perf_counter()
        tables = [*(silver_of(game) for game in plan.games), quarantine_of(self.feed.feed)]
        commits = [
            Commit(table=tables[index], files=found.files, info={"rows": str(found.rows)})
            for index, found in sorted(written.items())
            if found.files
        ]
        self.journal.write(batch, commits)
        self.means.door.append(commits, batch)
        seconds = {"job": done - started, "commit": perf_counter() - done}
        self.report(self._sum_up(batch, plan, tables, written, seconds))

    def _write(self, bronze: DataFrame) -> tuple[DecodePlan, Mapping[int, Written]]:
        """Run the job until it raises no question that was not answered."""
        if self._schemas is None:
            self._adopt(self.newest(), self.feed.route.keys)
        while True:
            schemas = self._known_schemas()
            plan = DecodePlan(
                schemas=schemas,
                route=self.feed.route.column,
                games=tuple(self._games),
                create_unknown=self.feed.route.unknown is Unknown.CREATE,
                refused_at=pa.scalar(datetime.now(UTC), pa.timestamp("us", tz="UTC")),
            )
            try:
                return plan, self._fan_out(bronze, plan)
            except UnresolvedError as problem:
                self._answer(schemas, problem.questions)

    def _fan_out(self, bronze: DataFrame, plan: DecodePlan) -> Mapping[int, Written]:
        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return decode_task(batches, plan)

        silver = silver_schema(columns(plan.schemas))
        decoded = bronze.select("value", *BRONZE_NAMES).mapInArrow(
            decode, from_arrow_schema(stage_schema(plan.schemas))
        )
        marks = [mark_of(e) for e in self.feed.expectations]
        write_plan = WritePlan(
            targets=(
                *(self._target(silver_of(game), _SILVER) for game in plan.games),
                self._target(quarantine_of(self.feed.feed), _QUARANTINE),
            ),
            layouts={
                _SILVER: Layout(schema=silver, sources=tuple(silver.names)),
                _QUARANTINE: Layout(schema=QUARANTINE, sources=QUARANTINE_SOURCES),
            },
            buffer_bytes=self.means.buffer_bytes,
            tallies=(*marks, DROPPED) if marks else (),
        )
        with _configured_for(silver, bronze.sparkSession):
            return fan_out(judged(decoded, self.feed.expectations), write_plan)

    def _target(self, table: TableRef, layout: str) -> Target:
        return Target(path=str(table.path(self.means.lake)), layout=layout)

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

    def _sum_up(
        self,
        batch: Batch,
        plan: DecodePlan,
        tables: list[TableRef],
        written: Mapping[int, Written],
        seconds: Mapping[str, float],
    ) -> BatchReport:
        games = {i: game for i, game in enumerate(plan.games) if i in written}
        judgements = {
            (game, e.name): Judged(seen=written[i].seen, violated=written[i].tallies[mark_of(e)])
            for i, game in games.items()
            for e in self.feed.expectations
        }
        return BatchReport(
            feed=self.feed.feed,
            hop=Hop.DEMUX,
            batch_id=batch.version,
            rows={tables[i].name: found.rows for i, found in written.items()},
            dropped={g: written[i].seen - written[i].rows for i, g in games.items()},
            judged=judgements,
            seconds=seconds,
        )


def arrow_rows(schema: pa.Schema, configured: int) -> int:
    """How many rows an Arrow batch of these columns may hold; 0 is no limit, as Spark has it."""
    if not any(_has_list(kind) for kind in schema.types):
        return configured
    return min(configured, _ROWS_WITH_LISTS) if configured > 0 else _ROWS_WITH_LISTS


def _has_list(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return True
    return any(_has_list(kind.field(i).type) for i in range(kind.num_fields))


@contextmanager
def _configured_for(schema: pa.Schema, session: SparkSession) -> Iterator[None]:
    """Set what a job of these columns needs while it is planned and runs.

    ANSI mode is off: what an expectation cannot compute is null, and so violated, where ANSI would
    stop the stream for the one row that the expectation is there to catch.
    """
    before = {name: str(session.conf.get(name)) for name in (_ARROW_ROWS, _ANSI)}
    session.conf.set(_ARROW_ROWS, arrow_rows(schema, int(before[_ARROW_ROWS])))
    session.conf.set(_ANSI, "false")
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def _replayed(feed: str, batch: Batch, commits: list[Commit]) -> BatchReport:
    """The report of a batch that a former process wrote and this one only finished."""
    rows = {c.table.name: sum(f.rows for f in c.files) for c in commits}
    return BatchReport(feed=feed, hop=Hop.DEMUX, batch_id=batch.version, rows=rows)
