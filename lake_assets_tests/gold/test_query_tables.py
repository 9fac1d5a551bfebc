"""Views that join a Delta table outside the lake, which stays where it is and as it is."""

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import LakeError, TableFeatureError
from lake_assets.gold.sql_views import refresh_sql_views
from lake_assets.gold.status import views_behind
from lake_assets.model.external_tables import ExternalTable
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import EVERY_KEY
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES

pytestmark = pytest.mark.spark

NAMED = GoldView(
    name="named",
    sql="""select p.name, p.country, count(*) as events
        from silver_all s join external.players p on p.gamer_id = s.gamer_id
        group by p.name, p.country""",
)


@pytest.fixture
def players(tmp_path):
    """A table that somebody else has, partitioned, so that its files lack a column."""
    folder = tmp_path / "others" / "players"
    put(folder, ("ann", "Ann B.", "se"), ("bob", "Bob C.", "no"))
    return folder


def put(folder, *rows):
    names = ("gamer_id", "name", "country")
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    write_deltalake(folder, table, mode="append", partition_by=["country"])


def feed_with(folder):
    external = {"players": ExternalTable(delta=str(folder))}
    return GAMES.model_copy(update={"gold": (NAMED,), "external": external})


def found(lake):
    table = DeltaTable(lake / GAMES.gold_table(NAMED, EVERY_KEY).relative)
    return sorted(tuple(row.values()) for row in table.to_pyarrow_table().to_pylist())


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files}


def test_rows_of_a_table_outside_are_joined_anew_when_it_has_another_version(
    spark, context, lake, players, settings
):
    feed = feed_with(players)
    add_silver(lake, "uno", "ann", "ann", "bob")

    def refresh():
        return refresh_sql_views(spark, feed, NAMED, ("uno",), context)

    before = contents(players)
    refresh()
    assert found(lake) == [("Ann B.", "se", 2), ("Bob C.", "no", 1)]
    assert contents(players) == before
    assert refresh().up_to_date == ((EVERY_KEY, "named"),)
    DeltaTable(players).delete("gamer_id = 'bob'")
    here = settings.model_copy(update={"lake_dir": lake})
    assert views_behind(here, feed, {}) == {"named": (EVERY_KEY,)}
    refresh()
    assert found(lake) == [("Ann B.", "se", 2)]


def test_a_table_that_is_not_there_holds_its_view_and_is_waited_for(
    spark, context, lake, players, tmp_path
):
    add_silver(lake, "uno", "ann")
    feed = feed_with(tmp_path / "none")
    report = refresh_sql_views(spark, feed, NAMED, ("uno",), context)
    assert report.blocked == {EVERY_KEY: "external.players, which it reads, has no table yet"}
    players.rename(tmp_path / "none")
    refresh_sql_views(spark, feed, NAMED, ("uno",), context)
    assert found(lake) == [("Ann B.", "se", 1)]


def test_what_cannot_be_read_right_is_refused_and_so_is_a_table_of_the_lake(
    spark, context, lake, players
):
    add_silver(lake, "uno", "ann")
    first = players / "_delta_log" / f"{0:020}.json"
    (told,) = [json.loads(line) for line in first.read_text().splitlines() if '"metaData"' in line]
    told["metaData"]["configuration"] = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "3",
    }
    schema = json.loads(told["metaData"]["schemaString"])
    for number, field in enumerate(schema["fields"], 1):
        names = {"id": number, "physicalName": field["name"]}
        field["metadata"] = {f"delta.columnMapping.{name}": value for name, value in names.items()}
    told["metaData"]["schemaString"] = json.dumps(schema)
    features = {"readerFeatures": ["columnMapping"], "writerFeatures": ["columnMapping"]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    second = players / "_delta_log" / f"{1:020}.json"
    second.write_text("".join(f"{json.dumps(action)}\n" for action in (protocol, told)))
    with pytest.raises(TableFeatureError, match="columnMapping"):
        refresh_sql_views(spark, feed_with(players), NAMED, ("uno",), context)
    second.write_text("no commit")
    with pytest.raises(LakeError, match="players: cannot be opened"):
        refresh_sql_views(spark, feed_with(players), NAMED, ("uno",), context)
    inside = feed_with(lake / "silver" / "silver_uno_events")
    with pytest.raises(LakeError, match="is a table of this lake"):
        refresh_sql_views(spark, inside, NAMED, ("uno",), context)
