import pytest
from pydantic import ValidationError

from lake_assets.model.gold_views import GoldView
from lake_assets.model.view_sinks import row_key_of
from lake_assets_tests.sinks.views import view_sink

REST = {"rest": {"url": "https://api.example.com/rows"}}
SQL = {"sql": {"url": "postgresql+psycopg://host/db", "table": "best"}}


def _sql(*key, **changes):
    return {"sql": {**SQL["sql"], "key": list(key), **changes}}


@pytest.mark.parametrize(
    ("view", "key"),
    [
        ({"keys": ["a", "b"], "measures": {"n": "count(*)"}}, ("a", "b")),
        (
            {
                "keys": ["a"],
                "measures": {"n": "count(*)"},
                "windows": {"time": "at", "every": "1m", "watermark": "1m"},
            },
            ("window_start", "window_end", "a"),
        ),
        ({"keyed": {"by": "id", "order": "lsn"}}, ("id",)),
        ({"keyed": {"by": "id", "order": "lsn", "history": 2}}, ("id", "__start_at")),
        ({"sql": "select a from silver"}, ()),
    ],
)
def test_rows_are_told_apart_by_what_the_view_says(view, key):
    (sink,) = view_sink(REST).sinks
    assert row_key_of(sink, GoldView.model_validate({"name": "v", **view})) == key


def test_a_sink_says_it_of_a_query():
    (sink,) = view_sink(REST, view="ranks", key=["gamer_id"]).sinks
    assert row_key_of(sink, GoldView(name="ranks", sql="select a from silver")) == ("gamer_id",)


@pytest.mark.parametrize(
    ("declared", "view", "told"),
    [
        (REST, "nobody", "no gold view 'nobody'; it has best, ranks"),
        ({**REST, "key": ["x"]}, "ranks", "view ranks has no column x"),
        ({**SQL, "deletes": True}, "best", "sql needs a `key`"),
        ({**_sql("gamer_id", version="score"), "deletes": True}, "best", "leave `version` out"),
        ({**_sql("gamer_id"), "deletes": True}, "best", "which differ in game_name"),
        ({**_sql("game_name"), "deletes": True}, "best", "which differ in gamer_id"),
        ({**_sql("gamer_id"), "deletes": True}, "ranks", "has no keys"),
        ({"kafka": {"topic": "best"}, "deletes": True}, "best", "kafka needs a `key`"),
        (
            {"kafka": {"topic": "best", "key": "gamer_id"}, "deletes": True},
            "best",
            "which differ in game_name",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(declared, view, told):
    with pytest.raises(ValidationError, match=told):
        view_sink(declared, view=view)


@pytest.mark.parametrize(
    ("declared", "view"),
    [
        ({**_sql("game_name", "gamer_id"), "deletes": True}, "best"),
        ({**_sql("gamer_id"), "deletes": True, "key": ["gamer_id"]}, "ranks"),
        (
            {
                "kafka": {"topic": "best", "key": "id"},
                "select": {"id": "concat(game_name, '/', gamer_id)", "score": "score"},
                "deletes": True,
            },
            "best",
        ),
    ],
)
def test_deletes_go_where_each_row_of_the_view_has_its_own(declared, view):
    assert view_sink(declared, view=view).sinks[0].deletes
