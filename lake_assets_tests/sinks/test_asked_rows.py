"""Rows of a view that dead letters ask for; without Spark."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.table_log import log_of
from lake_assets.sinks import asked_rows
from lake_assets.sinks.asked_rows import AskedRows
from lake_assets.sinks.base import DeletedRow
from lake_assets.sinks.shape import Shaped
from lake_assets.sinks.view_tables import Revision
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.sample import gold_of
from lake_assets_tests.sinks.views import folder_of, refresh

TABLE = gold_of("uno", "best")


def _shape(rows, became, identity) -> Shaped:
    """Rows with a score above 1."""
    told = rows.to_pylist()
    wanted = [row["score"] > 1 for row in told]
    values = [{**row, "became": became} for row in told if row["score"] > 1]
    return Shaped(rows=identity.filter(pa.array(wanted)), values=values)


def _asked(settings, *rows):
    """Players, each of a version, of the table as it is now."""
    table_id = str(DeltaTable(folder_of(settings)).metadata().id)
    parts = [
        Revision(feed="games", table=TABLE, table_id=table_id, version=version, time_us=1).identity(
            [f'["{player}"]']
        )
        for player, version in rows
    ]
    return pa.concat_tables(parts)


def _found(settings, asked, *, deletes=True, key="gamer_id"):
    log = log_of(lake_of(settings), TABLE)
    rows = AskedRows(log=log, key=[key], asked=asked, shape=_shape)
    pieces = list(rows.rows(log.open().version(), deletes=deletes))
    return [
        ("-" if isinstance(row, DeletedRow) else "+", row["gamer_id"], row["score"], offset)
        for shaped in pieces
        for row, offset in zip(shaped.values, shaped.rows["offset"].to_pylist(), strict=True)
    ]


@pytest.fixture
def refreshed(settings):
    refresh(settings, {"ann": 2, "bob": 2, "cid": 2, "dan": 2})
    refresh(settings, {"ann": 3, "bob": 3, "cid": 3, "dan": 3})
    refresh(settings, {"ann": 4, "bob": 1})
    return settings


def test_rows_are_as_they_are_now_and_those_that_went_as_they_were(refreshed):
    # Of cid the delete was refused, of dan what came before it, of bob both.
    asked = _asked(
        refreshed, ("ann", 0), ("ann", 1), ("bob", 1), ("bob", 2), ("cid", 2), ("dan", 0)
    )
    there = [("+", "ann", 4, 0), ("+", "ann", 4, 1)]
    gone = [("-", "bob", 3, 1), ("-", "bob", 3, 2), ("-", "cid", 3, 2), ("-", "dan", 2, 0)]
    assert sorted(_found(refreshed, asked)) == sorted(there + gone)
    assert _found(refreshed, asked, deletes=False) == there


def test_nothing_is_gone_of_a_table_that_lacks_a_key_that_the_view_has_by_now(refreshed):
    assert _found(refreshed, _asked(refreshed, ("ann", 0), ("cid", 2)), key="level") == []


def test_what_nothing_tells_any_more_is_left_out(refreshed, monkeypatch):
    asked = _asked(refreshed, ("eve", 2), ("cid", 2), ("dan", 1))
    other = pa.array(['another-table/["cid"]'] * 3)
    foreign = asked.set_column(asked.column_names.index("source"), "source", other)
    assert _found(refreshed, foreign) == []
    monkeypatch.setattr(asked_rows, "_LOOK_BACK", 0)
    assert _found(refreshed, asked) == [("-", "dan", 3, 1)]
    monkeypatch.setattr(asked_rows, "_LOOK_BACK", 20)
    options = {"retention_hours": 0, "enforce_retention_duration": False, "dry_run": False}
    DeltaTable(folder_of(refreshed)).vacuum(**options)
    assert _found(refreshed, asked) == []
