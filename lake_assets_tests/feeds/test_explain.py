import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

HEAD = "feed: f\nsource: {kafka: %s}\npayload: {json: {schema: 'a int, who string'}}\n"


@pytest.mark.parametrize(
    ("kafka", "told"),
    [
        (
            "{topic: t, starting_offsets: begin}",
            "starting_offsets cannot be 'begin'. Write it as `starting_offsets: earliest`",
        ),
        (
            "{topic: t, starting_offsets: {0: x}}",
            "starting_offsets[0] must be a whole number, such as 3, not 'x'.",
        ),
        (
            "{topics: 5}",
            "topics cannot be the number 5. Write it as `topics: [game-starts, game-ends]`",
        ),
    ],
)
def test_a_field_with_several_forms_is_told_once_in_words_of_feeds(tmp_path, kafka, told):
    (tmp_path / "f.yaml").write_text(HEAD % kafka)
    with pytest.raises(FeedError) as caught:
        load_feeds(tmp_path)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{tmp_path / 'f.yaml'}, line 2: source.kafka.{told}")


def test_keys_of_a_view_are_shown_as_columns_and_not_as_keys_of_routes(tmp_path):
    view = "gold: [{name: v, keys: who, measures: {n: count(*)}}]\n"
    (tmp_path / "f.yaml").write_text(HEAD % "{topic: t}" + view)
    with pytest.raises(FeedError, match=r"Write it as `keys: \[player\]`"):
        load_feeds(tmp_path)


VERBS = (
    "feed: f\nsource: {kafka: {topic: t}}\npayload: {json: {schema: 'at timestamp, name int'}}\n"
)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "route: {column: who, keys: [a]}",
            "is no column of the payload's schema; fields here are at, name. docs/routes.md says",
        ),
        (
            "gold: [{name: v, keys: [at, name], measures: {at: count(*), name: max(name)}}]",
            "gold[0]: named as key and as measure: at, name. Give one of them another name",
        ),
        (
            "route: {column: name, keys: [use, call, use, call]}",
            "route: keys are given twice: call, use. Leave each there once",
        ),
    ],
)
def test_a_name_that_reads_like_a_verb_is_no_step(tmp_path, more, told):
    (tmp_path / "f.yaml").write_text(f"{VERBS}{more}\n")
    with pytest.raises(FeedError) as caught:
        load_feeds(tmp_path)
    assert told in str(caught.value)


def test_a_mistake_names_the_page_of_its_own_kind_of_source(tmp_path):
    (tmp_path / "f.yaml").write_text(
        "feed: f\nsource: {files: {path: /x, format: jsonl, options: {a: b}}}\n"
        "payload: {json: {schema: 'a int'}}\nrun: manual\n"
    )
    with pytest.raises(FeedError, match=r"docs/files.md says what may be there"):
        load_feeds(tmp_path)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "expectations: [{name: e, sql: ''}]",
            "expectations[0].sql must not be empty. Write it as `sql: player <> ''`",
        ),
        ("deduplicate: {key: [], within: 1h}", "has 0. Write it as `key: [event_id]`"),
        ("checks: [{name: c, row_count: {min: true}}]", "row_count.min: is true, and no number"),
        ("route: {header: '', keys: [a]}", "route.header must not be empty. Change it"),
        ("trigger: {a: 1}", "trigger: a mapping is no duration"),
        ("trigger: yes", "trigger: true is no duration"),
        (
            "sinks: [{name: s, from: silver, rest: {url: x, auth: {bearer: {env: '-'}}}}]",
            "auth.bearer.env must be the name of an environment variable: letters, digits and _",
        ),
    ],
)
def test_a_value_that_cannot_be_is_told_in_words_of_yaml(tmp_path, more, told):
    (tmp_path / "f.yaml").write_text(HEAD % "{topic: t}" + more + "\n")
    with pytest.raises(FeedError) as caught:
        load_feeds(tmp_path)
    assert told in str(caught.value)


def test_true_is_still_true_where_it_may_be(tmp_path):
    more = "checks: [{name: c, row_count: {min: 1}, blocking: true}]\n"
    (tmp_path / "f.yaml").write_text(HEAD % "{topic: t}" + more)
    (feed,) = load_feeds(tmp_path)
    assert feed.checks[0].blocking is True


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
            "not 5 (minute hour day month weekday). Write it like '*/15 * * * *'",
        ),
        (
            "gold: [{name: v, keys: [who, who], measures: {n: count(*)}}]",
            "two keys are called who. Give one of them another name",
        ),
        (
            "route: {column: whoo, keys: [a]}",
            "'whoo' is no column of the payload's schema. Write `who`",
        ),
        (
            "expectations: [{name: e, sql: \"reflect('a', 'b') = 1\"}]",
            "reflect() may not be used: it runs any code of the JVM's. Leave it out",
        ),
        ("transform: no_module:f", "there is no module no_module. Install it, put it beside"),
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
        ("route: {keys: [a]}", "line 4: route is incomplete. Give one of column, sql, header"),
        (
            "route: {column: who, sql: who, keys: [a]}",
            "line 4: route: `column` and `sql` are given. Give one of column, sql, header",
        ),
    ],
)
def test_too_many_are_not_called_incomplete(tmp_path, more, told):
    assert told in line_of(tmp_path, f"{FEED}{more}\n")


def test_a_name_of_several_lines_has_no_step_in_it(tmp_path):
    assert line_of(tmp_path, f'{FEED}"a\\nb": 1\n').startswith(
        r"line 4: a\nb is no field; fields here are"
    )
