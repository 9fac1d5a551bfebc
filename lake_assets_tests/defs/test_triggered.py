from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest
from dagster import DagsterRunStatus as Status
from deltalake import write_deltalake

from lake_assets.definitions import assemble
from lake_assets.defs import triggered
from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.processes import PROCESS
from lake_assets.defs.triggered import build, job, job_name, run_tags, schedule_name
from lake_assets.errors import ExpectationFailedError, SourceError
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.model.reports import (
    BatchReport,
    GoldRefreshed,
    Judged,
    Refreshed,
    RefreshReport,
    Stage,
    ViewRefresh,
)
from lake_assets.model.sources import Source
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import KafkaSettings
from lake_assets.state.run_notes import run_note_of
from lake_assets.streams.run import Tick
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.first_run import begin
from lake_assets_tests.sample import GAMES, silver_of

HOURLY = GAMES.model_copy(update={"run": "0 * * * *"})

SILVER = dg.AssetKey("silver_events")

INGEST = BatchReport(feed="games", stage=Stage.INGEST, batch_id=0, rows={"bronze_games": 2})
DEMUX = BatchReport(
    feed="games",
    stage=Stage.DEMUX,
    batch_id=0,
    rows={"silver_uno_events": 2},
    judged={("uno", "gamer_is_known"): Judged(seen=2, violated=1)},
)


@pytest.fixture
def execute(settings, instance):
    """Executes the job of a run that does and meets what a test says."""
    for table in (bronze_of("games"), silver_of("uno")):
        write_deltalake(settings.lake_dir / table.relative, pa.table({"n": [1, 2]}))

    def run(*events, problem=None):
        closed, asked = [], []

        def streams(_settings, feeds, feed, _locate, *, owner, are_coming):
            asked.append((feeds, feed, instance.get_run_by_id(owner).tags, are_coming()))
            try:
                yield from events
                if problem:
                    raise problem
            finally:
                closed.append(True)

        found = job(settings, [HOURLY], HOURLY, streams).execute_in_process(
            instance=instance, raise_on_error=False
        )
        assert closed == [True]
        return found, *asked

    return run


def test_a_run_tells_of_tables_and_checks_as_the_streams_do(execute, instance):
    done, (feeds, feed, tags, are_coming) = execute(INGEST, Tick(), DEMUX)
    assert done.success
    assert (feeds, feed, are_coming) == ([HOURLY], HOURLY, False)
    assert PROCESS in tags
    *_, event = [
        e.materialization for e in done.get_asset_materialization_events() if e.asset_key == SILVER
    ]
    assert (event.partition, event.metadata["rows_added"].value) == ("uno", 2)
    assert event.metadata["dagster/partition_row_count"].value == 2
    (info,) = instance.event_log_storage.get_asset_check_partition_info(
        [dg.AssetCheckKey(SILVER, "gamer_is_known")]
    )
    assert (info.partition_key, info.latest_execution_status.value) == ("uno", "FAILED")


def test_a_run_tells_of_the_views_over_tables_that_its_feed_fills(settings, instance):
    gold = GAMES.gold_table(GAMES.gold[0], "uno")
    write_deltalake(settings.lake_dir / gold.relative, pa.table({"n": [1]}))
    twin = HOURLY.model_copy(update={"feed": "twin", "into": "games", "gold": ()})
    twin = twin.beside([GAMES])
    view = ViewRefresh(key="uno", view=GAMES.gold[0].name, rows=1, silver_version=0)
    report = RefreshReport(refreshed=(view,), up_to_date=())
    told = GoldRefreshed(feed="games", refreshed=Refreshed(reports=[report]))

    def streams(*_, **__):
        yield told

    done = job(settings, [GAMES, twin], twin, streams).execute_in_process(instance=instance)
    (event,) = done.get_asset_materialization_events()
    assert (event.asset_key.path, event.partition) == (["gold_player_agg"], "uno")


@pytest.mark.parametrize(
    "problem",
    [
        SourceError("topic 'a'", "is away", "Start the broker"),
        ExpectationFailedError("known", "uno", "1 of 2 rows"),
    ],
)
def test_a_run_that_fails_has_told_what_it_did_before(execute, instance, problem):
    done, _ = execute(INGEST, DEMUX, problem=problem)
    assert not done.success
    assert set(latest_ids(instance, SILVER, ["uno"])) == {"uno"}


