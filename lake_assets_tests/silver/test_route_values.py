"""Routes by header and topic, requeue and rebuild among them."""

import pytest

from lake_assets.model.tables import quarantine_of
from lake_assets_tests.silver.routing import QUARANTINE, bronze_rows, feed, open_events

pytestmark = pytest.mark.spark

BY_HEADER = {"header": "event-type", "keys": ["uno", "poker"], "aliases": {"Uno": "uno"}}

HEADERS = [
    [("event-type", b"uno")],
    [("event-type", b"poker"), ("other", b"x"), ("event-type", b"Uno")],
    [("other", b"uno")],
    None,
    [("event-type", None)],
    [("event-type", b"uno"), ("event-type", None)],
    [("event-type", b"\xff\xfe")],
    [("event-type", b"chess"), ("trace", b"\x00")],
    [("event-type", b"")],
    [("Event-Type", b"uno")],
]

EMPTY = [{}] * len(HEADERS)


@pytest.fixture
def lake(spark, settings):
    with open_events(spark, settings) as found:
        yield found


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("condition", [[], ["level is null"], ["sqrt(level) is null"]])
def test_the_last_header_of_the_name_says_where_a_row_goes(lake, as_text, condition):
    rules = [{"name": "ok", "sql": sql, "action": "quarantine"} for sql in condition]
    declared = feed(BY_HEADER, expectations=rules)
    lake.take(declared, bronze_rows(*EMPTY, headers=HEADERS, as_text=as_text))
    assert lake.offsets(declared) == {"uno": [0, 1], "poker": []}
    assert lake.refused() == [
        *((offset, "bad_key_name", "no header event-type") for offset in (2, 3, 4, 5)),
        (6, "bad_key_name", "header event-type = \ufffd\ufffd"),
        (7, "unknown_key", "header event-type = chess"),
        (8, "bad_key_name", "header event-type = "),
        (9, "bad_key_name", "no header event-type"),
    ]
    kept = lake.read(QUARANTINE)[5]["headers"]
    assert kept == [{"key": "event-type", "value": b"chess"}, {"key": "trace", "value": b"\x00"}]


def test_requeue_reads_the_headers_that_quarantine_kept(lake):
    declared = feed(BY_HEADER)
    lake.take(declared, bronze_rows(*EMPTY, headers=HEADERS))
    later = feed({**BY_HEADER, "keys": ["uno", "poker", "chess"]})
    assert lake.redo(later).requeue().rows == {"silver_chess_events": 1}
    assert lake.offsets(later) == {"uno": [0, 1], "poker": [], "chess": [7]}
    other = feed({**BY_HEADER, "header": "trace", "aliases": {"\0": "uno"}})
    assert lake.redo(other).requeue().rows == {}
    other = feed({**BY_HEADER, "header": "other"})
    assert lake.redo(other).requeue().rows == {"silver_uno_events": 1}
    assert lake.offsets(other) == {"uno": [0, 1, 2], "poker": []}


@pytest.mark.parametrize("as_text", [False, True])
def test_rows_that_an_expectation_refuses_keep_their_headers(lake, as_text):
    declared = feed(
        BY_HEADER, expectations=[{"name": "high", "sql": "level > 5", "action": "quarantine"}]
    )
    rows = bronze_rows(
        {"level": 1}, {"level": 9}, headers=[[("event-type", b"uno")]] * 2, as_text=as_text
    )
    lake.take(declared, rows)
    (refused,) = lake.read(QUARANTINE)
    assert refused["headers"] == [{"key": "event-type", "value": b"uno"}]
    assert lake.redo(feed(BY_HEADER)).requeue().rows == {"silver_uno_events": 1}
    assert lake.offsets(declared)["uno"] == [0, 1]


def test_a_rebuild_routes_by_headers_that_were_not_asked_for_before(lake):
    rows = bronze_rows(*[{"kind": "uno"}] * len(HEADERS), headers=HEADERS)
    before = feed({"column": "kind", "keys": ["uno"]})
    lake.take(before, rows)
    assert len(lake.offsets(before)["uno"]) == len(HEADERS)
    declared = feed({**BY_HEADER, "keys": ["uno", "chess"]})
    lake.redo(declared).rebuild(lake.bronze(rows))
    assert lake.offsets(declared) == {"uno": [0, 1], "chess": [7]}
    assert [offset for offset, _, _ in lake.refused()] == [2, 3, 4, 5, 6, 8, 9]


def test_quarantine_of_before_lacks_headers_and_its_rows_stay(lake):
    before = feed({"column": "kind", "keys": ["uno"]})
    rows = bronze_rows({"kind": "chess"}, headers=[[("event-type", b"uno")]])
    lake.take(before, rows)
    assert "headers" not in lake.read(quarantine_of("events"))[0]
    declared = feed(BY_HEADER)
    assert lake.redo(declared).requeue().rows == {}
    assert lake.read(QUARANTINE)[0]["headers"] is None
    lake.redo(declared).rebuild(lake.bronze(rows))
    assert lake.offsets(declared)["uno"] == [0]


def test_a_row_goes_where_its_topic_says(lake):
    declared = feed(
        {"topic": True, "keys": ["uno", "poker"], "aliases": {"game-poker": "poker"}},
        source={"kafka": {"topics": "uno|game-.*"}},
    )
    topics = ["uno", "game-poker", "game-chess", "uno"]
    lake.take(declared, bronze_rows(*[{}] * 4, topics=topics))
    assert lake.offsets(declared) == {"uno": [0, 3], "poker": [1]}
    assert lake.refused() == [(2, "bad_key_name", "topic = game-chess")]
