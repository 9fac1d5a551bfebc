"""Tables that somebody changes with Spark SQL between our commands, as users do."""

import pytest
from deltalake import DeltaTable

from lake_assets.model.tables import quarantine_of
from lake_assets.spark.session import start_session
from lake_assets_tests.e2e.world import World
from lake_assets_tests.sample import gold_of, silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

SILVER, GOLD, QUARANTINE = silver_of("uno"), gold_of("uno", "agg"), quarantine_of("games")

PROPERTY = "ALTER TABLE {t} SET TBLPROPERTIES ('%s' = '%s')"
GAMER_IS_KNOWN = "{name: gamer_is_known, sql: gamer_id <> '', action: quarantine}"


@pytest.fixture
def world(connected, services, tmp_path, spark_settings, runtime):
    class Altered(World):
        @property
        def spark(self):
            return start_session(spark_settings, runtime)  # a command may have stopped it

        def alter(self, table, *statements):
            for statement in statements:
                self.spark.sql(statement.format(t=f"delta.`{self.path(table)}`"))

        def gamers(self, table):
            rows = self.spark.read.format("delta").load(str(self.path(table))).collect()
            return sorted(row.gamer_id for row in rows)

        def version(self, table):
            return DeltaTable(self.path(table)).version()

    found = Altered(connected, services, tmp_path / "feeds")
    found.produce("ann", "bob")
    found.produce("cid", key="chess")
    found.run("stream", "--until-caught-up")
    return found


@pytest.mark.timeout(900)
def test_who_was_deleted_is_in_no_view_and_rebuilding_waits_for_a_purge(world):
    world.run("refresh")
    assert world.gamers(GOLD) == ["ann", "bob"]
    deleted = "DELETE FROM {t} WHERE gamer_id = 'ann'"
    world.alter(SILVER, PROPERTY % ("delta.enableDeletionVectors", "true"), deleted)
    world.run("refresh")
    assert (world.gamers(GOLD), world.gamers(SILVER)) == (["bob"], ["bob"])
    world.produce("dan")
    world.run("stream", "--until-caught-up")
    assert world.gamers(SILVER) == ["bob", "dan"]
    before = world.version(SILVER)
    assert "REORG TABLE" in world.refused("rebuild", "silver", "--yes")
    assert world.version(SILVER) == before


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_check_stops_the_streams_until_it_is_an_expectation(world):
    world.alter(SILVER, "ALTER TABLE {t} ADD CONSTRAINT known CHECK (gamer_id <> '')")
    before = world.version(SILVER)
    world.produce("dan", "")
    for _ in range(2):
        told = world.refused("stream", "--until-caught-up")
        assert "silver_uno_events: 1 new rows violate its constraint 'known'" in told
        assert "action: quarantine" in told
    assert world.version(SILVER) == before
    world.declare(expectations=GAMER_IS_KNOWN)
    world.run("stream", "--until-caught-up")
    assert world.gamers(SILVER) == ["ann", "bob", "dan"]


@pytest.mark.timeout(900)
def test_what_cannot_be_honoured_is_refused_by_its_name(world):
    world.declare(keys="uno, chess")
    world.alter(QUARANTINE, PROPERTY % ("delta.appendOnly", "true"))
    before = world.version(QUARANTINE)
    told = world.refused("requeue")
    assert "quarantine_games: has the Delta feature appendOnly" in told
    assert world.version(QUARANTINE) == before
    mapped = PROPERTY % ("delta.columnMapping.mode", "name")
    world.alter(SILVER, mapped, "ALTER TABLE {t} RENAME COLUMN device_id TO device")
    before = world.version(SILVER)
    world.produce("dan")
    for command in (("stream", "--until-caught-up"), ("refresh",)):
        told = world.refused(*command)
        assert "silver_uno_events: has the Delta feature columnMapping" in told
        assert "DROP FEATURE columnMapping" in told
    assert world.version(SILVER) == before
