import json
import threading

import pytest
from deltalake import DeltaTable

from lake_assets.model.tables import deliveries_of
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.letters import Redelivery
from lake_assets.sinks.run import SinkRun
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.sinks.lakes import (
    add_silver,
    delivered,
    feed_with_sink,
    outcome,
    recorded,
    redelivered,
)
from lake_assets_tests.sinks.views import refresh

pytestmark = pytest.mark.spark

REFUSED = {"status": 422, "body": "no such player"}


@pytest.fixture
def feed(api):
    return feed_with_sink(f"{api.url}/sessions", rows_per_call=2)


def _given_up(spark, settings, api, feed, *gamers, start=0):
    """Dead letters of these, and the API is well again."""
    add_silver(settings.lake_dir, "uno", *gamers, start=start)
    api.script(always=REFUSED)
    assert delivered(spark, settings, feed).dead_rows == len(gamers)
    api.script()
    return api.calls()


def _letters(settings, feed):
    return sorted(row["offset"] for row in recorded(settings, feed) if not row["delivered"])


def _told(calls):
    return {call["headers"]["idempotency-key"]: json.loads(call["body"]) for call in calls}


def test_dead_letters_are_sent_again_under_their_keys_and_are_none_then(spark, settings, api, feed):
    before = _given_up(spark, settings, api, feed, "ann", "bob", "cid")
    add_silver(settings.lake_dir, "uno", "dan", start=10)
    delivered(spark, settings, feed)
    report = redelivered(spark, settings, feed)
    assert (report.done.rows, report.done.calls, report.missing_rows) == (3, 2, 0)
    assert _told(api.calls()[-2:]) == _told(before)
    entries = recorded(settings, feed)
    assert sorted(row["offset"] for row in entries) == [0, 1, 2, 10]
    assert all(row["delivered"] for row in entries)
    assert redelivered(spark, settings, feed).done.calls == 0
    assert delivered(spark, settings, feed).calls == 0


def test_what_is_refused_again_stays_one_dead_letter(spark, settings, api, feed):
    _given_up(spark, settings, api, feed, "ann", "bob", "cid")
    api.script({}, {"status": 400, "body": "still not"})
    report = redelivered(spark, settings, feed)
    assert (report.done.rows, report.done.dead_rows) in {(2, 1), (1, 2)}
    letters = [row for row in recorded(settings, feed) if not row["delivered"]]
    assert len(recorded(settings, feed)) == 3
    assert {row["status"] for row in letters} == {400}
    assert redelivered(spark, settings, feed).done.rows == len(letters)
    assert _letters(settings, feed) == []


def test_one_that_is_stopped_goes_on_with_what_is_left(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions")
    _given_up(spark, settings, api, feed, *(f"p{number}" for number in range(10)))
    api.script(*[{}] * 4, always={"status": 503})
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    first = redelivered(spark, settings, feed, stop)
    assert 0 < first.done.rows <= 4
    api.script()
    assert redelivered(spark, settings, feed).done.rows == 10 - first.done.rows
    answered = [call for call in api.calls() if call["fault"] == {}]
    assert len(answered) == len(_told(answered)) == 10


def test_rows_are_shaped_as_the_sink_is_declared_now(spark, settings, api, feed):
    before = _given_up(spark, settings, api, feed, "ann", "bob")
    corrected = feed_with_sink(f"{api.url}/sessions", select={"who": "gamer_id"}, rows_per_call=2)
    assert redelivered(spark, settings, corrected).done.rows == 2
    (last,) = _told(api.calls()[-1:]).items()
    assert last == (*_told(before), [{"who": "ann"}, {"who": "bob"}])


def test_rows_that_are_gone_or_not_wanted_stay_and_the_others_have_another_key(
    spark, settings, api
):
    feed = feed_with_sink(f"{api.url}/sessions", rows_per_call=4)
    before = _given_up(spark, settings, api, feed, "ann", "bob", "cid", "dan")
    DeltaTable(settings.lake_dir / silver_of("uno").relative).delete("gamer_id = 'ann'")
    picky = feed_with_sink(f"{api.url}/sessions", where="gamer_id <> 'bob'", rows_per_call=4)
    report = redelivered(spark, settings, picky)
    assert (report.done.rows, report.missing_rows) == (2, 2)
    assert _letters(settings, feed) == [0, 1]
    keys = [*_told(before), *_told(api.calls()[-1:])]
    # What is left of a letter is not all that its key stands for, either.
    assert redelivered(spark, settings, feed).done.rows == 1
    keys += _told(api.calls()[-1:])
    assert len(set(keys)) == 3
    assert _letters(settings, feed) == [0]


def test_a_letter_of_more_rows_than_a_call_may_have_by_now_is_sent_in_parts(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions", rows_per_call=4)
    _given_up(spark, settings, api, feed, "ann", "bob", "cid")
    smaller = feed_with_sink(f"{api.url}/sessions", rows_per_call=2)
    report = redelivered(spark, settings, smaller)
    assert (report.done.rows, report.done.calls) == (3, 2)
    assert _letters(settings, feed) == []


def test_the_sink_may_deliver_and_join_files_meanwhile(spark, settings, api, feed, monkeypatch):
    _given_up(spark, settings, api, feed, "ann", "bob", "cid")
    record, is_first = Redelivery.record, [True]

    def record_later(again, outcomes):
        if is_first.pop():
            add_silver(settings.lake_dir, "uno", "dan", start=10)
            assert streams.deliver(threading.Event()).rows == 1
            beside.committer.compact(again.table)
        record(again, outcomes)

    monkeypatch.setattr(Redelivery, "record", record_later)
    with (
        open_lake(settings, spark) as beside,
        SinkRun(spark.newSession(), beside, feed, feed.sinks[0], settings) as streams,
    ):
        assert redelivered(spark, settings, feed).done.rows == 3
        add_silver(settings.lake_dir, "uno", "eva", start=11)
        assert streams.deliver(threading.Event()).rows == 1
    entries = recorded(settings, feed)
    assert sorted(row["offset"] for row in entries) == [0, 1, 2, 10, 11]
    assert all(row["delivered"] for row in entries)


def test_letters_of_a_view_that_the_sink_followed_once_stay_and_are_told(settings, feed):
    refresh(settings, {"ann": 1})
    with open_lake(settings) as context:
        table = deliveries_of(feed.feed, feed.sinks[0].name)
        letter = outcome(0, is_delivered=False, table=gold_of("uno", "best"))
        Deliveries(context, table, has_offsets=False).record(1, [letter], None)
        with SinkRun(None, context, feed, feed.sinks[0], settings) as run:
            report = run.redeliver(threading.Event())
    assert (report.missing_rows, report.done.calls) == (1, 0)
    assert _letters(settings, feed) == [0]
