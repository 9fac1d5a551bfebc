import pytest
from rich.console import Console

from lake_assets.demo.setup import demo_feeds, services_up
from lake_assets.errors import SettingsError
from lake_assets.feeds.load import load_feeds
from lake_assets.services import control


@pytest.fixture
def settings(settings):
    """With the feeds that ship."""
    return settings.model_copy(update={"feeds": None})


def test_without_games_the_feeds_are_as_declared(settings):
    same, feeds = demo_feeds(settings, ())
    assert same == settings
    assert sorted(feeds, key=lambda feed: feed.feed) == list(load_feeds(None))
    assert feeds[0].feed == "games"


def test_asked_for_games_become_the_keys_for_every_process(settings):
    changed, feeds = demo_feeds(settings, ("chess", "go"))
    assert feeds[0].keys == ("chess", "go")
    assert load_feeds(changed.feeds) == tuple(sorted(feeds, key=lambda feed: feed.feed))


def test_the_demos_feeds_are_just_those_that_there_are_now(settings):
    changed, feeds = demo_feeds(settings, ("chess", "go"))
    folder = changed.feeds
    assert folder is not None
    games = folder / "games.yaml"
    (folder / "gone.yaml").write_text(games.read_text().replace("feed: games", "feed: gone"))
    (folder / "gone.yml").write_text(games.read_text())
    assert demo_feeds(settings, ("chess", "go")) == (changed, feeds)
    assert sorted(file.name for file in folder.iterdir()) == ["fitness.yaml", "games.yaml"]


def test_a_game_that_cannot_name_a_table_is_refused(settings):
    with pytest.raises(SettingsError, match=r"'\.\./x' cannot name a table"):
        demo_feeds(settings, ("chess", "../x"))


def test_services_that_ran_before_go_on_after(connected):
    with services_up(connected, Console(quiet=True)) as endpoints:
        assert endpoints.kafka == connected.kafka.bootstrap_servers
    assert control.locate(connected) == endpoints
