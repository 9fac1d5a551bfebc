"""A lake in a folder with a name that nobody would choose, worked on by each kind of command."""

import pytest
from deltalake import DeltaTable

from lake_assets_tests.commandline import lake_assets
from lake_assets_tests.e2e.world import World
from lake_assets_tests.sample import gold_of, silver_of

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

ODD = "jo s\u00e9 100% {y} * + & ' \" , = ; : $ ~ ( ) @ ! < > `."


@pytest.mark.timeout(900)
def test_a_lake_may_lie_in_a_folder_of_nearly_any_name(connected, services, tmp_path):
    odd = connected.model_copy(update={"home": tmp_path / ODD})
    world = World(odd, services, tmp_path / "feeds")
    ((partition, offset),) = world.produce("ann")
    world.run("stream", "--until-caught-up")
    world.run("refresh")
    world.produce("ann")
    world.run("stream", "--until-caught-up")
    world.run("refresh")
    world.run("rebuild", "silver", "--yes")
    assert "agg of uno: 1 rows" in world.run("rebuild", "gold", "--yes")
    origin = f"{world.topic.name}/{partition}/{offset}"
    assert "silver" in world.run("trace", origin)
    assert "silver_uno_events" in world.run("tables")
    assert DeltaTable(world.path(silver_of("uno"))).to_pyarrow_table().num_rows == 2
    gold = DeltaTable(world.path(gold_of("uno", "agg"))).to_pyarrow_table()
    assert gold.select(["gamer_id", "events"]).to_pylist() == [{"gamer_id": "ann", "events": 2}]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([ODD, "feeds"])


@pytest.mark.parametrize("command", [("doctor",), ("tables",)])
def test_a_folder_that_delta_cannot_use_is_refused_by_name(settings, tmp_path, command):
    odd = settings.model_copy(update={"home": tmp_path / "[x]"})
    done = lake_assets(odd, *command)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "LAKE_ASSETS_HOME: is" in done.stderr
    assert list(tmp_path.iterdir()) == []
