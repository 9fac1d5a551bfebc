"""Another masking key where several feeds fill the tables: none goes on with rows of the former."""

import pyarrow as pa
import pytest

from lake_assets.model.tables import quarantine_of
from lake_assets.silver.lost_rows import lost_rows
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.key_rotation import _tell_others
from lake_assets_tests.sample import GAMES


def flow(name, **mask):
    update = {"feed": name, "into": "games", "route": None, "gold": (), "expectations": ()}
    return GAMES.model_copy(update={**update, "mask": mask})


@pytest.fixture
def lake(settings):
    with open_lake(settings) as context:
        schema = pa.schema([("a", pa.int64())])
        tables = [quarantine_of(name) for name in ("games", "twin", "plain")]
        context.committer.create(dict.fromkeys(tables, schema))
        yield context.lake


def test_other_feeds_with_hashes_in_the_tables_are_told(lake):
    games = GAMES.model_copy(update={"mask": {"gamer": "hash"}})
    feeds = [games, flow("twin", gamer="hash"), flow("plain"), flow("unbegun", gamer="hash")]
    _tell_others(lake, feeds[1].beside(feeds))
    told = {feed.feed: bool(lost_rows(lake, feed.feed)) for feed in feeds}
    assert told == {"games": True, "twin": False, "plain": False, "unbegun": False}
    assert "'twin'" in lost_rows(lake, "games")


def test_a_feed_that_has_its_tables_alone_tells_nobody(lake):
    _tell_others(lake, GAMES.beside([GAMES]))
    assert [lost_rows(lake, name) for name in ("games", "twin", "plain")] == ["", "", ""]
