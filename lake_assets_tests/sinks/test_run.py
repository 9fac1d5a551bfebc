import json
import threading

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError, LakeError, SinkError
from lake_assets.sinks import engine
from lake_assets.sinks.run import SinkRun
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.gold.silver import SCHEMA, append_silver
from lake_assets_tests.gold.silver import add_silver as add_rows_of_others
from lake_assets_tests.sample import silver_of
from lake_assets_tests.sinks.lakes import add_silver, delivered, feed_with_sink, recorded
from lake_assets_tests.sinks.rest.api import running_api
from lake_assets_tests.sinks.views import refresh, to_api

pytestmark = pytest.mark.spark


def _sent(api):
    return [row for call in api.calls() for row in json.loads(call["body"])]


def _players(api):
    return sorted(row["player"] for row in _sent(api))


@pytest.fixture
def feed(api):
    return feed_with_sink(f"{api.url}/sessions", rows_per_call=2, calls_in_flight=2)


def test_rows_are_filtered_shaped_and_sent_once(spark, settings, api, feed):
    add_silver(settings.lake_dir, "uno", "ann", "", None, "bob")
    add_silver(settings.lake_dir, "go_fish", "cid", start=10)
    report = delivered(spark, settings, feed)
    assert (report.rows, report.calls, report.dead_rows) == (3, 2, 0)
    assert sorted(_sent(api), key=lambda row: row["player"]) == [
        {"player": "ann", "game": "uno", "at": "1970-01-01T00:00:00.000000Z"},
        {"player": "bob", "game": "uno", "at": "1970-01-01T00:00:03.000000Z"},
        {"player": "cid", "game": "go_fish", "at": "1970-01-01T00:00:10.000000Z"},
    ]
    assert delivered(spark, settings, feed).calls == 0
    assert len(api.calls()) == 2
    add_silver(settings.lake_dir, "uno", "dan", start=20)
    assert delivered(spark, settings, feed).rows == 1
    assert _players(api) == ["ann", "bob", "cid", "dan"]
    assert sorted(row["offset"] for row in recorded(settings, feed)) == [0, 3, 10, 20]


class _Refreshing(threading.Event):
    """Each time that somebody asks whether to stop, the view is refreshed, at most some times."""

    def __init__(self, settings, most):
        super().__init__()
        self.settings, self.left = settings, most

    def is_set(self):
        if self.left:
            self.left -= 1
            refresh(self.settings, {})
        return False


def test_a_run_ends_between_batches_where_somebody_waits_though_rows_keep_coming(settings):
    feed, asked = to_api("https://example.com"), []

    def gives_way() -> bool:
        asked.append(1)
        return len(asked) == 3

    with (
        open_lake(settings) as context,
        SinkRun(None, context, feed, feed.sinks[0], settings) as run,
    ):
        assert run.deliver(_Refreshing(settings, 10), gives_way=gives_way).batches == 3
        assert run.deliver(_Refreshing(settings, 0)).batches == 0
        assert run.redeliver(_Refreshing(settings, 10)).done.batches == 2


def test_batches_share_their_connections(spark, settings, api, feed):
    with open_lake(settings, spark) as context:
        run = SinkRun(spark.newSession(), context, feed, feed.sinks[0], settings)
        with run:
            for start in range(5):
                add_silver(settings.lake_dir, "uno", f"p{start}", start=start)
                assert run.deliver(threading.Event()).batches == 1
    assert len({call["client"] for call in api.calls()}) == 1


def test_what_only_spark_computes_is_computed(spark, settings, api):
    shape = {"who": "initcap(gamer_id)", "day": "date_format(event_timestamp, 'yyyy/MM')"}
    feed = feed_with_sink(f"{api.url}/sessions", select=shape, where="soundex(gamer_id) <> 'B100'")
    add_silver(settings.lake_dir, "uno", "ann", "bob", "änne")
    delivered(spark, settings, feed)
    assert sorted(_sent(api), key=str) == [
        {"who": "Ann", "day": "1970/01"},
        {"who": "Änne", "day": "1970/01"},
    ]


