from lake_assets.defs.code_references import code_references
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


def test_a_feed_that_no_file_declares_has_no_line(settings, tmp_path):
    assert code_references(settings, RENAMED) == {}
    nowhere = settings.model_copy(update={"feeds": tmp_path / "nowhere"})
    assert code_references(nowhere, RENAMED) == {}
