import re
from pathlib import Path

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import Layer

YAML = """
feed: play
source: {{kafka: {{topic: plays}}}}
payload: {{json: {{schema: "kind string, ante int"}}}}
{rest}
grants:
  - {grant}
"""

ROUTE = "route: {column: kind, keys: [uno, poker]}"

BRONZE_ALONE = """
silver: none
sinks: [{name: out, from: bronze, python: {class: "sinks:Out"}}]
"""


@pytest.fixture
def grant(tmp_path):
    def declare(grant, rest=ROUTE):
        (tmp_path / "play.yaml").write_text(YAML.format(rest=rest, grant=grant))
        (feed, *_) = load_feeds(tmp_path)
        return feed.grants[0]

    return declare


def test_a_grant_covers_tables_of_its_layers_and_keys(grant):
    of_uno = grant("{principal: analysts, layers: [silver, gold], keys: [uno]}")
    assert of_uno.covers(Layer.SILVER, "uno")
    assert of_uno.covers(Layer.GOLD, "uno")
    assert not of_uno.covers(Layer.GOLD, "")  # a view over all keys has other keys' rows
    assert not of_uno.covers(Layer.SILVER, "poker")
    assert not of_uno.covers(Layer.BRONZE, "")


def test_without_keys_it_covers_all_of_a_layer(grant):
    everything = grant("{principal: arn:aws:iam::123456789012:role/Science, layers: [gold]}")
    assert everything.covers(Layer.GOLD, "")
    assert everything.covers(Layer.GOLD, "whichever")
    assert not everything.covers(Layer.QUARANTINE, "")


@pytest.mark.parametrize(
    ("declared", "rest", "fact"),
    [
        ("{principal: a, layers: []}", ROUTE, "at least 1 in it"),
        ("{principal: a}", ROUTE, "layers"),
        ('{principal: "a b", layers: [gold]}', ROUTE, "principal"),
        ("{principal: a, layers: [log]}", ROUTE, "the log's tables are of all feeds"),
        (
            "{principal: a, layers: [bronze, silver], keys: [uno]}",
            ROUTE,
            "a table of bronze has the rows of all keys",
        ),
        ("{principal: a, layers: [gold], keys: [unno]}", ROUTE, "the feed has no key 'unno'"),
        ("{principal: a, layers: [gold]}", BRONZE_ALONE, "no tables of its own in gold"),
    ],
)
def test_what_would_grant_nothing_or_too_much_is_refused(grant, declared, rest, fact):
    with pytest.raises(FeedError, match=fact):
        grant(declared, rest)


def test_keys_that_the_route_creates_need_not_be_declared(grant):
    rest = "route: {column: kind, unknown: create}"
    assert grant("{principal: a, layers: [gold], keys: [chess]}", rest).keys == ("chess",)


def test_the_page_of_grants_declares_a_feed(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "grants.md"
    (text,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    (tmp_path / "play.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    assert [one.principal for one in feed.grants] == ["uno-team", "analysts"]
