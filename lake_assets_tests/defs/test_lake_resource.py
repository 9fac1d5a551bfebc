import subprocess
import sys

import dagster as dg
import pyarrow as pa
import pytest

from lake_assets.definitions import assemble
from lake_assets.defs.gold import build as build_gold
from lake_assets.defs.internals.runs import range_tags
from lake_assets.defs.keys import gold_key, key_partitions, silver_key
from lake_assets.defs.lake_resource import LakeResource, lake_resource, resources
from lake_assets.errors import FeedError, LakeError
from lake_assets.model.gold_views import GoldView
from lake_assets.settings.load import child_environment
from lake_assets.settings.upkeep import DagsterSettings
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES

VIEW = GAMES.gold[0]
OF_ALL = GoldView(name="top", sql="select game_name, gamer_id from silver_all")
FEED = GAMES.model_copy(update={"gold": (VIEW, OF_ALL)})


@pytest.fixture
def lake(settings):
    return lake_resource(settings, [FEED])


@pytest.fixture
def other(settings):
    """An asset of another project, on a view of ours."""
    partitions = key_partitions(FEED, lake_id(settings))

    @dg.asset(deps=[gold_key(settings, FEED, VIEW)], partitions_def=partitions)
    def churn(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult:
        rows = lake.read(gold_key(settings, FEED, VIEW), context.partition_key)
        return dg.MaterializeResult(metadata={"rows": rows.num_rows})

    return churn


def test_silver_is_read_by_asset_key_or_by_names_as_arrow_without_spark(lake, settings):
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    for rows in (
        lake.read(silver_key(settings, FEED), "uno"),
        lake.read("silver_events", "uno"),
        lake.read(["silver_events"], partition="uno"),
        lake.read(feed="games", partition="uno"),
    ):
        assert rows["gamer_id"].to_pylist() == ["ann", "bob"]
    assert lake.read("silver_events", "uno", columns=["gamer_id"]).column_names == ["gamer_id"]


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        (
            {"key": "gold_player_ag", "partition": "uno"},
            LakeError,
            "asset 'gold_player_ag': is no asset of this lake. Did you mean 'gold_player_agg'?",
        ),
        (
            {"key": "bronze_games"},
            LakeError,
            (
                "asset 'bronze_games': is neither silver nor gold, and only these are read as "
                "rows. Name one of: silver_events, gold_player_agg, gold_top"
            ),
        ),
        (
            {"key": "silver_events", "partition": "chess"},
            LakeError,
            "asset 'silver_events': has no partition 'chess'. It has: uno, go_fish",
        ),
        (
            {"key": "silver_events"},
            LakeError,
            (
                "asset 'silver_events': has a table a key, and no partition is named. "
                "Name one of: uno, go_fish"
            ),
        ),
        (
            {"key": "gold_top", "partition": "uno"},
            LakeError,
            (
                "asset 'gold_top': is one table over all keys, and partition 'uno' is named. "
                "Leave the partition out"
            ),
        ),
        (
            {"key": "gold_player_agg", "partition": "uno"},
            LakeError,
            (
                "table gold_uno_player_agg: is not there yet. "
                "Materialize partition uno of gold_player_agg first"
            ),
        ),
        (
            {"key": "silver_events", "partition": "uno"},
            LakeError,
            (
                "table silver_uno_events: is not there yet. "
                "No row of uno has come yet: start the streams, or wait for one"
            ),
        ),
        (
            {"feed": "games", "view": "tops", "partition": "uno"},
            LakeError,
            "feed 'games': has no gold view 'tops'. It has: player_agg, top",
        ),
        ({"feed": "gams"}, FeedError, "feed 'gams': is not declared. Use one of: games"),
        ({}, LakeError, "what to read: is named by neither a key nor a feed. Give one of them"),
    ],
)
def test_what_cannot_be_read_is_said(lake, asked, kind, words):
    with pytest.raises(kind) as raised:
        lake.read(**asked)
    assert str(raised.value) == words


def test_a_column_that_a_table_lacks_is_said(lake, settings):
    add_silver(settings.lake_dir, "uno", "ann")
    with pytest.raises(LakeError, match="table silver_uno_events: has no column 'gamr_id'"):
        lake.read("silver_events", "uno", columns=["gamr_id"])


