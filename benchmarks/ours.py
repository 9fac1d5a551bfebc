"""Our pipeline: the two stages of `streams.pipeline` in turn, and both at once as `stream` does."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from benchmarks import transforms
from benchmarks.ground import Ground, await_end, check, seconds_of, timed
from lake_assets.errors import StreamError
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.expectations import Expectation
from lake_assets.model.reports import BatchReport, Stage, Waiting
from lake_assets.silver.selecting import with_select
from lake_assets.silver.transforming_format import with_transform
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.streams.pipeline import Pipeline, demux_of, follower_of, start_ingest
from lake_assets.streams.schemas import Schemas
from lake_assets.streams.single_pass import SinglePass

INGEST = Stage.INGEST.value
DEMUX = Stage.DEMUX.value
BOTH = f"{INGEST}+{DEMUX}"


NO_RULES = "demux-no-expectations"
TEN_RULES = "demux-10-expectations"

IN_TASKS = "demux-select"
COPIES = "demux-select-copies"
SAME_COLUMNS = "demux-select-same-columns"
BY_SPARK = "demux-select-by-spark"
TRANSFORM = "demux-transform"
BY_ROW = "demux-transform-by-row"

UNIQUE = "demux-deduplicate"
OFTEN_SENT = "demux-deduplicate-often-sent"

_SELECT = (
    "* except (game_name, gamer_id, device_id, event_timestamp)",
    "lower(game_name) as game_name",
    "concat(game_name, '/', gamer_id) as player",
    "trim(gamer_id) as gamer_id",
    "length(gamer_id) + 1 as gamer_length",
    "coalesce(nullif(device_id, ''), 'none') as device_id",
    "left(device_id, 8) as device_vendor",
    "case when device_id like '00:%' then 'old' else 'new' end as device_age",
    "event_timestamp as event_timestamp",
    "to_date(event_timestamp) as event_day",
    "event_timestamp >= timestamp'2020-01-01' as is_recent",
)
"""Ten expressions over four columns, eight of them computed, such as people write."""

_COPIES = (
    *_SELECT[:1],
    "game_name",
    "game_name as player",
    "gamer_id",
    "event_timestamp as gamer_length",
    "device_id",
    "device_id as device_vendor",
    "device_id as device_age",
    "event_timestamp",
    "event_timestamp as event_day",
    "event_timestamp as is_recent",
)
"""As many columns, none of them computed: what `_SELECT` costs beside it is computing."""

_FOLDED = (
    *_SELECT[:1],
    "lower(trim(game_name)) as game_name",
    "concat(left(gamer_id, 64), '/', trim(device_id)) as gamer_id",
    "if(device_id like '00:%', 'old', coalesce(nullif(device_id, ''), 'none')) as device_id",
    "if(to_date(event_timestamp) >= date'2020-01-01', event_timestamp, null) as event_timestamp",
)
"""Ten operations over four columns, which make four."""

BY_DAY = "demux-by-day"
BY_TEXT = "demux-by-text"

_TEN = (
    "gamer_id <> ''",
    "length(gamer_id) < 100",
    "gamer_id not like '% '",
    "device_id <> ''",
    "length(device_id) = 17",
    "device_id rlike '^[0-9a-f:]+$'",
    "event_timestamp is not null",
    "event_timestamp >= timestamp '2020-01-01'",
    "event_timestamp < current_timestamp() + interval 1 day",
    "game_name = lower(game_name)",
)
"""What people write: nothing empty, lengths, forms, times within bounds."""


def with_select_in_tasks(ground: Ground) -> dict[str, float]:
    """Demux with ten expressions in `select`, which tasks compute."""
    return {IN_TASKS: walk(_selecting(ground, _SELECT))[DEMUX]}


def with_copies(ground: Ground) -> dict[str, float]:
    """Demux with as many columns as that makes, all of them copies: what writing them costs."""
    return {COPIES: walk(_selecting(ground, _COPIES))[DEMUX]}


def with_same_columns(ground: Ground) -> dict[str, float]:
    """Demux with ten operations in `select`, which give as many columns as there are without."""
    return {SAME_COLUMNS: walk(_selecting(ground, _FOLDED))[DEMUX]}


def with_select_by_spark(ground: Ground) -> dict[str, float]:
    """The same with one more that only Spark computes: two columns travel through the JVM."""
    more = "date_format(event_timestamp, 'E') || sha2(device_id, 256) as one_more"
    return {BY_SPARK: walk(_selecting(ground, (*_SELECT, more)))[DEMUX]}


def _selecting(ground: Ground, select: Sequence[str]) -> Ground:
    return replace(ground, feed=ground.feed.model_copy(update={"select": tuple(select)}))


def once_per_event(ground: Ground) -> dict[str, float]:
    """Demux of a feed that deduplicates, and whose events all came once."""
    return {UNIQUE: walk(_unique_by(ground, "gamer_id", "device_id", "event_timestamp"))[DEMUX]}


def of_many_copies(ground: Ground) -> dict[str, float]:
    """The same where each file has duplicates: of a gamer's events an hour one stays."""
    return {OFTEN_SENT: walk(_unique_by(ground, "gamer_id"))[DEMUX]}