def test_without_a_shape_all_but_the_origin_is_sent(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions", select=None, where=None)
    add_silver(settings.lake_dir, "uno", "ann")
    delivered(spark, settings, feed)
    assert [sorted(row) for row in _sent(api)] == [
        ["device_id", "event_timestamp", "game_name", "gamer_id"]
    ]


def test_a_compaction_sends_nothing_anew(spark, settings, api, feed):
    add_silver(settings.lake_dir, "uno", "ann")
    add_silver(settings.lake_dir, "uno", "bob", start=1)
    delivered(spark, settings, feed)
    table = DeltaTable(settings.lake_dir / silver_of("uno").relative)
    table.optimize.compact()
    add_silver(settings.lake_dir, "uno", "cid", start=2)
    table.update_incremental()
    table.optimize.compact()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert delivered(spark, settings, feed).rows == 1
    assert _players(api) == ["ann", "bob", "cid"]


def test_rows_that_are_rewritten_are_known_by_their_origin(spark, settings, api, feed):
    add_silver(settings.lake_dir, "uno", "ann", "bob", "cid")
    delivered(spark, settings, feed)
    table = DeltaTable(settings.lake_dir / silver_of("uno").relative)
    table.delete("gamer_id = 'ann'")
    table.update({"device_id": "'new'"})
    assert delivered(spark, settings, feed).calls == 0
    # Rows that a requeue or a rebuild brings are older than what was sent, and new.
    add_silver(settings.lake_dir, "uno", "eva", start=-1)
    assert delivered(spark, settings, feed).rows == 1
    assert _players(api) == ["ann", "bob", "cid", "eva"]


def test_a_table_that_is_restored_or_made_anew_sends_only_what_is_new(spark, settings, api, feed):
    folder = settings.lake_dir / silver_of("uno").relative
    add_silver(settings.lake_dir, "uno", "ann")
    add_silver(settings.lake_dir, "uno", "bob", start=1)
    delivered(spark, settings, feed)
    DeltaTable(folder).restore(0)
    assert delivered(spark, settings, feed).calls == 0
    add_silver(settings.lake_dir, "uno", "bob", "cid", start=1)
    assert delivered(spark, settings, feed).rows == 1
    folder.rename(folder.with_name("gone"))
    add_silver(settings.lake_dir, "uno", "ann", "bob", "cid", "dan")
    assert delivered(spark, settings, feed).rows == 1
    assert _players(api) == ["ann", "bob", "cid", "dan"]


def test_offsets_that_begin_again_are_other_rows(spark, settings, api, feed):
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    delivered(spark, settings, feed)
    # As of a topic that was deleted and made again; silver was derived from it anew.
    folder = settings.lake_dir / silver_of("uno").relative
    folder.rename(folder.with_name("gone"))
    add_silver(settings.lake_dir, "uno", "cid", "dan", later_s=60)
    assert delivered(spark, settings, feed).rows == 2
    assert _players(api) == ["ann", "bob", "cid", "dan"]


def test_rows_that_are_deleted_before_they_are_sent_are_not(spark, settings, api, feed):
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    DeltaTable(settings.lake_dir / silver_of("uno").relative).delete("gamer_id = 'ann'")
    delivered(spark, settings, feed)
    assert _players(api) == ["bob"]


def test_a_lost_state_folder_sends_nothing_anew(spark, settings, feed):
    add_silver(settings.lake_dir, "uno", "ann")
    delivered(spark, settings, feed)
    for note in (settings.state_dir / "sinks").iterdir():
        note.unlink()
    assert delivered(spark, settings, feed).calls == 0


def test_a_dead_letter_has_its_request_and_its_response(spark, settings, api, feed):
    add_silver(settings.lake_dir, "uno", "ann", "bob", "cid")
    api.script({"status": 422, "body": "no such player"})
    report = delivered(spark, settings, feed)
    assert report.rows + report.dead_rows == 3
    assert report.dead_rows in {1, 2}
    letters = [row for row in recorded(settings, feed) if not row["delivered"]]
    assert len(letters) == report.dead_rows
    assert {row["status"] for row in letters} == {422}
    assert len({row["key"] for row in letters}) == 1
    # Once, not with each row: of calls of thousands it would be gigabytes.
    (first,) = [row for row in letters if row["request"]]
    assert "no such player" in first["response"]
    assert '"game":"uno"' in first["request"]
    assert delivered(spark, settings, feed).calls == 0


def test_a_sink_that_is_told_to_stop_goes_on_where_it_was(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions", rows_per_call=1, calls_in_flight=2)
    add_silver(settings.lake_dir, "uno", *(f"p{number}" for number in range(40)))
    api.script(*[{}] * 10, always={"status": 503})
    stop = threading.Event()
    threading.Timer(2.0, stop.set).start()
    first = delivered(spark, settings, feed, stop)
    assert 0 < first.rows <= 10
    api.script()
    second = delivered(spark, settings, feed)
    assert first.rows + second.rows == 40
    answered = [call for call in api.calls() if call["fault"] == {}]
    keys = [call["headers"]["idempotency-key"] for call in answered]
    assert len(set(keys)) == len(keys) == 40


def test_what_is_done_is_told_while_it_goes_on(spark, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "_RECORD_ABOVE", 1)
    add_silver(settings.lake_dir, "uno", *(f"p{number}" for number in range(20)))
    told = []
    with running_api(tmp_path, latency_s=0.05) as slow, open_lake(settings, spark) as context:
        feed = feed_with_sink(f"{slow.url}/sessions")
        run = SinkRun(spark.newSession(), context, feed, feed.sinks[0], settings)
        with run:
            rest = run.deliver(threading.Event(), told.append)
    assert told
    assert all(report.rows for report in told)
    assert sum(report.rows for report in (*told, rest)) == 20


def test_a_column_that_came_without_rows_is_sent_with_the_next(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions", select=None, where=None)
    columns = pa.schema([*SCHEMA, ("score", pa.int64())])
    with open_lake(settings, spark) as context:
        run = SinkRun(spark.newSession(), context, feed, feed.sinks[0], settings)
        with run:
            add_silver(settings.lake_dir, "uno", "ann")
            run.deliver(threading.Event())
            context.committer.add_columns({silver_of("uno"): columns})
            run.deliver(threading.Event())
            origin = {"_topic": "game-stream", "_partition": 0, "_offset": 7}
            row = {**origin, "gamer_id": "bob", "score": 5}
            append_silver(settings.lake_dir, "uno", pa.Table.from_pylist([row], schema=columns))
            run.deliver(threading.Event())
    assert [row.get("score") for row in _sent(api)] == [None, 5]


def test_a_batch_whose_version_the_log_has_forgotten_is_made_anew(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions")
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    api.script({}, always={"status": 503})
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    delivered(spark, settings, feed, stop)
    add_silver(settings.lake_dir, "uno", "cid", start=10)
    folder = settings.lake_dir / silver_of("uno").relative
    DeltaTable(folder).create_checkpoint()
    (folder / "_delta_log" / f"{0:020}.json").unlink()
    api.script()
    delivered(spark, settings, feed)
    answered = [call for call in api.calls() if call["fault"] == {}]
    sent = [row["player"] for call in answered for row in json.loads(call["body"])]
    assert sorted(sent) == ["ann", "bob", "cid"]


@pytest.mark.parametrize("where", ["gamer_id", "length(gamer_id)"])
def test_what_is_no_condition_is_told(spark, settings, api, where):
    feed = feed_with_sink(f"{api.url}/sessions", where=where)
    add_silver(settings.lake_dir, "uno", "ann")
    with pytest.raises(FeedError, match="no condition"):
        delivered(spark, settings, feed)
    assert api.calls() == []


def test_rows_without_an_origin_stop_the_sink(spark, settings, api, feed):
    add_rows_of_others(settings.lake_dir, "uno", "ann")
    with pytest.raises(LakeError, match="without an origin"):
        delivered(spark, settings, feed)
    assert api.calls() == []


def test_an_expression_that_does_not_fit_is_told(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions", select={"x": "no_such_column"})
    add_silver(settings.lake_dir, "uno", "ann")
    with pytest.raises(FeedError, match=r"sink .*no_such_column"):
        delivered(spark, settings, feed)
    assert api.calls() == []


def test_an_expression_that_asks_the_clock_is_refused(spark, settings, api):
    feed = feed_with_sink(f"{api.url}/sessions", select={"x": "now()"})
    add_silver(settings.lake_dir, "uno", "ann")
    with pytest.raises(FeedError, match="asks the clock"):
        delivered(spark, settings, feed)


def test_a_host_inside_the_network_stops_the_sink_and_loses_nothing(spark, settings, api, feed):
    inside = feed_with_sink(f"{api.url}/sessions", allow_private=False)
    add_silver(settings.lake_dir, "uno", "ann")
    with pytest.raises(SinkError, match="allow_private"):
        delivered(spark, settings, inside)
    assert recorded(settings, feed) == []
    assert delivered(spark, settings, feed).rows == 1
