"""Two lakes with the same feed, each a code location of one Dagster instance."""

import dagster as dg
import pytest
import yaml
from dagster import DagsterRunStatus as Status
from dagster._utils.tags import TagConcurrencyLimitsCounter

from lake_assets.definitions import assemble
from lake_assets.defs import gold, streams
from lake_assets.defs.lake_scope import LAKE, UNFINISHED, add_keys, known_keys, lake_tags, runs_of
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.e2e.dev import ROOT
from lake_assets_tests.sample import GAMES, WITHOUT_ROUTE

KEYS = {"keys": (*GAMES.route.keys, "chess")}
MORE = GAMES.model_copy(update={"route": GAMES.route.model_copy(update=KEYS)})


@pytest.fixture
def other(settings, tmp_path):
    """Settings of another lake."""
    return settings.model_copy(update={"home": tmp_path / "other"})


def test_a_lake_finds_its_own_runs(instance, run, lake):
    mine, theirs = run(Status.STARTED), run(Status.STARTED, of="another")
    ids = {r.run_id for r in instance.get_runs(runs_of(lake, UNFINISHED))}
    assert (mine in ids, theirs in ids) == (True, False)
    assert not instance.get_runs(runs_of(lake, UNFINISHED, job_name="rebuild"))
    assert not instance.get_runs(runs_of(lake, [Status.FAILURE]))


def test_every_job_says_whose_it_is(settings, lake):
    repository = assemble(settings, [GAMES]).get_repository_def()
    jobs = {name: repository.get_job(name) for name in repository.job_names if "__" not in name}
    assert {name: job.tags[LAKE] for name, job in jobs.items()} == dict.fromkeys(jobs, lake)


def test_each_lake_has_its_own_games(stored, settings, other):
    found = [
        known_keys(stored, one, feed, lake_id(one))
        for one, feed in ((settings, GAMES), (other, MORE))
    ]
    assert found == [["uno", "go_fish"], ["uno", "go_fish", "chess"]]


def test_a_feed_without_a_route_has_the_one_partition(stored, settings, lake):
    assert known_keys(stored, settings, WITHOUT_ROUTE, lake) == ["clicks"]
    assert stored.get_dynamic_partitions(f"clicks_{lake}") == ["clicks"]


def test_games_that_are_known_keep_their_place(stored, lake):
    assert add_keys(stored, GAMES, lake, ["b"]) == ["b"]
    assert add_keys(stored, GAMES, lake, ["a", "b", "c"]) == ["b", "a", "c"]
    assert stored.get_dynamic_partitions(f"games_{lake}") == ["b", "a", "c"]


def test_games_of_the_first_release_are_found_in_the_lake(stored, settings, lake):
    """It kept them for all lakes together; those of others are left where they are."""
    stored.add_dynamic_partitions("games", ["uno", "go_fish", "chess", "of another lake"])
    assert known_keys(stored, settings, MORE, lake) == ["uno", "go_fish", "chess"]
    assert len(stored.get_dynamic_partitions("games")) == 4


def test_the_sensors_of_two_lakes_leave_each_others_runs_alone(stored, settings, other):
    """However slowly they start, and whatever became of their processes."""
    ids = {}
    for one in (settings, other):
        lake, tags = lake_id(one), lake_tags(lake_id(one))
        job = streams.job(one, [GAMES])
        ids[lake] = stored.create_run_for_job(job, status=Status.STARTING, tags=tags).run_id
    for one in (settings, other):
        repository = assemble(one, [GAMES]).get_repository_def()
        lake = lake_id(one)
        cursor = None
        with dg.build_sensor_context(
            instance=stored, cursor=cursor, repository_def=repository
        ) as context:
            done = repository.get_sensor_def("supervisor").evaluate_tick(context)
        assert ids[lake] in str(done.skip_message)
        assert not done.run_requests
    assert {r.run_id: r.status for r in stored.get_runs()} == dict.fromkeys(
        ids.values(), Status.STARTING
    )


@pytest.mark.parametrize("tags", [streams.run_tags, gold.run_tags])
def test_each_lake_has_its_own_limits(stored, tags):
    limits = yaml.safe_load((ROOT / "dagster.yaml").read_text())["concurrency"]["runs"]

    @dg.job
    def it():
        """Any."""

    first, second, another = (
        stored.create_run_for_job(it, tags=tags(lake)) for lake in ("a", "a", "b")
    )
    counter = TagConcurrencyLimitsCounter(limits["tag_concurrency_limits"], [first])
    assert (counter.is_blocked(second), counter.is_blocked(another)) == (True, False)
