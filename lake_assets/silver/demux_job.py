"""Demux's one Spark job: bronze rows decoded, judged by expectations, written to all tables.

In each task, a batch at a time: `spark.scan` reads bronze's files, `demux_task.decode_task` decodes
and places the rows, `demux_task.mark_violations` marks them, `apply_expectations.Judge` drops or
moves what is marked, `parquet.writer.write_task` writes a file a table; `spark.fan_out` runs that.
Where Arrow cannot tell (`silver.catalyst_to_arrow`) Spark SQL marks, between two steps in Python;
through it goes only what expectations read, and the rows themselves wait beside the task
(`spark.batch_spill`). Nothing is committed here.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from lake_assets.errors import FeedError
from lake_assets.formats.base import Decoded
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import is_shared, where_of
from lake_assets.model.judged_rows import as_judged
from lake_assets.model.reports import Judged
from lake_assets.model.transforms import HAS_ELEMENTS
from lake_assets.parquet.writer import Beside, WritePlan
from lake_assets.silver.apply_expectations import (
    DecodeAndMark,
    Judge,
    Rule,
    outcomes,
)
from lake_assets.silver.catalyst_to_arrow import Program
from lake_assets.silver.demux_targets import tables_of, write_plan_of
from lake_assets.silver.demux_task import (
    DecodePlan,
    mark_violations,
    place_rows,
    stage_schema,
)
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.expectation_columns import Reading, evaluated_columns, returned
from lake_assets.silver.expectation_marks import marks
from lake_assets.silver.layouts import with_partition_sources
from lake_assets.silver.route_by_spark import (
    Decode,
    place_routed,
    route_by_spark,
    routed_rows,
    routes_by_spark,
)
from lake_assets.silver.rows import silver_schema
from lake_assets.silver.scopes import EVERYTHING, Scope
from lake_assets.silver.select_by_spark import select_by_spark, selected_rows, selects_by_spark
from lake_assets.silver.select_keys_by_spark import (
    Route,
    select_keys_by_spark,
    selected_keys,
    selects_keys_by_spark,
)
from lake_assets.silver.selecting_decoder import decoded_rows, divides, explodes
from lake_assets.spark.conditions import without_ansi
from lake_assets.spark.fan_out import FanOut, Output, discard, fan_out
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.scan import Read, Rows


@dataclass(frozen=True, slots=True)
class Job:
    """The job for a feed's rows under one plan of decoding."""

    feed: Feed
    plan: DecodePlan
    context: LakeContext
    reading: Reading
    """What the expectations read."""

    program: Program | None
    """The expectations, if the tasks that decode can judge; else Spark SQL does."""

    skip_failing: bool = False
    """Whether rows that violate an expectation that fails are put aside as skipped."""

    beside: Beside | None = None
    """What tasks leave beside each file of silver."""

    def run(self, bronze: Rows, scope: Scope = EVERYTHING) -> Demuxed:
        """Write the rows of `bronze` that are in `scope` to all tables' folders.

        Args:
            bronze: the columns `silver.rows.read_names`.
            scope: which of them are written.

        Raises:
            UnresolvedError: a schema id or a key is new; nothing is left of the job.
        """
        output = self.output(bronze.read, scope)
        with without_ansi(bronze.frame.sparkSession):
            return self.demuxed(fan_out(self._judged(bronze), output.plan, output.transform))

    @property
    def is_all_in_tasks(self) -> bool:
        """Whether the writing tasks take bronze rows, and need nothing of Spark SQL."""
        kinds = (selects_by_spark, routes_by_spark, selects_keys_by_spark)
        return self._judges_in_tasks and not any(by_spark(self.plan) for by_spark in kinds)

    @property
    def _judges_in_tasks(self) -> bool:
        return not self.feed.expectations or self.program is not None

    def output(self, read: Read = iter, scope: Scope = EVERYTHING) -> Output:
        """How rows are written: of bronze if all is in tasks, else those that Spark SQL judged.

        Args:
            read: makes bronze's rows of what a task is handed.
            scope: which of them are written.
        """
        rules, keys, origin = self._rules, len(self.plan.keys), self.plan.origin.in_silver
        decode, is_many = self._decode_and_mark(read), explodes(self.plan.decoder)
        return Output(
            plan=self._write_plan(),
            transform=lambda: Judge(rules, keys, decode, origin, scope, explodes=is_many),
        )

    def demuxed(self, done: FanOut) -> Demuxed:
        """What a job of `output` left, by table and key."""
        tables = tables_of(self.feed, self.plan)
        by_index = outcomes(done.notes, self._rules)
        return Demuxed(
            written={tables[index]: written for index, written in done.written.items()},
            outcomes={self.plan.keys[index]: outcome for index, outcome in by_index.items()},
            columns=(self._silver_columns,) if is_shared(self.feed) else (),
        )

    @property
    def _silver_columns(self) -> pa.Schema:
        """Of the rows that come to silver, days that it is partitioned by aside."""
        decoded = with_partition_sources(self.feed, self.plan.columns, self.plan.unused)
        return silver_schema(decoded, self.plan.origin)

    def failures(self, demuxed: Demuxed) -> dict[tuple[str, str], Judged]:
        """By key and expectation, what must stop everything: nothing of it may be committed."""
        if self.skip_failing:
            return {}
        failing = {e.name for e in self.feed.expectations if e.action is Action.FAIL}
        return {
            (key, name): judged
            for (key, name), judged in demuxed.judged.items()
            if name in failing and judged.violated
        }

    def ensure_undivided(self, demuxed: Demuxed) -> None:
        """Make sure that all rows of a value are of one key, where only some keys are meant.

        Raises:
            FeedError: they may be of several; nothing is left of the job.
        """
        read = {name for value in self.plan.routes for name in value.reads}
        if divides(self.plan.decoder, {*read, *self.feed.route_columns}):
            self.discard(demuxed)
            fact = "says by each element which key its row is of, and a value is of several then"
            raise FeedError(
                f"select of feed {self.feed.feed!r}", fact, "Do it for all keys at once"
            )

    def discard(self, demuxed: Demuxed) -> None:
        """Delete what `run` left."""
        tables = {table: index for index, table in enumerate(tables_of(self.feed, self.plan))}
        left = {tables[table]: written for table, written in demuxed.written.items()}
        discard(left, self._write_plan())

    @property
    def _rules(self) -> list[Rule]:
        keys, skip = self.plan.keys, self.skip_failing
        final = {where_of(self.feed)}
        if explodes(self.plan.decoder):
            final.add(HAS_ELEMENTS.name)  # of what is no element nothing else is expected
        return [_rule(e, keys, skip=skip, is_final=e.name in final) for e in self.feed.expectations]

    def _judged(self, bronze: Rows) -> DataFrame:
        """What goes to the writing tasks: marks, or the bronze rows where nothing is judged."""
        plan = self.plan
        frame = select_by_spark(bronze, plan) if selects_by_spark(plan) else bronze.frame
        if routes_by_spark(plan):
            frame = route_by_spark(frame, self._decoded(bronze.read), plan)
        if selects_keys_by_spark(plan):
            frame = select_keys_by_spark(frame, self._routed(bronze.read), plan)
        if self._judges_in_tasks:
            return frame
        reading, placed = self.reading, self._placed(bronze.read)

        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return evaluated_columns(placed(batches), reading)

        schema = stage_schema(self.plan)
        seen = pa.schema([schema.field(name) for name in reading.columns])
        judged = frame.mapInArrow(decode, spark_schema(seen))
        return judged.select(*marks(as_judged(self.feed)))

    def _placed(self, read: Read) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        """What makes placed rows of bronze's, or of what Spark computed of them."""
        plan, placed, erasing = self.plan, self._placed_by_keys(read), self.plan.erasing
        if erasing is None or plan.by_key is None:
            return placed
        return lambda rows: erasing.placed(placed(rows), len(plan.keys))

    def _placed_by_keys(
        self, read: Read
    ) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        plan, decoded = self.plan, self._decoded(read)
        if selects_keys_by_spark(plan):
            return lambda rows: selected_keys(rows, plan)
        if routes_by_spark(plan):
            return lambda rows: place_routed(rows, plan)
        return lambda rows: place_rows(decoded(rows), plan)

    def _routed(self, read: Read) -> Route:
        """What makes rows that are to be placed of bronze's, or of what Spark computed of them."""
        plan, decoded = self.plan, self._decoded(read)
        if routes_by_spark(plan):
            return lambda rows: routed_rows(rows, plan)
        return lambda rows: ((batch, one, None) for batch, one in decoded(rows))

    def _decoded(self, read: Read) -> Decode:
        """What makes decoded rows of bronze's, or of what Spark computed of them."""
        plan, erasing = self.plan, self.plan.erasing

        def made(rows: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Decoded]]:
            if selects_by_spark(plan):
                return selected_rows(rows, plan)
            return decoded_rows(plan.task_decoder, read(rows))

        return made if erasing is None else lambda rows: erasing.decoded(made(rows))

    def _decode_and_mark(self, read: Read) -> DecodeAndMark:
        """What the writing tasks do first: decode, unless Spark SQL judged what was decoded."""
        placed, reading = self._placed(read), self.reading
        if not self.feed.expectations:
            return lambda batches: ((batch, ()) for batch in placed(batches))
        if self.program:
            conditions = self.program.conditions
            return lambda rows: mark_violations(placed(rows), reading, conditions)
        return lambda batches: returned(batches, reading)

    def _write_plan(self) -> WritePlan:
        return write_plan_of(self.feed, self.plan, self.context, self.beside)


def _rule(expectation: Expectation, keys: tuple[str, ...], *, skip: bool, is_final: bool) -> Rule:
    return Rule(
        name=expectation.name,
        action=expectation.action,
        keys=tuple(expectation.concerns(key) for key in keys),
        is_skipped=skip and expectation.action is Action.FAIL,
        is_final=is_final,
    )
