from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lake_assets.model.tables import EVERY_KEY
from lake_assets.sinks.base import IDENTITY, origins_of
from lake_assets.sinks.calls import key_of, origin_tuples
from lake_assets.sinks.view_tables import Revision, key_in, key_texts, with_change, with_key
from lake_assets_tests.sample import gold_of


def _rows(*rows):
    return pa.RecordBatch.from_pylist(list(rows))


def test_a_key_is_a_text_that_no_other_key_has():
    at = datetime(2026, 11, 27, tzinfo=UTC)
    rows = _rows(
        {"a": "1", "b": 2, "at": at},
        {"a": "1,2", "b": None, "at": at},
        {"a": None, "b": 2, "at": at},
        {"a": "ä/\n", "b": 2, "at": None},
    )
    assert key_texts(rows, ("a", "b", "at")) == [
        '["1",2,"2026-11-27T00:00:00.000000Z"]',
        '["1,2",null,"2026-11-27T00:00:00.000000Z"]',
        '[null,2,"2026-11-27T00:00:00.000000Z"]',
        '["ä/\\n",2,null]',
    ]


def test_long_keys_and_whole_rows_are_told_by_a_hash():
    rows = _rows({"a": "x" * 300, "b": 1}, {"a": "x" * 300, "b": 2}, {"a": "x" * 299, "b": 2})
    long, same, other = key_texts(rows, ("a",))
    assert long == same != other
    whole = key_texts(rows, ())
    assert len({*whole, long, other}) == 5
    assert all(len(text) <= 32 for text in (*whole, long, other))


def test_keys_that_are_no_numbers_are_told_apart():
    rows = pa.record_batch({"level": [float("nan"), float("inf"), -float("inf"), None, 1.5]})
    texts = key_texts(rows, ["level"])
    assert (len(set(texts)), texts[3:]) == (5, ["[null]", "[1.5]"])
    assert key_texts(rows, ["level"]) == texts


def test_rows_get_their_key_before_their_columns_unless_they_have_it():
    rows = _rows({"gamer_id": "ann"})
    assert with_key(rows, "uno", "game_name").to_pylist() == [
        {"game_name": "uno", "gamer_id": "ann"}
    ]
    assert with_key(rows, "uno", "Gamer_Id") is rows
    assert with_key(rows, EVERY_KEY, "game_name") is rows
    assert with_key(rows, "clicks", None) is rows


def test_a_rows_identity_names_its_table_its_key_and_its_version():
    told = {"feed": "games", "table": gold_of("uno", "best"), "table_id": "1b-2c"}
    revision = Revision(**told, version=7, time_us=5_000_001)
    rows = revision.identity(['["ann/b"]'])
    assert rows.schema == IDENTITY
    assert key_in(rows["source"][0].as_py()) == '["ann/b"]'
    place = 'gold/gold_uno_best/games/1b-2c/["ann/b"]/0/7/0'
    assert origins_of(rows) == [f"{place}@1970-01-01T00:00:05.000001+00:00"]


@pytest.mark.parametrize("name", ["_change_type", "_Change_Type"])
def test_what_became_of_rows_takes_the_place_of_a_column_only_where_rows_are_deleted(name):
    plain, own = pa.record_batch({"a": [1, 2]}), pa.record_batch({name: ["insert"], "a": [1]})
    for deletes in (False, True):
        told = with_change(plain, "upsert", deletes=deletes).to_pydict()
        assert told == {"a": [1, 2], "_change_type": ["upsert", "upsert"]}
    assert with_change(own, "delete", deletes=False) == own
    told = with_change(own, "delete", deletes=True).to_pydict()
    assert told == {"a": [1], "_change_type": ["delete"]}


def test_the_key_of_a_call_tells_rows_apart_without_their_own_keys():
    def key(*players, version=1):
        told = {"feed": "games", "table": gold_of("uno", "best"), "table_id": "11-22"}
        revision = Revision(**told, version=version, time_us=5)
        return key_of("lake/games/out", origin_tuples(revision.identity(players)))

    assert key('["ann@example.com"]').startswith("11-22/0/1/0+1-")
    assert len({key("a"), key("b"), key("a", "b"), key("a", version=2)}) == 4
    assert not any(text in key('["ann@example.com"]') for text in ("ann", "example"))
