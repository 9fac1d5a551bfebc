import json

import pyarrow as pa
import pytest

from lake_assets.errors import FeedError, TableFeatureError
from lake_assets.model.owners import Owner
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.usable_tables import ensure_streamable
from lake_assets_tests.sample import GAMES, RENAMED, silver_of
from lake_assets_tests.table_logs import commit_file


def _put_feature(folder, name):
    """As another engine does that knows the feature."""
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [name]}
    commit_file(folder, 1).write_text(json.dumps({"protocol": protocol}))


@pytest.mark.parametrize(
    "table", [bronze_of("games"), quarantine_of("games"), silver_of("uno")], ids=lambda t: t.name
)
def test_a_table_that_the_streams_cannot_append_to_is_named_before_they_begin(settings, table):
    with open_lake(settings) as context:
        ensure_streamable(context, GAMES)
        context.committer.create({table: pa.schema([("a", pa.int64())])})
        ensure_streamable(context, GAMES)
        _put_feature(context.lake.root.as_path() / table.relative, "rowTracking")
        with pytest.raises(TableFeatureError, match=f"{table.name}: has .* rowTracking"):
            ensure_streamable(context, GAMES)


def test_streams_do_not_begin_with_a_feed_that_renamed_its_silver(settings):
    schema, uno = pa.schema([("a", pa.int64())]), silver_of("uno")
    moved = GAMES.model_copy(update={"tables": RENAMED.tables})
    with open_lake(settings) as context:
        context.committer.create({uno: schema}, owners={uno: Owner(feed="games", key="uno")})
        ensure_streamable(context, GAMES)
        with pytest.raises(FeedError, match="has silver_uno_events, which would be uno_in_silver"):
            ensure_streamable(context, moved)
