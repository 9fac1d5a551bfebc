from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from lake_assets.model.sql_sink import SqlSink
from lake_assets.postgres.failures import NullKeyError
from lake_assets.sinks.sql.statements import bound, newest, statement_for

URL = "postgresql+psycopg://host/db"
TABLE = sa.Table(
    "t",
    sa.MetaData(),
    sa.Column("who", sa.Text(), primary_key=True),
    sa.Column("at", sa.Integer()),
    sa.Column("more", sa.Text()),
)


def _sink(**declared):
    return SqlSink.model_validate({"url": URL, "table": "t", **declared})


def _row(who, at, **more):
    return {"who": who, "at": at, **more}


def test_one_row_of_a_key_is_left_and_keys_are_in_order():
    sink = _sink(key=["who"], version="at")
    rows = [_row("b", 1), _row("a", 2, n=1), _row("a", None), _row("a", 2, n=2), _row("a", 1)]
    assert newest(sink, rows) == [_row("a", 2, n=2), _row("b", 1)]
    assert newest(_sink(), rows) == rows


def test_a_null_in_a_key_is_refused():
    with pytest.raises(NullKeyError, match="who is null"):
        newest(_sink(key=["who"], version="at"), [_row(None, 1)])


def test_another_database_understands_the_same_statement():
    """What Python has of its own: an upsert is the dialect's, not our text."""
    engine = sa.create_engine("sqlite://")
    TABLE.metadata.create_all(engine)
    sink = _sink(key=["who"], version="at")
    statement = statement_for(sink, TABLE, ["who", "at"], "sqlite")
    with engine.begin() as connection:
        for at in (2, 1, 3, 2):
            connection.execute(statement, [_row("a", at)])
        assert connection.execute(sa.select(TABLE)).fetchall() == [("a", 3, None)]
    engine.dispose()


def test_rows_that_are_their_key_alone_are_added_once():
    statement = statement_for(_sink(key=["who"], version="at"), TABLE, ["who"], "postgresql")
    assert "DO NOTHING" in str(statement)


def test_lists_are_json_where_a_column_is_a_text():
    row = {"who": ["a", {"at": datetime(2026, 1, 1, tzinfo=UTC)}], "at": 1}
    assert bound(TABLE, row) == {"who": '["a", {"at": "2026-01-01 00:00:00+00:00"}]', "at": 1}
