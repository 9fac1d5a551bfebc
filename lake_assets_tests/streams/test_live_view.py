import queue
import threading
import time

import pytest
from deltalake import DeltaTable

from lake_assets.gold.run import Warm
from lake_assets.gold.view_turns import turn_of, turn_of_view_if_free
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import GoldRefreshed, ViewFailed
from lake_assets.settings.schema import StreamSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import turn
from lake_assets.state.refresh_strikes import strikes_of
from lake_assets.streams.live_view import LiveView
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.refresh_answers import NotRefreshedHereError
from lake_assets.streams.view_orders import Beside
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES

pytestmark = pytest.mark.spark

LIVE = GoldView(name="top", keys=["gamer_id"], measures={"n": "count(*)"}, refresh="live")

SLOW = GoldView(
    name="slow",
    sql="select sum(n % 7) as n from (select explode(sequence(1, 50000)) as n from silver)",
    refresh="live",
)
"""A tenth of a second for 4,096 rows, between which Spark looks whether the task was cancelled."""

ALONE = Beside(trouble=lambda: "", changed=lambda: None)

MANY = ["ann"] * 500_000


@pytest.fixture
def run(settings, spark):
    """Runs a view's thread; gives the view and what it tells."""
    views = []
    with open_lake(settings, spark) as context:

        def start(view, **stream):
            own = settings.model_copy(update={"stream": StreamSettings(**stream)})
            events = queue.SimpleQueue()
            warm = Warm(session=spark, context=context, keep=lambda _: None)
            feed = GAMES.model_copy(update={"gold": (view,)})
            views.append(LiveView(own, feed, view, warm, events.put, ALONE))
            views[-1].start()
            return views[-1], events

        yield start
        for view in views:
            view.stop()
        while any(view.is_alive() for view in views):
            time.sleep(0.1)
            for view in views:
                view.stop()


def rows(settings, view):
    folder = settings.lake_dir / GAMES.gold_table(view, "uno").relative
    return DeltaTable(folder).to_pyarrow_table().to_pylist()


def test_it_leaves_a_view_alone_that_somebody_computed_by_another_declaration(settings, spark, run):
    add_silver(settings.lake_dir, "uno", "ann")
    view, events = run(LIVE)
    assert isinstance(events.get(), GoldRefreshed)
    other = LIVE.model_copy(update={"measures": {"m": "count(*)"}})
    with open_lake(settings, spark) as context:
        feed = GAMES.model_copy(update={"gold": (other,)})
        refresh_gold(settings, feed, warm=Warm(session=spark, context=context))
    add_silver(settings.lake_dir, "uno", "ann", start=1)
    view.nudge()
    failed = events.get()
    assert isinstance(failed, ViewFailed)
    assert "computed by another declaration" in failed.reason
    assert view.suspended
    assert rows(settings, LIVE) == [{"gamer_id": "ann", "m": 1}]


def test_one_that_takes_too_long_is_left_to_others(settings, run):
    add_silver(settings.lake_dir, "uno", *MANY)
    view, events = run(SLOW, view_timeout_s=3)
    failed = events.get()
    assert "took more than 3 s" in failed.reason
    while view.refreshing_since is not None:
        time.sleep(0.1)
    assert events.empty()  # and is not tried again


def test_one_that_takes_long_ends_when_it_is_told_to(settings, run):
    add_silver(settings.lake_dir, "uno", *MANY)
    view, _ = run(SLOW)
    while view.refreshing_since is None:
        time.sleep(0.1)
    time.sleep(1)
    while view.is_alive():
        view.stop()
        time.sleep(0.1)
    assert strikes_of(settings.state_dir, view.name) == 0


def test_one_that_kills_the_streams_is_refreshed_by_others_first(settings, run):
    add_silver(settings.lake_dir, "uno", "ann")
    name = f"games.{LIVE.name}"
    folder = settings.state_dir / "refreshing"
    folder.mkdir(parents=True)
    (folder / name).write_text("3")
    view, events = run(LIVE)
    assert "3 processes of the streams died in a row" in events.get().reason
    assert view.suspended


def test_whoever_asks_for_one_that_takes_too_long_does_it(settings, run):
    add_silver(settings.lake_dir, "uno", *MANY)
    by_hand = SLOW.model_copy(update={"refresh": None})
    view, _ = run(by_hand, view_timeout_s=3)
    for _ in range(2):  # under way when its time is over; suspended
        with pytest.raises(NotRefreshedHereError):
            view.ask(None).result()


def timers():
    """The running ones; another test's view may still end."""
    return [each for each in threading.enumerate() if isinstance(each, threading.Timer)]


def test_waiting_for_its_turn_is_no_time_of_its_own(settings, run, monkeypatch):
    tries = queue.SimpleQueue()

    def tried(*arguments):
        tries.put(arguments)
        return turn_of_view_if_free(*arguments)

    monkeypatch.setattr("lake_assets.streams.live_view.turn_of_view_if_free", tried)
    add_silver(settings.lake_dir, "uno", "ann")
    with turn(settings.state_dir, turn_of(GAMES, LIVE)):
        view, events = run(LIVE)
        for _ in range(3):
            tries.get()
        assert view.refreshing_since is None
        assert not [
            timer for timer in timers() if getattr(timer.function, "__self__", None) is view
        ]
    assert isinstance(events.get(), GoldRefreshed)


def test_it_follows_what_others_do_to_silver(settings, run, monkeypatch):
    monkeypatch.setattr("lake_assets.streams.live_view._LOOK_ANYWAY_S", 0.5)
    add_silver(settings.lake_dir, "uno", "ann")
    _, events = run(LIVE)
    events.get()
    add_silver(settings.lake_dir, "uno", "ann", start=1)
    assert isinstance(events.get(), GoldRefreshed)
    assert rows(settings, LIVE) == [{"gamer_id": "ann", "n": 2}]


def test_a_table_that_was_dropped_by_hand_is_computed_again(settings, run, tmp_path):
    add_silver(settings.lake_dir, "uno", "ann")
    view, events = run(LIVE)
    events.get()
    folder = settings.lake_dir / GAMES.gold_table(LIVE, "uno").relative
    folder.rename(tmp_path / "dropped")
    view.nudge()
    assert isinstance(events.get(), GoldRefreshed)
    assert rows(settings, LIVE) == [{"gamer_id": "ann", "n": 1}]


@pytest.mark.parametrize("when", ["at its start", "when it tells of a failure"])
def test_one_whose_thread_ends_is_told_of_and_keeps_nobody_waiting(
    settings, run, monkeypatch, when
):
    add_silver(settings.lake_dir, "uno", "ann")

    def no_memory(*_, **__):
        raise MemoryError

    if when == "at its start":
        monkeypatch.setattr("lake_assets.streams.live_view.enter_group", no_memory)
    else:
        monkeypatch.setattr("lake_assets.streams.live_view.refresh_gold", no_memory)
        monkeypatch.setattr("lake_assets.streams.live_view.retry_delay_s", no_memory)
    view, events = run(LIVE)
    assert "its thread has ended (MemoryError)" in events.get().reason
    with pytest.raises(NotRefreshedHereError):
        view.ask(None).result()
    assert view.ended == "MemoryError"
    assert view.suspended == view.trouble