def _unique_by(ground: Ground, *key: str) -> Ground:
    rule = Deduplicate(key=key, within=timedelta(hours=1))
    return replace(ground, feed=ground.feed.model_copy(update={"deduplicate": rule}))


def with_transform_of_columns(ground: Ground) -> dict[str, float]:
    """Demux with a function of Python that computes whole columns in Arrow."""
    return {TRANSFORM: walk(_transforming(ground, "of_columns"))[DEMUX]}


def with_transform_by_row(ground: Ground) -> dict[str, float]:
    """Demux with a function that loops over the rows."""
    return {BY_ROW: walk(_transforming(ground, "by_row"))[DEMUX]}


def _transforming(ground: Ground, function: str) -> Ground:
    name = f"{transforms.__name__}:{function}"
    return replace(ground, feed=ground.feed.model_copy(update={"transform": name}))


def by_day(ground: Ground) -> dict[str, float]:
    """Demux into tables that are partitioned by the day of the event, of which there is one."""
    return {BY_DAY: walk(_split_by(ground, {"day": "date(event_timestamp)"}))[DEMUX]}


def by_text(ground: Ground) -> dict[str, float]:
    """Demux into tables that are partitioned by a column of 256 values and none."""
    return {BY_TEXT: walk(_split_by(ground, {"col_custom_1": "col_custom_1"}))[DEMUX]}


def _split_by(ground: Ground, partition_by: dict[str, str]) -> Ground:
    return replace(ground, feed=ground.feed.model_copy(update={"partition_by": partition_by}))


def without_rules(ground: Ground) -> dict[str, float]:
    """Demux with no expectation: what ten of them are compared with."""
    return {NO_RULES: walk(_judged_by(ground, ()))[DEMUX]}


def with_ten_rules(ground: Ground) -> dict[str, float]:
    """Demux with ten expectations, each of which every row meets."""
    return {TEN_RULES: walk(_judged_by(ground, _TEN))[DEMUX]}


def _judged_by(ground: Ground, rules: Sequence[str]) -> Ground:
    expectations = tuple(
        Expectation(name=f"rule_{number}", sql=sql) for number, sql in enumerate(rules)
    )
    return replace(ground, feed=ground.feed.model_copy(update={"expectations": expectations}))


def at_once(ground: Ground) -> dict[str, float]:
    """Topic to bronze and a silver table a game, as the streams catch up."""
    reports: list[BatchReport] = []
    with open_lake(ground.settings) as context:
        pipeline = pipeline_of(ground, context, reports.append)

        seconds = timed(lambda: catch_up(ground, pipeline), ground.stop)
    for stage in (Stage.INGEST, Stage.DEMUX):
        check(stage.value, rows=_rows(reports, stage), expected=ground.events)
    return {BOTH: seconds}


def catch_up(ground: Ground, pipeline: Pipeline) -> None:
    """Take what the topic has to bronze and silver, in one job a batch where that can be."""
    single_pass = SinglePass(session=pipeline.session)
    query = start_ingest(pipeline, ground.feed, until_caught_up=True, take=single_pass)
    follower = follower_of(pipeline, demux_of(pipeline, ground.feed, schemas_of(ground)))
    follower.recover()
    follower.demux.prepare(pipeline.session)
    single_pass.join(follower)
    await_end(query)
    follower.drain()


def walk(ground: Ground) -> dict[str, float]:
    """Topic to bronze, then bronze to a silver table a game."""
    reports: list[BatchReport] = []
    with open_lake(ground.settings) as context:
        pipeline, schemas = pipeline_of(ground, context, reports.append), schemas_of(ground)
        ingest = seconds_of(
            lambda: start_ingest(pipeline, ground.feed, until_caught_up=True), ground.stop
        )
        demux = timed(
            lambda: follower_of(pipeline, demux_of(pipeline, ground.feed, schemas)).drain(),
            ground.stop,
        )
    for stage in (Stage.INGEST, Stage.DEMUX):
        check(stage.value, rows=_rows(reports, stage), expected=ground.events)
    return {INGEST: ingest, DEMUX: demux}


def pipeline_of(
    ground: Ground, context: LakeContext, report: Callable[[BatchReport], None]
) -> Pipeline:
    """What the queries are built from, as the worker of `lake-assets stream` builds it."""
    return Pipeline(
        session=ground.session,
        endpoints=ground.endpoints,
        context=context,
        stream=ground.settings.stream,
        state_dir=ground.settings.state_dir,
        report=report,
    )


def schemas_of(ground: Ground) -> Schemas:
    """The feed's schemas; a registry that does not answer is an error here."""
    around = Surroundings(
        registry=ground.endpoints.registry, registry_access=ground.endpoints.registry_access
    )
    inner = with_transform(ground.feed, format_of(ground.feed, around))
    return Schemas(
        feed=ground.feed,
        format=with_select(ground.session, ground.feed, inner, b""),
        stop=threading.Event(),
        announce=_refuse_to_wait,
    )


def _rows(reports: list[BatchReport], stage: Stage) -> int:
    """Rows that a stage placed, those an expectation dropped included."""
    own = [report for report in reports if report.stage is stage]
    return sum(sum(r.rows.values()) + sum(r.dropped.values()) for r in own)


def _refuse_to_wait(waiting: Waiting | None) -> None:
    if waiting is not None:
        raise StreamError("bench", waiting.reason, "Run it again when the registry answers")
