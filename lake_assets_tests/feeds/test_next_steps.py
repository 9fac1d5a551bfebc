import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds
from lake_assets.feeds.next_steps import step_for

FEED = """feed: f
source: {kafka: {topic: t}}
payload: {json: {schema: 'at timestamp, who string, n int'}}
"""


def line_of(folder, text) -> str:
    (folder / "f.yaml").write_text(text)
    with pytest.raises(FeedError) as caught:
        load_feeds(folder)
    (line,) = str(caught.value).splitlines()
    return line.removeprefix(f"{folder / 'f.yaml'}, ")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "gold: [{name: v, keys: [who], measures: {n: count(*)}, schedule: '0 0 31 2 *'}]",
            "line 4: gold[0].schedule: '0 0 31 2 *' never comes: no month has that day. Name a day",
        ),
        (
            "gold: [{name: v, keys: [who], measures: {n: count(*)}, schedule: '@daily'}]",
            "not 5 (minute hour day month weekday): write it like '*/15 * * * *'",
        ),
        (
            "gold: [{name: v, keys: [who, who], measures: {n: count(*)}}]",
            "two keys are called who. Give one of them another name",
        ),
        (
            "route: {column: whoo, keys: [a]}",
            "'whoo' is no column of the payload's schema; did you mean 'who'? Write `who`",
        ),
        (
            "expectations: [{name: e, sql: \"reflect('a', 'b') = 1\"}]",
            "reflect() may not be used: it runs any code of the JVM's. Leave it out",
        ),
        ("transform: no_module:f", "there is no module no_module: install it, put it beside"),
        ("sinks: [{name: s, from: silver}]", "none is given. Add one of them"),
    ],
)
def test_what_is_wrong_comes_with_what_to_do(tmp_path, more, told):
    assert told in line_of(tmp_path, f"{FEED}{more}\n")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "route: {column: who, keys: [a]}\nroutes: [{column: who, keys: [a]}]",
            "line 4: `route` and `routes` are given. Give either `route` or `routes`",
        ),
        ("route: {keys: [a]}", "line 4: route. Give one of column, sql, header"),
        (
            "route: {column: who, sql: who, keys: [a]}",
            "line 4: route: `column` and `sql` are given. Give one of column, sql, header",
        ),
    ],
)
def test_too_many_are_not_called_incomplete(tmp_path, more, told):
    assert told in line_of(tmp_path, f"{FEED}{more}\n").replace(": give", ". Give")


def test_a_message_without_known_words_has_no_step_of_its_own():
    assert step_for("is as nobody foresaw") == ""
