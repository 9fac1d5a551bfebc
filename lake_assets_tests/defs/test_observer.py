import time
from dataclasses import replace

import dagster as dg
import pytest

from lake_assets.defs import observer as room
from lake_assets.defs.freshness import NOTHING_NEW
from lake_assets.defs.observer import Observer, build
from lake_assets.defs.sources import keys_of_sources
from lake_assets.runtime.processes import boot_id
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.state.stream_stops import StreamStop, note_stop
from lake_assets.streams.source_standing import SourceStanding
from lake_assets.supervision.observations import RAREST_S, ObserverMemory
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import GAMES

TOPIC = "game-stream"
FITNESS = GAMES.model_copy(update={"feed": "fitness"})


def standing(end=10, taken=10, *, bronze=0):
    return SourceStanding(
        ends={(TOPIC, 0): end}, taken={(TOPIC, 0): taken}, bronze_rows_behind=bronze
    )


class Looks:
    """Looks of the observer one after the other, at a source that a test says."""

    def __init__(self, settings, instance, monkeypatch, *feeds):
        self.settings, self.instance, self.feeds = settings, instance, feeds or (GAMES,)
        self.memory, self.now, self.source = ObserverMemory(boot="b"), 1000.0, standing()
        monkeypatch.setattr(room, "source_standing", lambda *_: self.source)

    def look(self, *, after_s=60.0, is_outdated=False, runs_elsewhere=False):
        self.now += after_s
        found = Observer(
            settings=self.settings,
            feeds=self.feeds,
            sources=keys_of_sources(self.settings, self.feeds),
            memory=self.memory,
            now=self.now,
            is_outdated=is_outdated,
            runs_elsewhere=runs_elsewhere,
        )
        found.look(self.instance, None)
        self.memory = ObserverMemory.from_json(found.memory.to_json(), boot="b")
        return found.events

    def running(self, **facts):
        with streams_lock(self.settings.state_dir):
            beat = own_heartbeat("a run", progressed_at=0.0, waiting_for=None)
            write_heartbeat(self.settings.state_dir, beat)
            return self.look(**facts)


@pytest.fixture
def looks(settings, instance, monkeypatch):
    return Looks(settings, instance, monkeypatch)


def shown(events, kind, asset):
    """Metadata of the one event of a kind about an asset; None without one."""
    found = [e for e in events if isinstance(e, kind) and e.asset_key == dg.AssetKey(asset)]
    if not found:
        return None
    (event,) = found
    return {name: value.value for name, value in event.metadata.items()}


def check_in(events):
    (event,) = [e for e in events if isinstance(e, dg.AssetCheckEvaluation)]
    return event


def test_a_topic_is_observed_with_offsets_and_lag_as_numbers(looks):
    looks.source = standing(end=25, taken=10)
    found = shown(looks.running(), dg.AssetObservation, "game_stream")
    assert found == {
        "end_offset": 25,
        "taken_offset": 10,
        "lag_rows": 15,
        "lag_seconds": 0.0,
        "partitions": 1,
    }
    found = shown(looks.running(), dg.AssetObservation, "game_stream")
    assert found["lag_seconds"] == 60.0, "the first of them came at the first look at the latest"


def test_where_nothing_comes_it_is_observed_now_and_then_all_the_same(looks):
    assert shown(looks.running(), dg.AssetObservation, "game_stream")
    assert shown(looks.running(), dg.AssetObservation, "game_stream") is None
    assert shown(looks.running(after_s=RAREST_S), dg.AssetObservation, "game_stream")


def test_of_a_topic_that_two_feeds_read_the_lag_is_each_ones(settings, instance, monkeypatch):
    found = Looks(settings, instance, monkeypatch, GAMES, FITNESS).running()
    names = set(shown(found, dg.AssetObservation, "game_stream"))
    assert {"lag_rows_of_games", "lag_rows_of_fitness", "end_offset"} <= names
    assert "lag_rows" not in names


def test_a_source_that_does_not_answer_tells_nothing_and_is_not_fresh(looks):
    looks.source = None
    events = looks.running()
    assert shown(events, dg.AssetObservation, "game_stream") is None
    assert check_in(events).passed


def test_a_topic_that_was_made_anew_is_told_of(looks):
    looks.source = standing(end=5, taken=7)
    words = shown(looks.running(), dg.AssetObservation, "game_stream")["another_topic"]
    assert words.startswith(f"partition 0 of {TOPIC} ends at offset 5, and bronze has its rows up")


