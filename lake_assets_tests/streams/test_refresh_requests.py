import errno
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from lake_assets.errors import FeedError
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.reports import Refreshed, RefreshReport
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.processes import own_process
from lake_assets.state.files import streams_lock
from lake_assets.streams import refresh_requests, request_files
from lake_assets.streams.refresh_answers import NotRefreshedHereError
from lake_assets.streams.refresh_requests import Request, RequestServer, ask_streams
from lake_assets_tests.sample import GAMES

VIEW = GAMES.gold[0].name


def report_of(view, keys):
    return RefreshReport(refreshed=(), up_to_date=tuple((key, view) for key in keys or ("all",)))


class Views:
    """Stands for the threads of the views, whose Spark a test of its own has."""

    def __init__(self):
        self.problem, self.asked, self.goes_on = None, [], threading.Event()
        self.goes_on.set()
        self._pool = ThreadPoolExecutor(2)

    def ask(self, feed, views, keys):
        if set(views) != {VIEW}:
            return None
        self.asked += [(feed, view, keys) for view in views]
        return [self._pool.submit(self._refresh, view, keys) for view in views]

    def _refresh(self, view, keys):
        self.goes_on.wait(20)
        if self.problem:
            raise self.problem
        return Refreshed(reports=[report_of(view, keys)])


@pytest.fixture
def views():
    return Views()


@pytest.fixture
def streams(settings, views):
    """Streams of the lake, which hold its lock and answer."""
    with ExitStack() as stack:
        stack.enter_context(streams_lock(settings.state_dir))
        stack.enter_context(RequestServer(settings, [GAMES], views.ask))
        yield stack


def left(settings):
    return list((settings.state_dir / "refresh-requests").glob("*"))


def test_without_streams_nobody_is_asked(settings):
    assert ask_streams(settings, GAMES) is None
    assert not left(settings)


@pytest.mark.usefixtures("streams")
def test_the_streams_refresh_what_is_asked_for(settings, views):
    done = ask_streams(settings, GAMES, views=[VIEW], keys=["uno", "go"])
    assert done is not None
    assert done.reports == [report_of(VIEW, ["uno", "go"])]
    assert views.asked == [("games", VIEW, ("uno", "go"))]
    assert not left(settings)


@pytest.mark.usefixtures("streams")
def test_an_error_is_raised_where_it_was_asked(settings, views):
    views.problem = FeedError("view", "does not compile", "Correct it")
    with pytest.raises(FeedError, match="does not compile"):
        ask_streams(settings, GAMES)
    assert not left(settings)


@pytest.mark.usefixtures("streams")
def test_streams_that_began_with_another_feed_are_not_asked(settings, views):
    other = GAMES.model_copy(update={"expectations": ()})
    assert ask_streams(settings, other) is None
    assert ask_streams(settings, GAMES, views=["unknown"]) is None
    assert views.asked == []
    assert not left(settings)


def test_streams_that_take_no_requests_hold_nobody_up(settings, monkeypatch):
    monkeypatch.setattr(refresh_requests, "_TAKEN_WITHIN_S", 0.3)
    with streams_lock(settings.state_dir):
        assert ask_streams(settings, GAMES) is None
    assert not left(settings)


def test_streams_that_end_before_they_answer_are_not_waited_for(settings, views, streams):
    views.goes_on.clear()
    with ThreadPoolExecutor(1) as pool:
        asked: Future = pool.submit(ask_streams, settings, GAMES)
        while not views.asked:
            pass
        streams.close()
        assert asked.result(20) is None
        views.goes_on.set()
    assert not left(settings)


@pytest.mark.usefixtures("streams")
def test_a_view_that_is_not_refreshed_there_is_left_to_who_asks(settings, views):
    views.problem = NotRefreshedHereError()
    assert ask_streams(settings, GAMES) is None
    assert not left(settings)


@pytest.mark.usefixtures("streams")
def test_what_is_no_request_holds_up_none(settings, caplog):
    folder = settings.state_dir / "refresh-requests"
    (folder / "0.json").mkdir(parents=True)
    (folder / "1.json").write_text("torn")
    own = own_process()
    odd = Request(
        feed="games", definition="", views=(VIEW,), keys=None, process=replace(own, pid=-5)
    )
    (folder / "2.json").write_text(TypeAdapter(Request).dump_json(odd).decode())
    for _ in range(2):
        assert ask_streams(settings, GAMES) is not None
    assert [r.getMessage().count(" is no request of a refresh") for r in caplog.records] == [1, 1]


def test_an_answer_that_the_disk_did_not_take_comes_later(settings, views, monkeypatch):
    full = iter([OSError(errno.ENOSPC, "No space left on device")] * 3)

    def write(path, text):
        for problem in full:
            raise problem
        replace_text(path, text)

    with streams_lock(settings.state_dir), RequestServer(settings, [GAMES], views.ask):
        views.goes_on.clear()
        with ThreadPoolExecutor(1) as pool:
            asked: Future = pool.submit(ask_streams, settings, GAMES)
            while not views.asked:
                pass
            monkeypatch.setattr(request_files, "replace_text", write)
            views.goes_on.set()
            assert asked.result(20) is not None


def test_what_a_process_before_left_is_cleared_away_and_served(settings, views):
    folder = settings.state_dir / "refresh-requests"
    folder.mkdir(parents=True)
    for name in ("a.taken", "a.answer"):
        (folder / name).write_text("torn")
    gone = refresh_requests.Request(
        feed="games",
        definition=refresh_requests.feed_digest(settings, GAMES),
        views=(VIEW,),
        keys=None,
        process=replace(own_process(), start="never"),
    )
    (folder / "c.json").write_bytes(TypeAdapter(refresh_requests.Request).dump_json(gone))
    with streams_lock(settings.state_dir), RequestServer(settings, [GAMES], views.ask):
        while left(settings):
            pass
    assert views.asked == []


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize("is_begun", [True, False])
def test_who_waits_long_for_the_streams_tells_for_what(
    settings, views, monkeypatch, caplog, is_begun
):
    monkeypatch.setattr(refresh_requests, "TELL_AFTER_S", 0.2)
    views.goes_on.clear()
    with ThreadPoolExecutor(1) as pool, ExitStack() as held:
        if is_begun:
            held.enter_context(turn_of_views(settings.state_dir, GAMES, GAMES.gold))
        asked: Future = pool.submit(ask_streams, settings, GAMES)
        while not caplog.records:
            pass
        views.goes_on.set()
        assert asked.result(20) is not None
    (told,) = [record.getMessage() for record in caplog.records]
    if is_begun:
        assert told.startswith(f"view games.{VIEW}: process {os.getpid()} (`")
    else:
        fact = "the lake's streams were asked for it and have not begun"
        assert told == f"refresh of {VIEW}: {fact}. Ctrl-C withdraws the request"
