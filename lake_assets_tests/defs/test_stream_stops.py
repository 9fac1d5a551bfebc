import dagster as dg
import pytest

from lake_assets.defs.stream_stops import start_job, stop_job
from lake_assets.errors import FeedError
from lake_assets.state.stream_stops import stop_of
from lake_assets_tests.sample import GAMES

FITNESS = GAMES.model_copy(update={"feed": "fitness"})
HOURLY = GAMES.model_copy(update={"feed": "hourly", "run": "0 * * * *"})


@pytest.fixture
def launch(settings, instance):
    """Runs one of the jobs as the launchpad does; what it told of assets."""

    def run(make, **form):
        job = make(settings, [GAMES, FITNESS, HOURLY])
        (op,) = job.graph.nodes
        done = job.execute_in_process(
            instance=instance, run_config={"ops": {op.name: {"config": form}}}
        )
        events = [e.asset_observation_data for e in done.all_events if e.is_asset_observation]
        return {e.asset_observation.asset_key.to_user_string(): e for e in events}

    return run


def told(found, asset):
    return {k: v.value for k, v in found[asset].asset_observation.metadata.items()}


def test_a_stream_is_stopped_and_its_assets_say_so(settings, launch):
    found = launch(stop_job, feed="fitness", reason="the trackers move")
    assert set(found) == {"bronze_fitness", "silver_fitness_events"}
    shown = told(found, "bronze_fitness")
    assert shown["stream"] == "stopped deliberately"
    assert shown["reason"] == "the trackers move"
    stop = stop_of(settings.state_dir, "fitness")
    assert (shown["stopped_by"], shown["stopped_at"]) == (stop.by, stop.at)
    assert stop.by.endswith("of stop_stream")
    assert stop_of(settings.state_dir, "games") is None


def test_a_stopped_stream_is_started_and_its_assets_say_so(settings, launch):
    launch(stop_job, feed="games")
    found = launch(start_job)
    assert set(found) == {"bronze_games", "silver_events"}, "fitness was never stopped"
    assert told(found, "bronze_games")["stream"] == "started again"
    assert stop_of(settings.state_dir, "games") is None


def test_a_blank_form_means_all_that_the_streams_run(settings, launch):
    launch(stop_job)
    stopped = [f for f in ("games", "fitness", "hourly") if stop_of(settings.state_dir, f)]
    assert stopped == ["games", "fitness"]


@pytest.mark.parametrize(
    ("feed", "match"), [("gmaes", "games"), ("hourly", "Turn off the schedule")]
)
def test_what_cannot_be_stopped_is_refused_with_what_can(launch, feed, match):
    with pytest.raises(FeedError, match=match):
        launch(stop_job, feed=feed)


def test_the_form_says_what_its_fields_mean(settings):
    fields = stop_job(settings, [GAMES]).get_node_named("stop").definition.config_field
    described = {name: one.description for name, one in fields.config_type.fields.items()}
    assert described["feed"].endswith("blank: all feeds that the streams run.")
    assert isinstance(dg.Definitions(jobs=[stop_job(settings, [GAMES])]), dg.Definitions)
