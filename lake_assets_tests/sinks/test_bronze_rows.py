import json

import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError
from lake_assets.model.tables import bronze_of
from lake_assets.sinks.standing import standing_of, unread_since
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.sinks.bronze import add_bronze, bronze_feed, run_of
from lake_assets_tests.sinks.lakes import recorded

pytestmark = pytest.mark.spark

ANN, BOB, NOBODY = (
    b'{"player": "ann", "coins": 3}',
    b'{"player": "bob", "coins": 4}',
    b'{"player": "", "coins": 1}',
)
MANY = b'{"player": "cid", "coins": 3000000000}'


def _sent(api):
    return [row for call in api.calls() for row in json.loads(call["body"])]


def _letters(settings, feed):
    return {row["offset"]: row for row in recorded(settings, feed) if not row["delivered"]}


@pytest.fixture
def feed(api):
    return bronze_feed(api.url)


def test_rows_are_decoded_shaped_and_sent_once_and_what_cannot_be_decoded_is_a_letter(
    spark, settings, api, feed
):
    add_bronze(settings, feed, ANN, b"no json", NOBODY, None, MANY, BOB)
    report = run_of(spark, settings, feed, "deliver")
    assert (report.rows, report.calls, report.dead_rows, report.retries) == (2, 1, 3, 0)
    assert _sent(api) == [
        {"who": "ann", "points": 30, "place": 0},
        {"who": "bob", "points": 40, "place": 5},
    ]
    letters = _letters(settings, feed)
    assert sorted(letters) == [1, 3, 4]
    assert letters[1]["reason"].startswith("undecodable")
    assert letters[1]["request"] == "no json"
    assert (letters[1]["tries"], letters[1]["status"], letters[3]["request"]) == (0, None, None)
    assert letters[4]["request"] == MANY.decode()
    assert {row["table"] for row in recorded(settings, feed)} == {bronze_of("plays").relative}
    again = run_of(spark, settings, feed, "deliver")
    assert (again.calls, again.dead_rows, len(recorded(settings, feed))) == (0, 0, 5)


def test_a_compaction_a_restore_and_rows_that_come_again_send_nothing_anew(
    spark, settings, api, feed
):
    add_bronze(settings, feed, ANN, b"no json")
    add_bronze(settings, feed, BOB, start=2)
    run_of(spark, settings, feed, "deliver")
    bronze = DeltaTable(settings.lake_dir / bronze_of("plays").relative)
    bronze.optimize.compact()
    add_bronze(settings, feed, ANN, start=3)
    bronze.update_incremental()
    bronze.restore(1)
    report = run_of(spark, settings, feed, "deliver")
    assert (report.calls, report.dead_rows) == (0, 0)
    add_bronze(settings, feed, BOB, b"no json", ANN, start=2)
    report = run_of(spark, settings, feed, "deliver")
    assert (report.rows, report.dead_rows) == (1, 1)
    assert sorted(row["place"] for row in _sent(api)) == [0, 2, 4]


def test_a_bronze_that_is_read_again_sends_only_what_is_new(spark, settings, api, feed):
    add_bronze(settings, feed, ANN, b"no json", BOB)
    run_of(spark, settings, feed, "deliver")
    folder = settings.lake_dir / bronze_of("plays").relative
    folder.rename(folder.with_name("gone"))
    add_bronze(settings, feed, ANN, b"no json", BOB, ANN)
    report = run_of(spark, settings, feed, "deliver")
    assert (report.rows, report.dead_rows) == (1, 0)
    assert sorted(row["place"] for row in _sent(api)) == [0, 2, 3]


def test_letters_are_sent_again_under_their_keys_once_the_payload_is_corrected(
    spark, settings, api, feed
):
    add_bronze(settings, feed, b"no json", MANY)
    run_of(spark, settings, feed, "deliver")
    key = _letters(settings, feed)[1]["key"]
    same = run_of(spark, settings, feed, "redeliver")
    assert (same.done.rows, same.missing_rows) == (0, 2)
    wider = bronze_feed(api.url, payload="player string, coins bigint")
    done = run_of(spark, settings, wider, "redeliver")
    assert (done.done.rows, done.missing_rows) == (1, 1)
    assert _sent(api) == [{"who": "cid", "points": 30_000_000_000, "place": 1}]
    assert [call["headers"]["idempotency-key"] for call in api.calls()] == [key]
    assert sorted(_letters(settings, feed)) == [0]


def test_what_the_api_refuses_is_a_letter_with_its_answer_and_errors_are_tried_again(
    spark, settings, api, feed
):
    add_bronze(settings, feed, ANN, BOB, ANN)
    api.script({"status": 500}, {"status": 422}, always={"status": 200})
    report = run_of(spark, settings, feed, "deliver")
    assert report.rows + report.dead_rows == 3
    assert report.dead_rows in {1, 2}
    assert {row["status"] for row in _letters(settings, feed).values()} == {422}
    done = run_of(spark, settings, feed, "redeliver")
    assert (done.done.rows, done.missing_rows) == (report.dead_rows, 0)
    assert _letters(settings, feed) == {}


def test_an_expression_that_does_not_fit_the_payload_stops_the_sink(spark, settings, api):
    feed = bronze_feed(api.url, payload="gamer string")
    add_bronze(settings, feed, ANN)
    with pytest.raises(FeedError, match="sink 'api' of feed 'plays'"):
        run_of(spark, settings, feed, "deliver")
    assert api.calls() == []


def test_bronze_is_held_for_a_sink_that_is_behind(spark, settings, feed):
    lake, (sink,) = lake_of(settings), feed.sinks
    add_bronze(settings, feed, ANN)
    assert standing_of(lake, feed, sink, 0.0).recorded_at == 0  # it never began, and rows wait
    run_of(spark, settings, feed, "deliver")
    assert standing_of(lake, feed, sink, 0.0).behind_since is None
    assert unread_since(lake, feed, sink) == {}
    add_bronze(settings, feed, BOB, start=1)
    assert standing_of(lake, feed, sink, 0.0).behind_since is not None
    assert list(unread_since(lake, feed, sink)) == [bronze_of("plays")]
