import pytest
from rich.console import Console

from lake_assets.demo.setup import demo_feed, services_up
from lake_assets.errors import SettingsError
from lake_assets.feeds.load import load_feeds
from lake_assets.services import control


def test_without_games_the_feed_is_as_declared(settings):
    same, feed = demo_feed(settings, ())
    assert same == settings
    assert feed == load_feeds(None)[0]


def test_asked_for_games_become_the_keys_for_every_process(settings):
    changed, feed = demo_feed(settings, ("chess", "go"))
    assert feed.route.keys == ("chess", "go")
    assert load_feeds(changed.feeds) == (feed,)


def test_a_game_that_cannot_name_a_table_is_refused(settings):
    with pytest.raises(SettingsError, match=r"'\.\./x' cannot name a table"):
        demo_feed(settings, ("chess", "../x"))


def test_services_that_ran_before_go_on_after(connected):
    with services_up(connected, Console(quiet=True)) as endpoints:
        assert endpoints.kafka == connected.kafka.bootstrap_servers
    assert control.locate(connected) == endpoints
