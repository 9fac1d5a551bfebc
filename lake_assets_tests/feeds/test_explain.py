import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.explain import split_step
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


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("route.column: 'x' is no column", ("route.column: 'x' is no column", "")),
        ("declare: is of the tables: declare it", ("declare: is of the tables", "Declare it")),
        ("give one of a, b", ("", "Give one of a, b")),
    ],
)
def test_a_name_of_a_field_that_reads_like_a_verb_is_no_step(message, parts):
    assert split_step(message) == parts


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
