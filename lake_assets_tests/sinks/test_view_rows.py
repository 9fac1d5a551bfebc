import json
import shutil
import threading
import time

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError
from lake_assets.sinks import view_batches
from lake_assets.sinks.deliveries import Deliveries
from lake_assets_tests.sinks.lakes import delivered, recorded, redelivered
from lake_assets_tests.sinks.views import SCHEMA, folder_of, refresh, sent, to_api

pytestmark = pytest.mark.spark


@pytest.fixture
def feed(api):
    return to_api(api.url, rest={"rows_per_call": 10, "calls_in_flight": 1})


def _row(gamer, score, game="uno"):
    return {"game_name": game, "gamer_id": gamer, "score": score}


def _scores(api, since=0):
    return sorted((row["gamer_id"], row["score"]) for row in sent(api)[since:])


def _keys(api):
    return [call["headers"]["idempotency-key"] for call in api.calls() if not call["fault"]]


def _gone(settings, **kwargs):
    """As after a vacuum that leaves the newest version alone."""
    options = {"retention_hours": 0, "enforce_retention_duration": False, "dry_run": False}
    DeltaTable(folder_of(settings, **kwargs)).vacuum(**options)


def _stopped(spark, settings, feed, api, *faults):
    """A run that gets no further than these answers."""
    api.script(*faults, always={"status": 503})
    stop, before = threading.Event(), len(api.calls())

    def watch():
        while len(api.calls()) <= before + len(faults):
            time.sleep(0.05)
        stop.set()

    watching = threading.Thread(target=watch)
    watching.start()
    report = delivered(spark, settings, feed, stop)
    watching.join()
    api.script()
    return report


def test_rows_that_are_new_or_changed_are_sent_and_no_others(spark, settings, api, feed):
    refresh(settings, {"ann": 1, "bob": 2})
    refresh(settings, {"cid": 3}, "go_fish")
    assert delivered(spark, settings, feed).rows == 3
    refresh(settings, {"ann": 1, "bob": 5, "dan": 4})
    report = delivered(spark, settings, feed)
    assert (report.rows, report.batches) == (2, 1)
    assert delivered(spark, settings, feed).batches == 0
    first, second = sent(api)[:3], sent(api)[3:]
    assert sorted(first, key=str) == [_row("cid", 3, "go_fish"), _row("ann", 1), _row("bob", 2)]
    assert sorted(second, key=str) == [_row("bob", 5), _row("dan", 4)]


def test_what_writes_files_and_changes_no_row_sends_nothing(spark, settings, api, feed):
    refresh(settings, {"ann": 1, "bob": 2})
    delivered(spark, settings, feed)
    refresh(settings, [("bob", 2), ("ann", 1)])
    assert delivered(spark, settings, feed).calls == 0
    DeltaTable(folder_of(settings)).optimize.compact()
    assert delivered(spark, settings, feed).calls == 0
    DeltaTable(folder_of(settings)).restore(0)
    assert delivered(spark, settings, feed).calls == 0
    assert len(api.calls()) == 1


def test_what_comes_back_to_older_values_is_sent_under_another_key(spark, settings, api, feed):
    for score in (1, 2, 1):
        refresh(settings, {"ann": score, "bob": 7})
        delivered(spark, settings, feed)
    assert [row["score"] for row in sent(api) if row["gamer_id"] == "ann"] == [1, 2, 1]
    assert len(set(_keys(api))) == 3
    DeltaTable(folder_of(settings)).restore(1)
    delivered(spark, settings, feed)
    assert sent(api)[-1] == _row("ann", 2)


def test_a_batch_that_was_cut_off_is_finished_before_what_came_since(spark, settings, api):
    feed = to_api(api.url, rest={"rows_per_call": 1, "calls_in_flight": 1})
    refresh(settings, {f"p{number}": 1 for number in range(10)})
    delivered(spark, settings, feed)
    refresh(settings, {f"p{number}": 2 for number in range(10)})
    assert _stopped(spark, settings, feed, api, {}, {}, {}).rows == 3
    refresh(settings, {f"p{number}": 1 for number in range(10)})
    report = delivered(spark, settings, feed)
    assert (report.rows, report.batches) == (17, 2)
    assert [row["score"] for row in sent(api)] == [1] * 10 + [2] * 10 + [1] * 10
    assert len(set(_keys(api))) == 30


def test_calls_that_a_kill_left_without_a_record_come_again_under_their_keys(
    spark, settings, api, feed, monkeypatch
):
    refresh(settings, {"ann": 1})
    delivered(spark, settings, feed)
    refresh(settings, {"ann": 2})
    with monkeypatch.context() as patched:
        patched.setattr(Deliveries, "record", _killed)
        with pytest.raises(KeyboardInterrupt):
            delivered(spark, settings, feed)
    # Without the state folder, too; and the view is what it was before by now.
    shutil.rmtree(settings.state_dir / "sinks", ignore_errors=True)
    refresh(settings, {"ann": 1})
    delivered(spark, settings, feed)
    assert [row["score"] for row in sent(api)] == [1, 2, 2, 1]
    keys = _keys(api)
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3


