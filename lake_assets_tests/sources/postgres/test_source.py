import time

import pytest

from lake_assets.errors import SourceError
from lake_assets.sources.postgres.source import TableRows
from lake_assets_tests.sources.postgres.landings import PURCHASES, land, source_of

PLACE = ("table", 0)


@pytest.fixture
def rows(database, lake):
    database.ask(PURCHASES)
    return TableRows("purchases", source_of(database), lake)


def _add(database, *players):
    for player in players:
        database.ask("insert into purchases (player) values (%s)", player)


def test_there_is_what_landed(database, lake, rows):
    assert rows.extent().ends == {PLACE: 0}
    assert rows.generation(["table"]).identities == {"table": None}
    assert rows.has_unseen()
    _add(database, "ann", "bob")
    land(source_of(database), lake)
    extent = rows.extent()
    assert (extent.begins, extent.ends) == ({PLACE: 0}, {PLACE: 2})
    assert rows.first_offsets(extent) == {PLACE: 0}
    assert rows.generation(["table"]).identities["table"]
    assert not rows.has_unseen()
    _add(database, "cid")
    assert rows.has_unseen()


def test_rows_that_landed_are_fetched_and_have_their_time(database, lake, rows):
    _add(database, "ann", "bob", "cid")
    land(source_of(database), lake)
    fetched = [part.rows for part in rows.fetch(starts={PLACE: 1}, ends={PLACE: 3})]
    assert [n for part in fetched for n in part["ordinal"].to_pylist()] == [1, 2]
    assert abs(rows.times({PLACE: 2})[PLACE] / 1e6 - time.time()) < 3600
    assert rows.times({PLACE: 9}) == {}
    with pytest.raises(SourceError, match="has 2 rows between the offsets 1 and 4"):
        list(rows.fetch(starts={PLACE: 1}, ends={PLACE: 4}))


def test_a_table_that_cannot_be_read_is_no_source(database, rows):
    database.ask("drop table purchases")
    with pytest.raises(SourceError, match="is not there"):
        rows.extent()
    assert rows.has_unseen()  # a run says what is wrong


def test_while_a_long_transaction_hides_where_to_look_a_run_is_needed(database, lake, rows):
    _add(database, "ann")
    with database.begin() as late:
        late.execute("insert into purchases (player) values ('late')")
        land(source_of(database), lake)
        assert rows.has_unseen()
        late.rollback()
    assert rows.has_unseen()
    land(source_of(database), lake)
    assert not rows.has_unseen()
