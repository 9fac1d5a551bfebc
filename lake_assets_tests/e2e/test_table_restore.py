"""One table put back by `lake-assets restore --table`, with streams before and after it.

Counted by a reader that is not Spark: each event in exactly one place, none doubled.
"""

from collections import Counter

import pytest
from deltalake import DeltaTable

from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets_tests.e2e.world import World
from lake_assets_tests.sample import gold_of, silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

BRONZE, QUARANTINE, UNO = bronze_of("games"), quarantine_of("games"), silver_of("uno")
AGG = gold_of("uno", "agg")


@pytest.fixture
def world(connected, services, tmp_path):
    return World(connected, services, tmp_path / "feeds")


def stream(world):
    world.run("stream", "--until-caught-up")


def places(world, table):
    rows = DeltaTable(world.path(table)).to_pyarrow_table()
    prefix = "" if table in {BRONZE, QUARANTINE} else "_"
    columns = (rows[f"{prefix}partition"], rows[f"{prefix}offset"])
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


def version(world, table):
    return str(DeltaTable(world.path(table)).version())


def events(world):
    rows = DeltaTable(world.path(AGG)).to_pyarrow_table()
    return dict(zip(rows["gamer_id"].to_pylist(), rows["events"].to_pylist(), strict=True))


def put_back(world, table, to):
    return world.run("restore", "--table", table.relative, "--version", to, "--yes")


def test_silver_lacks_what_came_since_until_it_is_rebuilt(world):
    first = Counter(world.produce("ann", "bob"))
    stream(world)
    before = version(world, UNO)
    second = Counter(world.produce("ann"))
    stream(world)
    world.run("refresh")
    put_back(world, UNO, before)
    third = Counter(world.produce("cid"))
    stream(world)
    assert places(world, UNO) == first + third
    world.run("refresh")
    assert events(world) == {"ann": 1, "bob": 1, "cid": 1}
    world.run("rebuild", "silver", "--yes", "--key", "uno")
    stream(world)
    assert places(world, UNO) == places(world, BRONZE) == first + second + third
    world.run("refresh")
    assert events(world) == {"ann": 2, "bob": 1, "cid": 1}
    refused = world.refused("restore", "--table", UNO.relative, "--version", before, "--yes")
    assert "they would be in two tables" in refused


def test_rows_that_another_engine_deleted_come_back_and_nothing_else_changes(world):
    rows = Counter(world.produce("ann", "bob"))
    stream(world)
    before = version(world, UNO)
    DeltaTable(world.path(UNO)).delete("gamer_id = 'ann'")
    put_back(world, UNO, before)
    rows += Counter(world.produce("cid"))
    stream(world)
    assert places(world, UNO) == rows


def test_bronze_reads_again_what_it_lacks_and_silver_gets_nothing_twice(world):
    rows = Counter(world.produce("ann", "bob"))
    stream(world)
    before = version(world, BRONZE)
    rows += Counter(world.produce("cid"))
    stream(world)
    put_back(world, BRONZE, before)
    assert places(world, BRONZE).total() == 2
    rows += Counter(world.produce("dot"))
    stream(world)
    assert places(world, BRONZE) == places(world, UNO) == rows
    rows += Counter(world.produce("eve"))
    stream(world)
    assert places(world, BRONZE) == places(world, UNO) == rows


def test_bronze_is_not_put_back_to_before_rows_that_kafka_has_no_more(world):
    world.produce("ann")
    stream(world)
    before = version(world, BRONZE)
    world.produce("bob")
    stream(world)
    world.topic.delete()
    refused = world.refused("restore", "--table", BRONZE.relative, "--version", before, "--yes")
    assert world.topic.name in refused
    assert version(world, BRONZE) != before
    assert places(world, BRONZE).total() == 2


def test_quarantine_lacks_what_came_since_until_silver_is_rebuilt(world):
    rows = Counter(world.produce("ann"))
    rows += Counter(world.topic.produce(b"bad"))
    stream(world)
    before = version(world, QUARANTINE)
    worse = Counter(world.topic.produce(b"worse"))
    stream(world)
    put_back(world, QUARANTINE, before)
    rows += Counter(world.produce("bob"))
    stream(world)
    assert places(world, UNO) + places(world, QUARANTINE) == rows
    world.run("rebuild", "silver", "--yes")
    stream(world)
    assert places(world, UNO) + places(world, QUARANTINE) == rows + worse


def test_gold_comes_up_to_date_again(world):
    world.produce("ann")
    stream(world)
    world.run("refresh")
    before = version(world, AGG)
    world.produce("ann", "bob")
    stream(world)
    world.run("refresh")
    put_back(world, AGG, before)
    assert events(world) == {"ann": 1}
    world.run("refresh")
    assert events(world) == {"ann": 2, "bob": 1}