def test_the_graph_never_shows_bronze_as_older_than_ten_minutes(looks):
    assert shown(looks.running(), dg.AssetObservation, "bronze_games")
    assert shown(looks.running(), dg.AssetObservation, "bronze_games") is None
    events = looks.running(after_s=RAREST_S)
    assert shown(events, dg.AssetObservation, "bronze_games")["stream"] == "running"
    assert shown(events, dg.AssetObservation, "silver_events") is None


def test_a_stopped_stream_is_shown_at_once_on_bronze_and_silver(settings, looks):
    assert check_in(looks.running()).passed
    note_stop(settings.state_dir, "games", StreamStop(by="anna", reason="the topic moves"))
    events = looks.look(after_s=15.0)
    check = check_in(events)
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    words = "by anna (the topic moves)"
    assert check.metadata["stopped_deliberately"].value == words
    for asset in ("bronze_games", "silver_events"):
        assert shown(events, dg.AssetObservation, asset)["stopped_deliberately"] == words
    assert [e for e in looks.look(after_s=15.0) if not isinstance(e, dg.AssetObservation)] == []


def test_a_late_stream_and_one_with_older_definitions_warn_until_they_are_not(looks):
    looks.source = standing(end=25, taken=10)
    assert check_in(looks.running()).passed
    late = check_in(looks.running(after_s=61.0))
    assert (late.passed, late.metadata["lag_seconds"].value) == (False, 61.0)
    looks.source = standing(end=25, taken=25)
    assert check_in(looks.running()).passed
    old = check_in(looks.running(is_outdated=True))
    assert not old.passed
    assert "definitions" in old.metadata
    assert check_in(looks.running()).passed


def test_streams_that_are_gone_are_an_error_once_a_restart_takes_less(looks):
    looks.running()
    assert check_in(looks.look(after_s=15.0)).passed
    gone = check_in(looks.look(after_s=121.0))
    assert (gone.passed, gone.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert check_in(looks.look(runs_elsewhere=True)).passed


def test_an_idle_feed_that_is_well_is_told_of_as_fresh(instance, looks, monkeypatch):
    for asset in ("bronze_games", "silver_events"):
        instance.report_runless_asset_event(dg.AssetMaterialization(asset))
    assert shown(looks.running(), dg.AssetMaterialization, "bronze_games") is None
    later = time.time() + 1700
    monkeypatch.setattr(time, "time", lambda: later)
    events = looks.running()
    assert shown(events, dg.AssetMaterialization, "bronze_games")[NOTHING_NEW]
    assert shown(events, dg.AssetMaterialization, "silver_events")[NOTHING_NEW]


@pytest.mark.parametrize("source", [standing(end=11), standing(bronze=1), standing(end=9), None])
def test_one_that_lacks_rows_or_cannot_be_asked_is_not(instance, looks, monkeypatch, source):
    instance.report_runless_asset_event(dg.AssetMaterialization("bronze_games"))
    later = time.time() + 1700
    monkeypatch.setattr(time, "time", lambda: later)
    looks.source = source
    assert shown(looks.running(), dg.AssetMaterialization, "bronze_games") is None


def test_nor_is_one_that_is_stopped_or_does_not_run(settings, instance, looks, monkeypatch):
    instance.report_runless_asset_event(dg.AssetMaterialization("bronze_games"))
    later = time.time() + 1700
    monkeypatch.setattr(time, "time", lambda: later)
    assert shown(looks.look(), dg.AssetMaterialization, "bronze_games") is None
    note_stop(settings.state_dir, "games", StreamStop())
    assert shown(looks.running(), dg.AssetMaterialization, "bronze_games") is None


@pytest.mark.kafka
def test_the_sensor_asks_a_real_broker_and_says_what_it_found(settings, instance, services):
    topic = Topic(services)
    topic.produce(framed(topic.register(0)), framed(1))
    kafka = settings.kafka.model_copy(update={"bootstrap_servers": services.kafka})
    registry = settings.registry.model_copy(update={"url": services.registry})
    connected = settings.model_copy(update={"kafka": kafka, "registry": registry})
    (sensor,) = build(connected, [topic.feed()]).sensors or ()
    told = sensor(dg.build_sensor_context(instance=instance))
    assert "games: not running, 2 rows and 0 s behind" in str(told.skip_reason.skip_message)
    asset = topic.name.replace("-", "_")
    assert shown(told.asset_events, dg.AssetObservation, asset)["lag_rows"] == 2
    memory = ObserverMemory.from_json(told.cursor, boot=boot_id())
    assert memory == replace(memory, boot=boot_id())
    again = sensor(dg.build_sensor_context(instance=instance, cursor=told.cursor))
    assert again.asset_events == []
