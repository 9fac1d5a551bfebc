import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.delta.commit_journal import journal_of
from lake_assets.errors import FeedError
from lake_assets.model.owners import Owner
from lake_assets.model.retention import Reset
from lake_assets.model.tables import bronze_of, quarantine_of, waiting_of
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.pipeline import checkpoint_of
from lake_assets.streams.reset import reset_bronze
from lake_assets_tests.sample import GAMES, gold_of, silver_of

OWN = {
    bronze_of("games"),
    waiting_of("games"),
    quarantine_of("games"),
    silver_of("uno"),
    gold_of("uno", "player_agg"),
    gold_of("uno", "old_view"),
    silver_of("poker"),
}

OTHERS = {bronze_of("fitness"), silver_of("running"), silver_of("go_fish"), silver_of("chess")}

RECORDED = {
    gold_of("uno", "old_view"): Owner(feed="games", key="uno", view="old_view"),
    silver_of("poker"): Owner(feed="games", key="poker"),
    # Declared by the feed, and made for another.
    silver_of("go_fish"): Owner(feed="fitness", key="go_fish"),
}

SCHEMA = pa.schema([("a", pa.int64())])


@pytest.fixture
def lake(settings):
    with open_lake(settings) as context:
        context.committer.create(dict.fromkeys(OWN | OTHERS, SCHEMA), owners=RECORDED)
    for feed in ("games", "fitness"):
        checkpoint_of(settings.state_dir, feed).mkdir(parents=True)
        replace_text(journal_of(settings.state_dir, feed, "waiting").path, "{}")
    return settings


def test_all_that_was_made_of_a_feed_goes_and_nothing_of_another(lake):
    dropped = reset_bronze(lake, GAMES.model_copy(update={"reset": Reset.ALLOWED}))
    assert set(dropped) == OWN
    assert not any((lake.lake_dir / table.relative).exists() for table in OWN)
    assert all((lake.lake_dir / table.relative).exists() for table in OTHERS)
    for feed, stays in (("games", False), ("fitness", True)):
        assert checkpoint_of(lake.state_dir, feed).exists() is stays
        assert journal_of(lake.state_dir, feed, "waiting").path.exists() is stays


def test_places_of_erased_rows_go_with_what_numbered_the_rows(lake):
    ledger = ErasureLedger(lake_of(lake), lake.state_dir)
    ledger.record("games", "one", {("games", 0): [(1, 2)]})
    reset_bronze(lake, GAMES.model_copy(update={"reset": Reset.ALLOWED}))
    assert not ledger.spans("games")


def test_a_protected_feed_says_how_to_lift_it(lake):
    with pytest.raises(FeedError, match="write `reset: allowed`"):
        reset_bronze(lake, GAMES)
    assert all((lake.lake_dir / table.relative).exists() for table in OWN)


def test_a_table_with_rows_of_a_feed_that_is_declared_no_more_stays(lake):
    rows = pa.table({"a": [1], "_feed": ["retired"]})
    folder = lake.lake_dir / silver_of("poker").relative
    write_deltalake(folder, rows, mode="append", schema_mode="merge")
    with pytest.raises(FeedError, match=r"silver_poker_events would be .* has rows of retired"):
        reset_bronze(lake, GAMES.model_copy(update={"reset": Reset.ALLOWED}))
    assert all((lake.lake_dir / table.relative).exists() for table in OWN)
