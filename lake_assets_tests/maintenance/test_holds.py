import pyarrow as pa

from lake_assets.delta.commit import Commit
from lake_assets.delta.increments import Point
from lake_assets.maintenance.holds import holds_of
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.model.without_silver import Silver
from lake_assets.silver.demux_position import POSITION, Position, batch_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sample import GAMES

_COLUMNS = pa.schema([("value", pa.binary())])


def test_bronze_is_held_for_demux_as_long_as_there_is_any(settings):
    bronze, quarantine = bronze_of("games"), quarantine_of("games")
    at = Position(number=1, bronze_id="an id", bronze=Point(version=0), offsets={}, tables=0)
    with open_lake(settings) as context:
        context.committer.create({bronze: _COLUMNS, quarantine: _COLUMNS})
        refused = Commit(table=quarantine, files=[], info={POSITION: at.to_json()})
        context.committer.append([refused], batch_of("games", 1))
        context.committer.append([Commit(table=bronze, files=[])], batch_of("games", 1))
    feed = GAMES.model_copy(update={"gold": ()})
    assert list(holds_of(settings, feed)[bronze]) == ["silver is behind"]
    without = feed.model_copy(update={"silver": Silver.NONE})
    assert bronze not in holds_of(settings, without)
