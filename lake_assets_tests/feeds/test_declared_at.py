from lake_assets.feeds.declared_at import declared_at
from lake_assets.feeds.load import load_feeds

YAML = """# a comment
gold:
  - keys: [a]
    name: first
  -
    name: "second"
feed: clicks
sinks: [{name: api}]
external:
  players: {delta: /data/players}
"""


def test_a_feed_and_its_views_have_the_lines_they_are_declared_on(tmp_path):
    path = tmp_path / "any.yml"
    path.write_text(YAML)
    (tmp_path / "broken.yaml").write_text("feed: [")
    (tmp_path / "empty.yaml").write_text("")
    (found,) = declared_at(tmp_path).items()
    assert (found[0], found[1].path, found[1].line) == ("clicks", path, 7)
    assert found[1].views == {"first": 4, "second": 6}
    assert (found[1].sinks, found[1].external) == ({"api": 8}, {"players": 10})


def test_each_feed_and_view_that_ships_is_found():
    found = declared_at(None)
    shipped = {feed.feed: {view.name for view in feed.gold} for feed in load_feeds(None)}
    assert {name: set(one.views) for name, one in found.items()} == shipped
    for name, one in found.items():
        lines = one.path.read_text().splitlines()
        assert lines[one.line - 1] == f"feed: {name}"
        assert all(f"name: {view}" in lines[line - 1] for view, line in one.views.items())
