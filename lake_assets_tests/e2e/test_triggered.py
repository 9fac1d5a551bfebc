"""Feeds with a schedule: by a real `dagster dev`, beside streams and without any, and by hand."""

import re
import signal

import dagster as dg
import psutil
import pytest
from dagster import DagsterRunStatus as Status

from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.feeds.load import load_feeds
from lake_assets.state.files import is_locked, read_heartbeat
from lake_assets.state.run_notes import run_note_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.e2e.dev import ROOT, wait_for
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.table_logs import rows_in

pytestmark = [pytest.mark.slow, pytest.mark.kafka, pytest.mark.spark]

FEED = """
feed: {name}
source: {{kafka: {{topic: {topic}}}}}
payload: {{protobuf: {{subject: {topic}-value}}}}
route: {{column: game_name, keys: [{key}]}}
expectations: [{{name: known, sql: "gamer_id <> ''"}}]
gold: [{{name: agg, keys: [gamer_id], measures: {{events: count(*)}}, refresh: live}}]
"""

EACH_MINUTE = 'run: "* * * * *"'


class Lake:
    """A lake of feeds whose topics are a test's own."""

    def __init__(self, settings, services, folder):
        folder.mkdir()
        self.settings = settings.model_copy(update={"feeds": folder})
        self._services = services
        self._topics: dict[str, Topic] = {}

    def declare(self, name, key, more="", text=FEED):
        """Declare a feed; of a page's text, `game-stream` is the test's own topic."""
        topic = self._topics.setdefault(name, Topic(self._services))
        if text is FEED:
            text = FEED.format(name=name, topic=topic.name, key=key) + more
        text = text.replace("game-stream", topic.name)
        (self.settings.feeds / f"{name}.yaml").write_text(text)
        topic.produce()

    def produce(self, name, key, *gamers):
        topic = self._topics[name]
        topic.produce(*(framed(topic.register(0), key, gamer=gamer) for gamer in gamers))

    def feed(self, name):
        return next(feed for feed in load_feeds(self.settings.feeds) if feed.feed == name)

    def gamers(self, name, key):
        """Those in silver and those in gold, with how often each is there."""
        feed = self.feed(name)
        silver = self._rows(feed.silver_table(key))
        gold = self._rows(feed.gold_table(feed.gold[0], key))
        return sorted(row["gamer_id"] for row in silver), {r["gamer_id"]: r["events"] for r in gold}

    def _rows(self, table):
        """None of a table that is not there, or was made a moment ago."""
        handle = open_table(LocalStore.at(self.settings.lake_dir), table)
        if handle is None or not rows_of(handle):
            return []
        return rows_in(self.settings.lake_dir / table.relative).to_pylist()

    def wait_for_gamers(self, name, key, *gamers):
        expected = (sorted(gamers), {gamer: gamers.count(gamer) for gamer in gamers})
        wait_for(
            lambda: self.gamers(name, key) == expected,
            lambda: f"{expected}, but {self.gamers(name, key)}",
            within_s=240,
        )


@pytest.fixture
def world(connected, services, tmp_path):
    return Lake(connected, services, tmp_path / "feeds")


@pytest.fixture
def connected(connected, tmp_path):
    """What `dagster dev` is started with has the feeds of the test."""
    return connected.model_copy(update={"feeds": tmp_path / "feeds"})


def runs_of(instance, job, *statuses):
    filters = dg.RunsFilter(job_name=job, statuses=list(statuses))
    return [run.run_id for run in instance.get_runs(filters)]


def owner(settings):
    beat = read_heartbeat(settings.state_dir)
    return beat.owner if beat and is_locked(settings.state_dir) else None


