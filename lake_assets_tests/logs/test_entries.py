from dataclasses import replace

from lake_assets.delta.commit import Batch
from lake_assets.logs.entries import SCHEMAS, entry_of, entry_of_refresh, table_of
from lake_assets.model.reports import Mode, RefreshReport, Span, ViewRefresh
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import QUALITY_LOG, STREAM_LOG
from lake_assets_tests.logs.reports import AT, demuxed, ingested
from lake_assets_tests.sample import GAMES


def rows(entry, table):
    return table_of(table, entry.rows[table.name]).to_pylist()


def test_an_ingest_batch_is_a_row_with_offsets_and_seconds():
    (row,) = rows(entry_of(ingested(1), GAMES, AT, lag=3), STREAM_LOG)
    assert row == {
        "feed": "games",
        "stage": "ingest",
        "batch": 1,
        "view": None,
        "time": AT,
        "is_committed": True,
        "rows": 5,
        "dropped": 0,
        "duplicates": 0,
        "files": 2,
        "seconds": 0.75,
        "session_s": None,
        "plan_s": None,
        "job_s": 0.5,
        "commit_s": 0.25,
        "offsets_from": [(0, 5)],
        "offsets_to": [(0, 10)],
        "topic_offsets_from": None,
        "topic_offsets_to": None,
        "version_from": None,
        "version_to": None,
        "lag_rows": 3,
        "query": "i",
        **dict.fromkeys(
            ("keys_incremental", "keys_full", "why", "rows_read", "rows_written", "late_rows"), None
        ),
    }


def test_a_batch_of_several_topics_tells_those_that_it_has_rows_of():
    begin, end = {("a", 0): 5, ("b", 0): 2}, {("a", 0): 9, ("b", 0): 2, ("c", 1): 3}
    span = Span(query="i", offsets_from=begin, offsets_to=end)
    source = Source(kafka=KafkaSource(topics=["a", "b", "c"]))
    feed = GAMES.model_copy(update={"source": source})
    (row,) = rows(entry_of(replace(ingested(1), span=span), feed, AT), STREAM_LOG)
    assert (row["offsets_from"], row["offsets_to"]) == (None, None)
    assert row["topic_offsets_from"] == [("a/0", 5), ("c/1", 0)]
    assert row["topic_offsets_to"] == [("a/0", 9), ("c/1", 3)]


def test_a_demux_batch_is_a_row_a_game_and_expectation():
    entry = entry_of(demuxed(4), GAMES, AT)
    assert rows(entry, QUALITY_LOG) == [
        {
            "feed": "games",
            "key": "uno",
            "expectation": "gamer_is_known",
            "batch": 4,
            "seen": 3,
            "violated": 1,
            "action": "drop",
            "time": AT,
        }
    ]
    (row,) = rows(entry, STREAM_LOG)
    assert (row["version_from"], row["version_to"], row["dropped"]) == (4, 5, 1)
    assert (row["offsets_from"], row["offsets_to"]) == (None, None)


def test_an_expectation_that_is_gone_has_no_action():
    feed = GAMES.model_copy(update={"expectations": ()})
    (row,) = rows(entry_of(demuxed(4), feed, AT), QUALITY_LOG)
    assert (row["expectation"], row["action"]) == ("gamer_is_known", None)


def test_a_batch_is_marked_by_its_query_and_number():
    assert entry_of(ingested(1), GAMES, AT).mark == Batch("i", 1)


def test_a_refused_batch_has_no_mark_since_it_comes_again_under_its_number():
    refused = entry_of(demuxed(4, is_committed=False), GAMES, AT)
    assert refused.mark is None
    (row,) = rows(refused, STREAM_LOG)
    assert (row["is_committed"], row["rows"]) == (False, 0)


def test_a_report_without_its_place_is_a_row_all_the_same():
    (row,) = rows(entry_of(replace(ingested(1), span=None), GAMES, AT), STREAM_LOG)
    assert (row["offsets_to"], row["query"], row["rows"]) == (None, None, 5)


def test_a_refresh_is_one_row_of_its_view():
    asked = {"mode": Mode.FULL, "why": "asked for"}
    done = tuple(
        ViewRefresh(key=key, view="player_agg", rows=2, silver_version=1, files=1, **more)
        for key, more in (
            ("uno", {**asked, "rows_read": 9, "rows_written": 2}),
            ("poker", {**asked, "rows_read": 9, "rows_written": 2}),
            ("spades", {"mode": Mode.INCREMENTAL, "why": "silver gained 1 file since"}),
        )
    )
    seconds = {"session": 4.0, "plan": 1.0, "job": 2.0, "commit": 0.5}
    entry = entry_of_refresh(
        RefreshReport(refreshed=done, up_to_date=(), seconds=seconds), GAMES, AT
    )
    (row,) = rows(entry, STREAM_LOG)
    assert (row["stage"], row["view"], row["batch"]) == ("refresh", "player_agg", None)
    assert (row["rows"], row["files"], row["seconds"], row["session_s"]) == (6, 3, 7.5, 4.0)
    assert (row["keys_incremental"], row["keys_full"]) == (1, 2)
    assert (row["rows_read"], row["rows_written"]) == (18, 4)
    assert row["why"] == "full: asked for (2), incremental: silver gained 1 file since (1)"


def test_a_refresh_that_found_nothing_to_do_is_no_entry():
    nothing = RefreshReport(refreshed=(), up_to_date=(("uno", "player_agg"),))
    assert entry_of_refresh(nothing, GAMES, AT) is None


def test_every_row_has_the_columns_of_its_table():
    entry = entry_of(demuxed(1), GAMES, AT)
    for table, schema in SCHEMAS.items():
        assert set(entry.rows[table.name][0]) <= set(schema.names)