@pytest.mark.spark
def test_an_asset_of_another_project_reads_gold_of_its_partition(settings, instance, other):
    add_silver(settings.lake_dir, "uno", "ann", "ann", "bob")
    instance.add_dynamic_partitions(key_partitions(FEED, lake_id(settings)).name, ["uno"])
    own = dg.define_asset_job("theirs", [other], executor_def=dg.in_process_executor)
    theirs = dg.Definitions(assets=[other], jobs=[own])
    both = dg.Definitions.merge(build_gold(settings, [FEED]), theirs)
    refresh = both.resolve_job_def("gold_refresh_every_1")
    assert refresh.execute_in_process(instance=instance, tags=range_tags(["uno"])).success
    job = both.resolve_job_def("theirs")
    done = job.execute_in_process(instance=instance, partition_key="uno")
    (event,) = done.get_asset_materialization_events()
    made = event.step_materialization_data.materialization
    assert (made.partition, made.metadata["rows"].value) == ("uno", 2)


def test_it_is_replaced_in_tests(instance, settings, other):
    class Fake(LakeResource):
        def read(self, key=None, partition=None, **_):
            return pa.table({key.to_user_string(): [partition] * 5})

    instance.add_dynamic_partitions(key_partitions(FEED, lake_id(settings)).name, ["uno"])
    done = dg.materialize(
        [other], resources={"lake": Fake()}, instance=instance, partition_key="uno"
    )
    (event,) = done.get_asset_materialization_events()
    assert event.step_materialization_data.materialization.metadata["rows"].value == 5


def test_a_lake_has_its_resource_under_a_name_of_its_own_beside_another(settings, tmp_path):
    second = settings.model_copy(
        update={
            "home": tmp_path / "second",
            "dagster": DagsterSettings(lake_resource="second_lake"),
        }
    )
    found = assemble(settings, [GAMES]).resources
    assert set(found) == {"lake"}
    assert set(assemble(second, [GAMES]).resources) == {"second_lake"}
    theirs = dg.Definitions(resources={"lake": dg.ResourceDefinition.hardcoded_resource(1)})
    dg.Definitions.validate_loadable(dg.Definitions.merge(build_gold(second, [FEED]), theirs))


def test_a_launch_may_not_name_another_lake(instance, lake, other, settings):
    """Else the launchpad's form would promise what steps do not do."""
    instance.add_dynamic_partitions(key_partitions(FEED, lake_id(settings)).name, ["uno"])
    with pytest.raises(dg.DagsterResourceFunctionError) as raised:
        dg.materialize(
            [other],
            resources={"lake": lake},
            instance=instance,
            partition_key="uno",
            run_config={"resources": {"lake": {"config": {"lake": "/elsewhere"}}}},
        )
    assert "is '/elsewhere' in this launch" in str(raised.value.__cause__)


def test_rooms_of_one_lake_have_one_object(settings):
    assert resources(settings, [FEED])["lake"] is resources(settings, [FEED])["lake"]
    assert resources(settings, [FEED])["lake"] is not resources(settings, [GAMES])["lake"]


_IN_A_PROCESS = """
import signal, sys
import dagster as dg
from lake_assets.defs.lake_resource import LakeResource
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import load_settings
from lake_assets.spark.jvm import has_started
from lake_assets.spark.session import start_session

def before(*_): pass

signal.signal(signal.SIGINT, before)
is_running = []

@dg.asset
def idle(lake: LakeResource):
    is_running.append(has_started())

@dg.asset
def busy(lake: LakeResource):
    assert lake.spark_session.range(3).count() == 3
    assert lake.read_spark("silver_events", "uno").count() == 2
    is_running.append(lake.spark_context.getConf().get("spark.my.own"))

lake = LakeResource(spark_config={"spark.my.own": "seen"})
for asset in (idle, busy):
    assert dg.materialize([asset], resources={"lake": lake}).success
    is_running.append(has_started())
assert is_running == [False, False, "seen", False], is_running
assert signal.getsignal(signal.SIGINT) is before

# One that was there before is left running.
settings = load_settings()
session = start_session(settings, ensure_runtime(settings))
assert dg.materialize([busy], resources={"lake": LakeResource()}).success
assert has_started() and session.range(2).count() == 2
"""


@pytest.mark.spark
def test_spark_starts_at_its_first_use_and_is_stopped_after_the_run(settings):
    """In a process of its own: here all tests share one session."""
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    program = [sys.executable, "-c", _IN_A_PROCESS]
    subprocess.run(program, env=child_environment(settings), check=True)  # noqa: S603 - our own