def told_by(instance, asset, key):
    """The run that materialized a partition last."""
    ids = latest_ids(instance, dg.AssetKey(asset), [key])
    (record,) = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=dg.AssetKey(asset), storage_ids=list(ids.values())),
        limit=1,
    ).records
    return record.run_id


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_schedules_run_is_done_by_the_streams_of_another_feed_that_run(world, dev, instance):
    world.declare("hourly", "uno", EACH_MINUTE)
    world.declare("live", "go")
    world.produce("live", "go", "bob")
    dev.start()
    world.wait_for_gamers("live", "go", "bob")
    (streams,) = runs_of(instance, "streams", Status.STARTED)
    world.produce("hourly", "uno", "ann", "ann")
    world.wait_for_gamers("hourly", "uno", "ann", "ann")
    # A tick before there were rows may have had a run, which recorded where the topic begins.
    job = "run_feed_hourly"
    wait_for(
        lambda: runs_of(instance, job)[:1] == runs_of(instance, job, Status.SUCCESS)[:1],
        "the run's end",
        within_s=120,
    )
    runs = runs_of(instance, job)
    run = runs[0]
    assert owner(world.settings) == streams
    # Told by the run, as the streams tell of theirs.
    assert told_by(instance, "silver_hourly_events", "uno") == run
    assert told_by(instance, "gold_hourly_agg", "uno") == run
    assert told_by(instance, "silver_live_events", "go") == streams
    (check,) = instance.event_log_storage.get_asset_check_partition_info(
        [dg.AssetCheckKey(dg.AssetKey("silver_hourly_events"), "known")]
    )
    assert (check.partition_key, check.latest_execution_status.value) == ("uno", "SUCCEEDED")

    # A tick without anything new starts nothing, and tells that all is there.
    complete_at = run_note_of(world.settings.state_dir, "hourly").complete_at
    wait_for(
        lambda: run_note_of(world.settings.state_dir, "hourly").complete_at != complete_at,
        "a tick that finds nothing new",
        within_s=120,
    )
    assert runs_of(instance, job) == runs

    # Streams that die are started again, and take the next run.
    psutil.Process(read_heartbeat(world.settings.state_dir).pid).kill()
    world.produce("hourly", "uno", "eve")
    world.wait_for_gamers("hourly", "uno", "ann", "ann", "eve")
    wait_for(
        lambda: runs_of(instance, "streams", Status.STARTED) not in ([], [streams]),
        "other streams",
        within_s=120,
    )
    dev.signal_group(signal.SIGINT)
    dev.wait_until_gone(within_s=120)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_without_streams_a_run_brings_its_own_spark_and_a_killed_one_is_made_up_for(
    world, dev, instance
):
    world.declare("hourly", "uno", EACH_MINUTE)
    world.declare("daily", "go", EACH_MINUTE)
    world.produce("hourly", "uno", "ann")
    world.produce("daily", "go", "bob")
    dev.start()
    world.wait_for_gamers("hourly", "uno", "ann")
    world.wait_for_gamers("daily", "go", "bob")
    assert runs_of(instance, "streams") == []
    job = "run_feed_hourly"
    wait_for(lambda: not is_locked(world.settings.state_dir), "the runs' end", within_s=120)

    world.produce("hourly", "uno", *["eve"] * 50)
    wait_for(lambda: runs_of(instance, job, Status.STARTED), "a run", within_s=120)
    (killed,) = runs_of(instance, job, Status.STARTED)
    wait_for(lambda: owner(world.settings) == killed, "the run at work", within_s=120)
    psutil.Process(read_heartbeat(world.settings.state_dir).pid).kill()
    wait_for(lambda: killed in runs_of(instance, job, Status.FAILURE), "its end", within_s=120)
    world.wait_for_gamers("hourly", "uno", "ann", *["eve"] * 50)
    wait_for(
        lambda: runs_of(instance, job, Status.SUCCESS)[:1] > [], "another run's end", within_s=120
    )
    assert runs_of(instance, "streams") == []
    dev.signal_group(signal.SIGINT)
    dev.wait_until_gone(within_s=120)


def blocks_of_the_page():
    page = (ROOT / "docs/scheduled-feeds.md").read_text()
    (declared,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (shell,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    commands = [line.split("#")[0].split() for line in shell.splitlines()]
    assert all(command[0] == ".venv/bin/lake-assets" for command in commands)
    return declared, [command[1:] for command in commands]


def test_the_example_of_the_page_runs_a_feed_by_hand(world):
    declared, commands = blocks_of_the_page()
    world.declare("games", "uno", text=declared)
    world.produce("games", "uno", "ann", "bob")
    for command in commands:
        done = lake_assets_here(world.settings, *command)
        assert done.returncode == 0, done.stderr
    assert world.gamers("games", "uno") == (["ann", "bob"], {"ann": 1, "bob": 1})
    assert "games runs next at " in lake_assets_here(world.settings, "tables").stdout
    refused = lake_assets_here(world.settings, "stream", "--until-caught-up")
    assert refused.returncode == 1
    assert "feeds: all have a schedule of their own (`run`): games" in refused.stderr
