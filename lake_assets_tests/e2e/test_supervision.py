"""`dagster dev` with everything in it, killed in every way, and what is left of the streams."""

import signal
import uuid
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import psutil
import pytest
from dagster import DagsterRunStatus as Status
from pydantic import SecretStr

from lake_assets.alerts.outbox import read_book
from lake_assets.defs.internals.materializations import latest_id, latest_ids
from lake_assets.defs.keys import key_partitions
from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.feeds.load import load_feeds
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.processes import is_alive
from lake_assets.services.control import locate
from lake_assets.settings.alerts import AlertSettings
from lake_assets.settings.schema import Settings, StreamSettings
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.produce import produce
from lake_assets.simulator.script import Script
from lake_assets.state.files import is_locked, read_heartbeat
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.local import LocalStore
from lake_assets_tests.e2e.dev import Dev, wait_for
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.slow, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900)]

GAMES = ("uno", "poker")
BRONZE, SILVER, GOLD = map(dg.AssetKey, ("bronze_games", "silver_events", "gold_player_agg"))

FEED = """
feed: games
source: {kafka: {topic: TOPIC}}
payload: {protobuf: {subject: TOPIC-value}}
route: {column: game_name, keys: [uno, poker]}
expectations:
  - {name: gamer_is_known, sql: "gamer_id <> ''", action: drop}
"""

VIEW = """
gold:
  - {name: player_agg, keys: [gamer_id], measures: {sessions: count(*)}, schedule: "0 0 1 1 *"}
"""
"""It does not tick while anybody waits, so what is told of a view later is told by its table."""


@pytest.fixture
def topic() -> str:
    """One for each test: they share the broker."""
    return f"supervised-{uuid.uuid4()}"


@pytest.fixture
def gold() -> str:
    """The feed's gold views."""
    return VIEW


@pytest.fixture
def rotate_after_s() -> float:
    """How long a run of the streams lasts: longer than a test."""
    return 86_400.0


@pytest.fixture
def connected(
    connected: Settings, tmp_path: Path, topic: str, gold: str, rotate_after_s: float
) -> Settings:
    """With a feed whose topic is this test's own."""
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    (feeds / "games.yaml").write_text(FEED.replace("TOPIC", topic) + gold)
    # A batch each second costs as much as all the rest of these tests.
    stream = StreamSettings(
        trigger_s=5,
        report_every_s=5,
        report_events_per_day=10**9,
        rotate_run_after_h=rotate_after_s / 3600,
    )
    # Nobody listens there, so alerts are kept.
    alerts = AlertSettings(webhook_url=SecretStr("http://127.0.0.1:9/"))
    return connected.model_copy(update={"feeds": feeds, "stream": stream, "alerts": alerts})


@pytest.fixture
def send(connected: Settings, topic: str) -> Callable[[int], None]:
    """Sends so many events more."""

    def run(events: int) -> None:
        script = Script(events=events, versions=1)
        endpoints = locate(connected)
        produce(endpoints, topic, GameEvents(endpoints, f"{topic}-value", GAMES), script)

    return run


@pytest.fixture
def rows_in_silver(connected: Settings) -> Callable[[], int]:
    """Counts silver's rows."""

    def count() -> int:
        tables = [open_table(LocalStore.at(connected.lake_dir), silver_of(key)) for key in GAMES]
        return sum(rows_of(table) for table in tables if table)

    return count


def runs(instance: dg.DagsterInstance, *statuses: Status) -> list[str]:
    """Ids of the streams' runs with one of these statuses."""
    filters = dg.RunsFilter(job_name="streams", statuses=list(statuses))
    return [run.run_id for run in instance.get_runs(filters)]


def holder(settings: Settings) -> Heartbeat | None:
    """Who says of itself that it runs the streams, while somebody does."""
    beat = read_heartbeat(settings.state_dir)
    return beat if beat and is_locked(settings.state_dir) and is_alive(beat.process) else None


def wait_for_holder(settings: Settings, *, but: Heartbeat | None = None) -> Heartbeat:
    """The process that runs the streams, once one does."""

    def is_new() -> bool:
        beat = holder(settings)
        return beat is not None and (but is None or beat.owner != but.owner)

    wait_for(is_new, "a run of the streams", within_s=180)
    found = holder(settings)
    assert found
    return found


def wait_for_rows(rows_in_silver: Callable[[], int], expected: int) -> None:
    """Silver has so many rows, and no more."""
    wait_for(lambda: rows_in_silver() >= expected, f"{expected} rows in silver", within_s=240)
    assert rows_in_silver() == expected


def wait_until_all_is_told(instance: dg.DagsterInstance, settings: Settings) -> None:
    """Dagster has heard of all tables, and of the games."""
    wait_for(lambda: set(latest_ids(instance, SILVER, GAMES)) == set(GAMES), "silver", within_s=240)
    wait_for(lambda: set(latest_ids(instance, GOLD, GAMES)) == set(GAMES), "gold", within_s=300)
    assert latest_id(instance, BRONZE) is not None
    (feed,) = load_feeds(settings.feeds)
    partitions = str(key_partitions(feed, lake_id(settings)).name)
    assert set(instance.get_dynamic_partitions(partitions)) == set(GAMES)


