import pytest

from lake_assets.cli.shared import for_each, pick_feeds
from lake_assets.errors import FeedError, LakeError
from lake_assets_tests.commandline import answer_of, sparkless_here
from lake_assets_tests.sample import GAMES

FEED = """
feed: {name}
source: {{kafka: {{topic: {name}}}}}
payload: {{protobuf: {{subject: {name}-value}}}}
route: {{column: kind, keys: [{keys}]}}
gold:
  - {{name: {name}_daily, keys: [kind], measures: {{events: count(*)}}}}
"""


@pytest.fixture
def two(settings, tmp_path):
    """Settings with two feeds."""
    folder = tmp_path / "feeds"
    folder.mkdir()
    for name, keys in (("fitness", "running, cycling"), ("play", "uno, go_fish")):
        (folder / f"{name}.yaml").write_text(FEED.format(name=name, keys=keys))
    return settings.model_copy(update={"feeds": folder})


def names(feeds):
    return [feed.feed for feed in feeds]


def test_without_a_name_all_feeds_are_meant(two):
    assert names(pick_feeds(two, None)) == ["fitness", "play"]
    assert names(pick_feeds(two, "play")) == ["play"]


def test_a_view_or_a_game_chooses_the_feeds_that_have_it(two):
    assert names(pick_feeds(two, None, keys=["uno"])) == ["play"]
    assert names(pick_feeds(two, None, view="fitness_daily")) == ["fitness"]


def test_what_no_feed_has_is_asked_of_all_so_that_each_says_what_it_has(two):
    assert names(pick_feeds(two, None, keys=["chess"])) == ["fitness", "play"]


def test_an_unknown_feed_is_refused(two):
    with pytest.raises(FeedError, match="nothing"):
        pick_feeds(two, "nothing")


def test_what_fails_for_one_feed_is_told_and_the_others_go_on(capsys):
    other = GAMES.model_copy(update={"feed": "other"})
    done = []

    def act(feed):
        if feed is GAMES:
            raise LakeError("lake", "is full", "Free some")
        done.append(feed.feed)

    (problem,) = for_each([GAMES, other], act)
    assert problem.is_told
    assert (done, capsys.readouterr().err) == (["other"], "error: lake: is full. Free some\n")


def test_what_fails_for_the_only_feed_is_an_error_as_ever():
    def act(_):
        raise LakeError("lake", "is full", "Free some")

    with pytest.raises(LakeError):
        for_each([GAMES], act)


@pytest.mark.parametrize("option", ["--lake", "--home", "--feeds"])
def test_a_folder_without_a_name_is_not_where_one_stands(settings, option):
    done = sparkless_here(settings, "tables", "--json", option, "")
    assert done.returncode == 2
    (problem,) = answer_of(done)["problems"]
    assert problem["fact"].endswith("is empty: name a folder, or leave the option out")
    assert option in problem["fact"]