def _killed(*_):
    raise KeyboardInterrupt


def test_a_version_that_is_gone_in_the_midst_of_it_sends_all_of_the_newest(
    spark, settings, api, caplog
):
    feed = to_api(api.url, rest={"rows_per_call": 1, "calls_in_flight": 1})
    refresh(settings, {"ann": 1, "bob": 1, "cid": 1})
    delivered(spark, settings, feed)
    refresh(settings, {"ann": 2, "bob": 2, "cid": 1})
    assert _stopped(spark, settings, feed, api, {}).rows == 1
    refresh(settings, {"ann": 1, "bob": 1, "cid": 1})
    _gone(settings)
    assert delivered(spark, settings, feed).rows == 3
    assert "of which some rows were sent, is gone" in caplog.text
    assert _scores(api, 4) == [("ann", 1), ("bob", 1), ("cid", 1)]
    assert delivered(spark, settings, feed).calls == 0


def test_a_sink_that_was_away_for_too_long_sends_all_and_says_so(
    spark, settings, api, feed, caplog
):
    refresh(settings, {"ann": 1, "bob": 2})
    delivered(spark, settings, feed)
    refresh(settings, {"ann": 1, "bob": 3})
    _gone(settings)
    assert delivered(spark, settings, feed).rows == 2
    assert "its files are gone" in caplog.text
    assert _scores(api, 2) == [("ann", 1), ("bob", 3)]


def test_a_table_that_is_made_anew_or_put_back_is_sent_whole(spark, settings, api, feed, caplog):
    folder = folder_of(settings)
    refresh(settings, {"ann": 1})
    shutil.copytree(folder, folder.with_name("copy"))
    refresh(settings, {"ann": 2})
    delivered(spark, settings, feed)
    shutil.rmtree(folder)
    assert delivered(spark, settings, feed).calls == 0
    folder.with_name("copy").rename(folder)
    refresh(settings, {"ann": 3})
    assert delivered(spark, settings, feed).rows == 1
    assert "was put back, and went on otherwise" in caplog.text
    shutil.rmtree(folder)
    refresh(settings, {"ann": 3})
    assert delivered(spark, settings, feed).rows == 1
    assert "was made anew" in caplog.text
    assert [row["score"] for row in sent(api)] == [2, 3, 3]
    assert len(set(_keys(api))) == 3


def test_a_change_that_is_too_large_for_memory_is_sent_in_shares(spark, settings, api, monkeypatch):
    monkeypatch.setattr(view_batches, "_MOST_ROWS", 20)
    shape = {"who": "gamer_id", "score": "score", "what": "_change_type"}
    feed = to_api(api.url, deletes=True, select=shape, rest={"rows_per_call": 1})
    refresh(settings, {f"p{number}": 1 for number in range(50)})
    assert delivered(spark, settings, feed).batches == 3
    refresh(settings, {f"p{number}": number % 2 for number in range(40)})
    assert _stopped(spark, settings, feed, api, *[{}] * 9).rows == 9
    assert delivered(spark, settings, feed).rows == 21
    told = sorted((row["who"], row["what"]) for row in sent(api)[50:])
    changed = [(f"p{number}", "upsert") for number in range(0, 40, 2)]
    assert told == sorted(changed + [(f"p{number}", "delete") for number in range(40, 50)])
    assert len(set(_keys(api))) == 80
    assert delivered(spark, settings, feed).calls == 0


def test_rows_that_are_gone_or_not_wanted_any_more_are_told_where_that_is_asked(
    spark, settings, api
):
    feed = to_api(api.url, deletes=True, where="score > 1")
    refresh(settings, {"ann": 1, "bob": 2, "cid": 3, "dan": 4})
    delivered(spark, settings, feed)
    refresh(settings, {"ann": 1, "bob": 1, "cid": 5})
    delivered(spark, settings, feed)
    told = sorted((row["_change_type"], row["gamer_id"], row["score"]) for row in sent(api)[3:])
    assert told == [("delete", "bob", 2), ("delete", "dan", 4), ("upsert", "cid", 5)]


def test_rows_that_are_gone_are_not_told_where_nobody_asks(spark, settings, feed):
    refresh(settings, {"ann": 1, "bob": 2})
    delivered(spark, settings, feed)
    refresh(settings, {})
    report = delivered(spark, settings, feed)
    assert (report.calls, report.batches) == (0, 1)