def wait_until_checked(instance: dg.DagsterInstance) -> None:
    """The expectation held for both games."""
    wait_for(lambda: checked(instance) == dict.fromkeys(GAMES, "SUCCEEDED"), "checks", within_s=120)


def checked(instance: dg.DagsterInstance) -> dict[str | None, str]:
    """By game, how its expectation fares."""
    check = dg.AssetCheckKey(SILVER, "gamer_is_known")
    found = instance.event_log_storage.get_asset_check_partition_info([check])
    return {info.partition_key: info.latest_execution_status.value for info in found}


def _kill_streams(connected: Settings) -> tuple[Heartbeat, Heartbeat]:
    """Kill their process alone: it and who follows it; nothing that it started is left."""
    first = wait_for_holder(connected)
    process = psutil.Process(first.pid)
    children = process.children(recursive=True)
    process.kill()
    wait_for(lambda: not any(child.is_running() for child in children), "no JVM", within_s=180)
    return first, wait_for_holder(connected, but=first)


@pytest.mark.timeout(1500)
def test_streams_come_back_after_a_kill_and_what_dagster_tells_when_its_storage_is_lost(
    dev: Dev, connected: Settings, send, rows_in_silver
):
    """It is lost twice: streams live on beside what is deleted, then they die with `dagster dev`.

    One lake for all of it: each start of `dagster dev` and of Spark costs as much as the rest.
    """
    send(2000)
    with dg.DagsterInstance.from_config(str(dev.home)) as instance:
        dev.start()
        wait_until_all_is_told(instance, connected)
        wait_until_checked(instance)
        assert runs(instance, Status.STARTED) == [wait_for_holder(connected).owner]
        first, second = _kill_streams(connected)
        assert runs(instance, Status.FAILURE) == [first.owner]
        assert runs(instance, Status.STARTED) == [second.owner]

    for rows, end in ((2000, Dev.terminate_alone), (3000, Dev.kill)):
        before = wait_for_holder(connected)
        end(dev)
        dev.forget()
        with dg.DagsterInstance.from_config(str(dev.home)) as instance:
            dev.start()
            after = wait_for_holder(connected, but=before)
            assert runs(instance, Status.STARTED) == [after.owner]
            # Nothing came meanwhile: all of this is said by the tables.
            wait_until_all_is_told(instance, connected)
            assert rows_in_silver() == rows

            send(1000)
            wait_for_rows(rows_in_silver, rows + 1000)
            wait_until_checked(instance)
            assert runs(instance, Status.FAILURE, Status.CANCELED) == []

    dev.signal_group(signal.SIGINT)
    dev.wait_until_gone(within_s=180)
    assert not is_locked(connected.state_dir)


# No gold: each refresh would cost a JVM beside the one that is looked at.
@pytest.mark.parametrize("gold", [""])
def test_at_most_one_run_lives_whatever_becomes_of_dev(
    dev: Dev, instance: dg.DagsterInstance, connected: Settings, send, rows_in_silver
):
    send(2000)
    dev.start()
    first = wait_for_holder(connected)

    dev.terminate_alone()
    dev.start()
    adopted = f"the streams are running: pid {first.pid}"
    wait_for(lambda: adopted in dev.new_log(), "adopted by the next dev", within_s=180)
    assert wait_for_holder(connected).pid == first.pid
    wait_for(lambda: rows_in_silver() == 2000, "the first rows in silver", within_s=180)

    dev.signal_group(signal.SIGKILL)
    dev.wait_until_gone(within_s=180)
    assert not is_locked(connected.state_dir)
    send(1000)
    dev.start()
    second = wait_for_holder(connected, but=first)
    assert runs(instance, Status.FAILURE) == [first.owner]
    assert runs(instance, Status.STARTED) == [second.owner]
    wait_for_rows(rows_in_silver, 3000)


@pytest.mark.parametrize("gold", [""])
# Shorter than a start of Spark, which does not count.
@pytest.mark.long
@pytest.mark.parametrize("rotate_after_s", [10])
def test_a_run_whose_time_is_over_is_followed_by_the_next(
    dev: Dev, instance: dg.DagsterInstance, connected: Settings, send, rows_in_silver
):
    send(1000)
    dev.start()
    first = wait_for_holder(connected)
    wait_for(lambda: rows_in_silver() == 1000, "the first rows in silver", within_s=240)
    wait_for(lambda: runs(instance, Status.SUCCESS) == [first.owner], "its end", within_s=240)
    send(1000)
    second = wait_for_holder(connected, but=first)
    wait_for_rows(rows_in_silver, 2000)
    assert first.owner in runs(instance, Status.SUCCESS)
    assert runs(instance, Status.FAILURE, Status.CANCELED) == []
    assert second.owner != first.owner
    assert read_book(connected.state_dir)[0].letters == ()
    dev.signal_group(signal.SIGINT)
    dev.wait_until_gone(within_s=180)
