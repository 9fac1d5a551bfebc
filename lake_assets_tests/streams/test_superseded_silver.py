"""Silver under former names, in lakes of Delta tables alone."""

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.delta.renamed_tables import renamed_tables
from lake_assets.errors import FeedError, StreamError
from lake_assets.model.owners import Owner
from lake_assets.model.tables import Layer, bronze_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.bronze_ranges import ensure_reaches
from lake_assets.streams.rebuild_all import ensure_renamable
from lake_assets.streams.superseded_silver import drop_superseded, offsets_of_silver
from lake_assets_tests.columns import ORIGIN
from lake_assets_tests.sample import GAMES, RENAMED

MOVED = GAMES.model_copy(update={"tables": RENAMED.tables})
BRONZE = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])


@pytest.fixture
def context(settings):
    """Of a lake with bronze and silver of two keys, all of them empty."""
    owners = {GAMES.silver_table(key): Owner(feed="games", key=key) for key in GAMES.keys}
    with open_lake(settings) as context:
        context.committer.create(dict.fromkeys(owners, ORIGIN), owners=owners)
        bronze = bronze_of("games")
        context.committer.create({bronze: BRONZE}, owners={bronze: Owner(feed="games")})
        yield context


def add(context, table, schema, *places):
    """Rows of partitions and offsets, which the table's commits tell nothing of."""
    rows = [dict(zip(schema.names, ("game-stream", *place), strict=False)) for place in places]
    write_deltalake(
        context.lake.root.as_path() / table.relative,
        pa.Table.from_pylist(rows, schema=schema),
        mode="append",
    )


def test_silver_is_as_far_as_the_rows_of_its_tables(context):
    renamed = renamed_tables(context.lake, MOVED, Layer.SILVER)
    assert offsets_of_silver(context, MOVED, renamed) == {}
    for key, *places in (("uno", (0, 3), (1, 0)), ("go_fish", (0, 4), (2, 7))):
        add(context, GAMES.silver_table(key), ORIGIN, *places)
    assert offsets_of_silver(context, MOVED, renamed) == {
        ("game-stream", 0): 5,
        ("game-stream", 1): 1,
        ("game-stream", 2): 8,
    }


def test_bronze_must_reach_as_far_whatever_its_commits_tell(context):
    add(context, GAMES.silver_table("uno"), ORIGIN, (0, 3), (1, 0))
    offsets = offsets_of_silver(context, MOVED, renamed_tables(context.lake, MOVED, Layer.SILVER))
    for place, end in (((0, 2), 0), ((0, 3), 3), ((1, 0), 0)):
        bronze = context.committer.fresh(bronze_of("games"))
        with pytest.raises(StreamError, match=f"ends at {end} in partition {place[0]}"):
            ensure_reaches(context.lake, MOVED, bronze, offsets)
        add(context, bronze_of("games"), BRONZE, place)
    ensure_reaches(context.lake, MOVED, context.committer.fresh(bronze_of("games")), offsets)


def test_each_key_has_a_table_under_its_new_name_before_the_old_one_is_dropped(context):
    uno = MOVED.silver_table("uno")
    context.committer.create({uno: ORIGIN}, owners={uno: Owner(feed="games", key="uno")})
    drop_superseded(context, MOVED, renamed_tables(context.lake, MOVED, Layer.SILVER))
    silver = sorted(path.name for path in (context.lake.root.as_path() / "silver").iterdir())
    assert silver == ["go_fish_in_silver", "uno_in_silver"]
    assert renamed_tables(context.lake, GAMES, Layer.SILVER).keys() == {
        uno,
        MOVED.silver_table("go_fish"),
    }


def test_a_table_whose_new_name_is_anothers_stays(context):
    uno = MOVED.silver_table("uno")
    context.committer.create({uno: ORIGIN}, owners={uno: Owner(feed="renamed", key="uno")})
    drop_superseded(context, MOVED, renamed_tables(context.lake, MOVED, Layer.SILVER))
    silver = sorted(path.name for path in (context.lake.root.as_path() / "silver").iterdir())
    assert silver == ["go_fish_in_silver", "silver_uno_events", "uno_in_silver"]


def test_tables_with_rows_of_a_feed_that_is_declared_no_more_keep_their_names(context):
    renamed = renamed_tables(context.lake, MOVED, Layer.SILVER)
    ensure_renamable(context.lake, MOVED, renamed)
    rows = pa.table({"_offset": pa.array([3], pa.int64()), "_feed": ["retired"]})
    folder = context.lake.root.as_path() / GAMES.silver_table("go_fish").relative
    write_deltalake(folder, rows, mode="append", schema_mode="merge")
    with pytest.raises(FeedError, match=r"go_fish_events would be .* it has rows of retired"):
        ensure_renamable(context.lake, MOVED, renamed)
