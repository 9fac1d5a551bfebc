from lake_assets.defs import external, sinks
from lake_assets.defs.code_references import code_references
from lake_assets.defs.keys import external_key, sink_key
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets_tests.sample import RENAMED


def test_an_asset_leads_to_the_line_of_its_feed_or_view(settings):
    games = find_feed(load_feeds(settings.feeds), "games")
    for view in (None, games.view("leaderboard")):
        found = code_references(settings, games, view)
        (reference,) = found["dagster/code_references"].code_references
        assert reference.file_path == str(settings.feeds / "games.yaml")
        line = (settings.feeds / "games.yaml").read_text().splitlines()[reference.line_number - 1]
        assert line.strip() == ("feed: games" if view is None else "- name: leaderboard")


def test_a_sink_and_a_table_of_others_lead_to_their_lines(settings, tmp_path):
    text = (
        (settings.feeds / "games.yaml").read_text()
        + """
sinks: [{name: api, from: silver, rest: {url: "https://example.com"}}]
external:
  players: {delta: /data/players}
"""
    )
    (tmp_path / "games.yaml").write_text(text)
    settings = settings.model_copy(update={"feeds": tmp_path})
    games = find_feed(load_feeds(tmp_path), "games")
    keys = {external_key(settings, games, "players"): "players:"}
    keys[sink_key(settings, games, games.sinks[0])] = "sinks:"
    specs = [
        spec
        for room in (external, sinks)
        for spec in room.build(settings, [games]).resolve_all_asset_specs()
        if spec.key in keys
    ]
    assert len(specs) == len(keys)
    for spec in specs:
        (reference,) = spec.metadata["dagster/code_references"].code_references
        line = text.splitlines()[reference.line_number - 1]
        assert line.strip().startswith(keys[spec.key])


def test_a_feed_that_no_file_declares_has_no_line(settings, tmp_path):
    assert code_references(settings, RENAMED) == {}
    nowhere = settings.model_copy(update={"feeds": tmp_path / "nowhere"})
    assert code_references(nowhere, RENAMED) == {}
