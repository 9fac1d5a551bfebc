import pytest
from pydantic import ValidationError

from lake_assets.model.sinks import Sink

REST = {"url": "https://api.example.com/sessions"}


def _sink(**changes):
    return Sink.model_validate({"name": "api", "from": "silver", "rest": REST, **changes})


def test_the_example_of_the_issue_is_a_sink():
    rest = {
        **REST,
        "rows_per_call": 10,
        "partitions": 8,
        "calls_in_flight": 1,
        "rate": "1000/s",
        "timeout": "5s",
        "body": "array",
        "auth": {"bearer": {"env": "SESSIONS_TOKEN"}},
        "allow_private": False,
    }
    shape = {"player": "gamer_id", "game": "game_name", "at": "event_timestamp"}
    sink = _sink(where="gamer_id <> ''", select=shape, rest=rest)
    assert sink.select == shape
    assert list(sink.select) == list(shape)
    assert (sink.rest.rate, sink.rest.in_flight) == (1000.0, 8)


SQL = {"url": "postgresql+psycopg://host/db", "table": "public.sessions"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rest": None}, "one of rest, sql, kafka, python; none is given"),
        ({"sql": SQL}, "not rest and sql"),
        ({"from": "copper"}, "neither `silver` nor a view"),
        ({"key": ["gamer_id"]}, "key: is of sinks of views"),
        ({"deletes": True}, "deletes: is of sinks of views"),
        ({"from": "gold.best", "key": ["a", "a"]}, "a"),
        ({"from": "gold.best", "deletes": True, "select": {"x": "y"}}, "names no _change_type"),
        ({"select": {}}, "names no field"),
        ({"select": {"a b": "x"}}, "no name of a field"),
        ({"where": ""}, "at least 1 character"),
        ({"name": "My Api"}, "is not a name"),
        ({"carrier_pigeon": {}}, "Extra inputs"),
    ],
)
def test_what_is_no_sink_is_refused(changes, told):
    with pytest.raises(ValidationError, match=told):
        _sink(**changes)


def test_a_table_with_a_key_is_a_sink():
    login = {"user": {"env": "DB_USER"}, "password": {"env": "DB_PASSWORD"}}
    sql = {**SQL, **login, "key": ["player", "game"], "rows_per_call": 500, "create_table": True}
    sink = _sink(rest=None, sql=sql, select={"player": "a", "game": "b", "at": "c"})
    assert (sink.kind, sink.sql.schema_name, sink.sql.table_name) == ("sql", "public", "sessions")
    assert sink.place == "table public.sessions of postgresql+psycopg://host/db"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"url": "mysql://host/db"}, "no address of PostgreSQL"),
        ({"url": "postgresql://me:secret@host/db"}, "has a user or a password"),
        ({"url": "postgresql://host/db?password=secret"}, "has a user or a password"),
        ({"url": "postgresql://host"}, "names no database"),
        ({"url": "postgresql://host:x/db"}, "no address"),
        ({"table": "a.b.c"}, "is no table"),
        ({"table": "x; drop table y"}, "is no table"),
        ({"key": ["a", "a"]}, "a"),
        ({"version": "at"}, "there is no key"),
        ({"key": ["player"], "version": "player"}, "part of the key"),
        ({"key": ["nobody"]}, "nobody is none of the fields"),
        ({"origin": "player"}, "is a field of the row already"),
        ({"password": "secret"}, "Secret"),
        ({"rows_per_call": 0}, "greater than or equal to 1"),
    ],
)
def test_what_is_no_table_to_write_to_is_refused(changes, told):
    with pytest.raises(ValidationError, match=told):
        _sink(rest=None, select={"player": "a", "at": "b"}, sql={**SQL, **changes})


PYTHON = {"class": "my_sinks:Slack"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"class": "Slack"}, "names no class"),
        ({"class": "my_sinks:Slack()"}, "names no class"),
        ({"timeout": "2h"}, "less than or equal to"),
        ({"secrets": {"token": "abc"}}, "Secret"),
    ],
)
def test_what_is_no_class_is_refused(changes, told):
    with pytest.raises(ValidationError, match=told):
        _sink(rest=None, python={**PYTHON, **changes})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"topic": "a b"}, "a b"),
        ({"key": "nobody"}, "nobody is none of the fields"),
        ({"value": "xml"}, "json"),
        ({"message": "acme.Found"}, "message: is of `value: protobuf`"),
        ({"options": {"security.protocol": "SSL"}}, "name its bootstrap_servers"),
        ({"bootstrap_servers": "h:1", "options": {"acks": "1"}}, "acks cannot be set"),
        ({"bootstrap_servers": "h:1", "options": {"enable.idempotence": "no"}}, "cannot be set"),
    ],
)
def test_what_is_no_topic_to_produce_to_is_refused(changes, told):
    with pytest.raises(ValidationError, match=told):
        _sink(rest=None, select={"player": "a"}, kafka={"topic": "sessions", **changes})