def test_whole_rows_of_a_query_are_told_apart_each_as_often_as_it_is_there(spark, settings, api):
    feed = to_api(api.url, view="ranks", deletes=True)
    told = {"key": None, "view": "ranks"}
    refresh(settings, [("ann", 1), ("ann", 1), ("bob", 2)], **told)
    delivered(spark, settings, feed)
    assert _scores(api) == [("ann", 1), ("ann", 1), ("bob", 2)]
    assert len({row["ordinal"] for row in recorded(settings, feed)}) == 2
    refresh(settings, [("ann", 1), ("ann", 1), ("ann", 1), ("bob", 3)], **told)
    delivered(spark, settings, feed)
    after = sorted((row["_change_type"], row["gamer_id"], row["score"]) for row in sent(api)[3:])
    assert after == [("delete", "bob", 2), ("upsert", "ann", 1), ("upsert", "bob", 3)]


def test_a_query_whose_rows_have_a_key_tells_changes_from_deletes(spark, settings, api):
    feed = to_api(api.url, view="ranks", deletes=True, key=["gamer_id"])
    told = {"key": None, "view": "ranks"}
    refresh(settings, {"ann": 1, "bob": 2}, **told)
    delivered(spark, settings, feed)
    refresh(settings, {"ann": 3}, **told)
    delivered(spark, settings, feed)
    after = sorted((row["_change_type"], row["gamer_id"], row["score"]) for row in sent(api)[2:])
    assert after == [("delete", "bob", 2), ("upsert", "ann", 3)]


def test_a_key_that_the_table_has_not_is_told(spark, settings, api):
    feed = to_api(api.url, view="ranks", key=["gamer_id"])
    rows = pa.schema([("player", pa.string())])
    refresh(settings, [{"player": "ann"}], None, "ranks", schema=rows)
    with pytest.raises(FeedError, match="has no column gamer_id"):
        delivered(spark, settings, feed)


def test_a_column_that_came_sends_rows_that_have_it(spark, settings, api, feed):
    refresh(settings, {"ann": 1, "bob": 2})
    delivered(spark, settings, feed)
    wider = pa.schema([*SCHEMA, ("level", pa.string())])
    rows = [{"gamer_id": "ann", "score": 1}, {"gamer_id": "bob", "score": 2, "level": "gold"}]
    refresh(settings, rows, schema=wider)
    delivered(spark, settings, feed)
    assert sent(api)[2:] == [{**_row("bob", 2), "level": "gold"}]


def test_a_column_of_another_type_sends_all_rows(spark, settings, api, feed, caplog):
    refresh(settings, {"ann": 1, "bob": 2})
    delivered(spark, settings, feed)
    other = pa.schema([SCHEMA.field("gamer_id"), ("score", pa.float64())])
    refresh(settings, {"ann": 1.0, "bob": 2.5}, schema=other)
    delivered(spark, settings, feed)
    assert _scores(api, 2) == [("ann", 1.0), ("bob", 2.5)]
    assert "its column score is int64" in caplog.text


def test_dead_letters_are_sent_again_with_the_values_that_the_view_has(spark, settings, api):
    feed = to_api(api.url, rest={"rows_per_call": 1, "calls_in_flight": 1})
    refresh(settings, {"ann": 1, "bob": 2, "cid": 3})
    api.script({"status": 422}, {"status": 422}, {"status": 422})
    assert delivered(spark, settings, feed).dead_rows == 3
    refresh(settings, {"ann": 1, "bob": 5})
    api.script()
    report = redelivered(spark, settings, feed)
    # Bob went as what he is by now; of cid nothing is there to send.
    assert report.missing_rows == 1
    assert set(_scores(api)) == {("ann", 1), ("bob", 5)}
    assert len([row for row in recorded(settings, feed) if not row["delivered"]]) == 1
    first = {json.loads(call["body"])[0]["gamer_id"]: call for call in api.calls() if call["fault"]}
    again = {json.loads(call["body"])[0]["gamer_id"]: call for call in api.calls()[3:]}
    key = "idempotency-key"
    assert first["ann"]["headers"][key] == again["ann"]["headers"][key]


def test_a_delete_that_was_refused_is_sent_again(spark, settings, api):
    feed = to_api(api.url, deletes=True, rest={"rows_per_call": 1, "calls_in_flight": 1})
    refresh(settings, {"ann": 1, "bob": 2})
    delivered(spark, settings, feed)
    refresh(settings, {"ann": 1})
    api.script({"status": 422})
    assert delivered(spark, settings, feed).dead_rows == 1
    api.script()
    report = redelivered(spark, settings, feed)
    assert (report.missing_rows, report.done.rows) == (0, 1)
    (row,) = sent(api)[2:]
    assert (row["_change_type"], row["gamer_id"], row["score"]) == ("delete", "bob", 2)
    assert all(row["delivered"] for row in recorded(settings, feed))
