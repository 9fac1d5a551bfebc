import pytest

from lake_assets.errors import SettingsError, SinkError
from lake_assets.settings.load import secret_of
from lake_assets.sinks.sql.reach import ensure_reachable
from lake_assets_tests.databases import sql_sink


def test_a_table_that_fits_or_may_be_made_is_well_and_nothing_is_written(database):
    sink = sql_sink(database, key=["player"], create_table=True).sql
    ensure_reachable(sink, secret_of, within_s=5)
    assert database.ask("select to_regclass('sessions')") == [(None,)]
    database.ask("create table sessions (player text primary key, _lake_time timestamptz)")
    with pytest.raises(SinkError, match="no column _lake_offset"):
        ensure_reachable(sink.model_copy(update={"create_table": False}), secret_of, within_s=5)


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"url": "postgresql+psycopg://127.0.0.1:9/db"}, "cannot be used .*refused"),
        ({}, "is not there"),
    ],
)
def test_what_cannot_be_written_to_is_told(database, declared, told):
    with pytest.raises(SinkError, match=told):
        ensure_reachable(sql_sink(database, **declared).sql, secret_of, within_s=5)


def test_a_secret_that_is_not_set_is_told(database):
    sink = sql_sink(database, password={"env": "NO_SUCH_PASSWORD"}).sql
    with pytest.raises(SettingsError, match="NO_SUCH_PASSWORD"):
        ensure_reachable(sink, secret_of, within_s=5)