def test_a_feed_with_a_schedule_has_a_job_and_a_schedule_beside_all_else(settings):
    other = GAMES.model_copy(update={"feed": "chess", "route": None, "gold": ()})
    alone = assemble(settings, [GAMES, other]).get_repository_def()
    found = assemble(settings, [HOURLY, other])
    dg.Definitions.validate_loadable(found)
    repository = found.get_repository_def()
    assert {*repository.job_names} - {*alone.job_names} == {"run_feed_games"}
    assert {s.name for s in repository.schedule_defs} - {s.name for s in alone.schedule_defs} == {
        "run_feed_games_schedule"
    }
    keys = repository.asset_graph.get_all_asset_keys()
    assert keys == alone.asset_graph.get_all_asset_keys()
    assert repository.get_schedule_def("run_feed_games_schedule").cron_schedule == "0 * * * *"


def test_a_table_of_a_database_is_an_asset_that_is_read_on_its_schedule(settings):
    declared = {"url": "postgresql://db/b", "table": "t", "watermark": "w", "key": ["k"]}
    source = Source(postgres=PostgresSource(**declared))
    payload = Payload(json_=JsonPayload(ddl="game_name string"))
    feed = HOURLY.model_copy(update={"source": source, "payload": payload, "gold": ()})
    repository = assemble(settings, [feed]).get_repository_def()
    graph = repository.asset_graph
    assert graph.get(dg.AssetKey("bronze_games")).parent_keys == {dg.AssetKey("postgres_of_games")}
    assert graph.get(dg.AssetKey("postgres_of_games")).kinds == {"postgres"}
    assert repository.get_schedule_def("run_feed_games_schedule").cron_schedule == "0 * * * *"


def test_a_feed_may_be_called_as_the_streams(settings):
    odd = HOURLY.model_copy(update={"feed": "streams", "gold": ()})
    dg.Definitions.validate_loadable(assemble(settings, [odd]))


@pytest.fixture
def tick(stored):
    """One tick of the schedule of a feed."""

    def look(settings, feed):
        schedule = build(settings, [feed]).resolve_schedule_def(schedule_name(settings, feed))
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return schedule(dg.build_schedule_context(instance=stored, scheduled_execution_time=at))

    return look


def test_where_nothing_answers_the_run_says_so(settings, tick):
    gone = settings.model_copy(update={"kafka": KafkaSettings(bootstrap_servers="127.0.0.1:1")})
    for known in (settings, gone):
        assert isinstance(tick(known, HOURLY), dg.RunRequest)
    assert run_note_of(settings.state_dir, "games").complete_at is None


def test_a_run_that_is_under_way_is_not_doubled(settings, tick, stored, lake):
    run = job(settings, [HOURLY], HOURLY)
    assert run.tags["lake_assets/run"] == f"{lake}.games"
    stored.create_run_for_job(run, status=Status.STARTED, tags=run_tags(lake, HOURLY))
    assert tick(settings, HOURLY) == dg.SkipReason("The last run is still under way")


def test_runs_of_another_lake_hold_up_none(settings, tick, stored):
    run = job(settings, [HOURLY], HOURLY)
    stored.create_run_for_job(run, status=Status.STARTED, tags=lake_tags("another"))
    assert job_name(settings, HOURLY) == run.name
    assert isinstance(tick(settings, HOURLY), dg.RunRequest)


@pytest.mark.kafka
def test_a_topic_without_anything_new_starts_nothing_and_counts_as_taken(connected, services, tick):
    topic = Topic(services)
    feed = topic.feed(run="0 * * * *")
    topic.produce()
    assert isinstance(tick(connected, feed), dg.RunRequest)  # which records where it begins
    begin(connected, feed, services)
    assert tick(connected, feed) == dg.SkipReason(f"`{topic.name}` has nothing new")
    assert run_note_of(connected.state_dir, "games").complete_at is not None
    topic.produce(framed(topic.register(0)))
    assert isinstance(tick(connected, feed), dg.RunRequest)


def test_rows_of_which_dagster_knows_nothing_are_told_of_by_a_run(
    settings, tick, stored, monkeypatch
):
    """As after the loss of its storage."""
    monkeypatch.setattr(triggered, "is_run_needed", lambda *_: False)
    assert isinstance(tick(settings, HOURLY), dg.SkipReason)
    table = settings.lake_dir / bronze_of("games").relative
    write_deltalake(table, pa.table({"n": [1, 2]}))
    assert isinstance(tick(settings, HOURLY), dg.RunRequest)
    stored.report_runless_asset_event(dg.AssetMaterialization("bronze_games"))
    assert isinstance(tick(settings, HOURLY), dg.SkipReason)


def test_a_feed_that_runs_when_asked_has_a_job_and_no_schedule(settings):
    defs = build(settings, [GAMES.model_copy(update={"run": "manual"})])
    assert [one.name for one in defs.jobs] == ["run_feed_games"]
    assert list(defs.schedules) == []
