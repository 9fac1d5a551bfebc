"""Feeds made in Python: seen as those of YAML, and what is wrong with them told as well."""

import itertools
import sys

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

HEAD = """\
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import KafkaSource, Source


def shop(name, **more):
    return Feed.model_validate({
        "feed": name,
        "source": {"kafka": {"topic": f"{name}-raw"}},
        "payload": {"json": {"schema": "kind string, price double"}},
        "tables": {"silver": f"{name}_{{key}}", "gold": f"{name}_{{key}}_{{view}}"},
        **more,
    })


"""

YAML = """\
feed: shoes
source: {kafka: {topic: shoes-raw}}
payload: {json: {schema: "kind string"}}
"""

_NUMBERS = itertools.count()


@pytest.fixture
def load(tmp_path):
    """Loads a file of Python that no process has yet."""

    def load(code, name=None):
        name = name or f"made_{next(_NUMBERS)}_feeds"
        (tmp_path / f"{name}.py").write_text(HEAD + code)
        return load_feeds(tmp_path)

    yield load
    if str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


def test_feeds_of_both_kinds_of_files_are_the_lakes(load, tmp_path):
    (tmp_path / "shoes.yaml").write_text(YAML)
    (tmp_path / "helper.py").write_text("raise RuntimeError('nobody asked for me')")
    feeds = load("def feeds():\n    return [shop(f'shop_{n}') for n in (2, 1)]\n")
    assert [feed.feed for feed in feeds] == ["shoes", "shop_1", "shop_2"]
    assert [other.feed for other in feeds[1].others] == ["shoes", "shop_2"]


def test_a_feed_may_be_made_of_the_models_and_have_a_function_of_its_file(load):
    code = """
def change(rows):
    return rows


def feeds():
    yield Feed(
        feed="shop",
        source=Source(kafka=KafkaSource(topic="shop")),
        payload=Payload(json=JsonPayload(schema="kind string")),
        transform=change,
    )
"""
    (feed,) = load(code, "own_feeds")
    assert feed.transform == "own_feeds:change"


FLOWS = """
def feeds():
    source = {"kafka": {"topic": "b"}}
    payload = {"json": {"schema": "kind string, price double"}}
    flow = {"feed": "b", "into": "a", "source": source, "payload": payload}
    return [shop("a"), Feed.model_validate(flow)%s]
"""


def test_a_feed_may_fill_the_tables_of_another(load):
    assert [(feed.feed, feed.into) for feed in load(FLOWS % "")] == [("a", None), ("b", "a")]


def test_what_is_of_the_tables_is_told_of_a_feed_that_says_so_however_it_was_made(load):
    with pytest.raises(FeedError, match="feed 'b': checks: is of the tables"):
        load(FLOWS % ".model_copy(update={'checks': ()})")


def test_a_feed_with_keyed_tables_may_be_made_in_python(load):
    keyed = "{'by': 'kind', 'order': '_offset'}"
    (feed,) = load(f"def feeds(): return [shop('a', keyed={keyed})]")
    assert [view.name for view in feed.gold] == ["current"]


LINE = len(HEAD.splitlines())


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ("", "has no function `feeds`. Write `def feeds"),
        ("feeds = 7", "has no function `feeds`"),
        ("def feeds(): return shop('a')", "gives Feed, and no list of feeds"),
        ("def feeds(): return None", "gives NoneType, and no list of feeds"),
        ("def feeds(): return [shop('a'), {}]", "gives dict at place 1, and no feed"),
        (
            "def feeds(): return [shop('A b')]",
            f"line {LINE + 1}, line 7: feed: 'A b' is not a name",
        ),
        (
            "def feeds():\n    return [shop('a', rout=7)]",
            f"line {LINE + 2}, line 7: rout is no field",
        ),
        ("def feeds():\n    yield 1 / 0", f"line {LINE + 2}: raises ZeroDivisionError: division"),
        ("def feeds(:", f"line {LINE + 1}: raises SyntaxError"),
        ("def feeds(): return [KafkaSource(topics='')]", "KafkaSource: topic"),
        ("def feeds(): return [shop('a', transform=lambda r: r)]", "cannot be found by a name in"),
        (
            "def feeds(): return [shop('a').model_copy(update={'select': ('',)})]",
            r"raises|select\[0\]",
        ),
        (
            "def feeds(): return [shop('a', route={'column': 'kid', 'keys': ['x']})]",
            "feed 'a': route.column: 'kid' is no column of the payload's schema. Write ",
        ),
        ("def feeds(): return [shop('a', run='x')]", "feed 'a': run: "),
        ("def feeds(): return [shop('a'), shop('a')]", r"feed 'a' is declared in .* already"),
        (
            """SQL = 'select * from b.silver'
def feeds(): return [shop('a', gold=[{'name': 'v', 'sql': SQL}])]""",
            r"feed 'a': gold\[0\]\.sql: reads .*there is no feed 'b'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(load, code, fact):
    with pytest.raises(FeedError, match=fact):
        load(code)


def test_a_file_that_a_module_hides_is_told(load, tmp_path):
    load("def feeds(): return [shop('a')]", "twice_feeds")
    (tmp_path / "twice_feeds.py").unlink()
    other = tmp_path / "other"
    other.mkdir()
    (other / "twice_feeds.py").write_text("def feeds(): return []")
    with pytest.raises(
        FeedError, match=r"is hidden by the module twice_feeds of .*twice_feeds\.py"
    ):
        load_feeds(other)
    sys.path.remove(str(other))
