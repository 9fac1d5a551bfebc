"""Silver's page: Materialize derives the clicked partitions again, and nothing else starts that."""

import json
from datetime import timedelta

import dagster as dg
import pytest
from deltalake import DeltaTable

from lake_assets.definitions import assemble
from lake_assets.defs.hand_runs import silver_pool
from lake_assets.defs.internals.runs import MAX_RUNTIME, range_tags
from lake_assets.defs.keys import key_partitions, silver_key
from lake_assets.defs.reports import latest_metadata
from lake_assets.model.checks import RowCount, SilverCheck
from lake_assets.model.expectations import Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.routes import Route
from lake_assets.model.sources import Source
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.defs.partition_status import failed_partitions
from lake_assets_tests.sample import GAMES
from lake_assets_tests.streamed_lake import StreamedLake

SILVER = silver_key(Settings(), GAMES)


def feed_of(folder):
    """The sample feed, whose rows come from files: it needs neither a broker nor a registry."""
    return Feed(
        feed="games",
        source=Source(files=FilesSource(path=str(folder), format="jsonl", settle=timedelta(0))),
        payload=Payload(json_=JsonPayload(ddl="game_name string, gamer_id string")),
        route=Route(column="game_name", keys=("uno", "go_fish", "chess")),
        expectations=(Expectation(name="gamer_is_known", sql="gamer_id <> ''"),),
        checks=(SilverCheck(name="some", row_count=RowCount(min=2)),),
    )


@pytest.fixture
def lake(spark, settings, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [("uno", "ann"), ("uno", ""), ("go_fish", "bob")]
    text = "\n".join(json.dumps({"game_name": game, "gamer_id": who}) for game, who in rows)
    (folder / "rows.jsonl").write_text(text)
    found = StreamedLake(spark=spark, settings=settings, feed=feed_of(folder))
    assert found.stream() is None
    return found


@pytest.mark.spark
def test_materialize_derives_the_clicked_partitions_again(lake, instance):
    settings, feed = lake.settings, lake.feed
    partitions = key_partitions(feed, lake_id(settings)).name
    instance.add_dynamic_partitions(partitions, ["uno", "go_fish", "chess"])
    for key in ("uno", "go_fish"):
        DeltaTable(settings.lake_dir / feed.silver_table(key).relative).delete()
    one_process = dg.Definitions(executor=dg.in_process_executor)
    definitions = dg.Definitions.merge(assemble(settings, [feed]), one_process)
    whole = definitions.resolve_implicit_global_asset_job_def()
    job = whole.get_subset(asset_selection={SILVER})  # with its checks, as the page has it
    done = job.execute_in_process(instance=instance, tags=range_tags(["uno", "chess"]))
    assert done.success
    assert sorted(str(e.partition) for e in done.get_asset_materialization_events()) == [
        "chess",  # which has no row: it is as it should be
        "go_fish",
        "uno",
    ]
    told = latest_metadata(instance, SILVER, "uno")
    assert {name: told[name].value for name in ("rows_derived", "rows_replaced")} == {
        "rows_derived": 2,
        "rows_replaced": 0,
    }
    assert told["dagster/partition_row_count"].value == 2
    assert latest_metadata(instance, SILVER, "go_fish")["dagster/partition_row_count"].value == 1
    judged = {
        (found.check_name, found.partition): found.passed
        for found in done.get_asset_check_evaluations()
    }
    assert judged == {
        ("gamer_is_known", "uno"): False,
        ("gamer_is_known", "go_fish"): True,
        ("gamer_is_known", "chess"): True,
        ("some", "uno"): True,
        ("some", "go_fish"): False,
        ("some", "chess"): False,
    }
    keys = [dg.AssetCheckKey(SILVER, "gamer_is_known")]
    info = instance.event_log_storage.get_asset_check_partition_info(keys)
    assert {i.partition_key: i.latest_execution_status.value for i in info} == {
        "uno": "FAILED",
        "go_fish": "SUCCEEDED",
        "chess": "SUCCEEDED",
    }
    (run,) = instance.get_runs()
    assert run.tags[MAX_RUNTIME] == str(24 * 3600)
    assert not failed_partitions(instance, SILVER, partitions)


def test_nothing_but_a_click_starts_it(settings):
    """Neither a job, a schedule, a sensor nor a condition of ours has silver among its assets."""
    found = assemble(settings, [GAMES]).get_repository_def()
    graph = found.asset_graph
    assert SILVER in graph.materializable_asset_keys
    assert [key for key in graph.get_all_asset_keys() if graph.get(key).automation_condition] == []
    jobs = [job for job in found.get_all_jobs() if job.name != "__ASSET_JOB"]
    assert jobs
    of_silver = {key for job in jobs for key in job.asset_layer.executable_asset_keys}
    assert SILVER not in of_silver


def test_bronze_and_quarantine_have_nothing_to_materialize(settings):
    graph = assemble(settings, [GAMES]).resolve_asset_graph()
    external = {key.to_user_string() for key in graph.external_asset_keys}
    assert {"bronze_games", "quarantine_games", "game_stream"} <= external


def test_a_rebuild_is_one_run_in_a_pool_of_its_own(settings):
    graph = assemble(settings, [GAMES]).resolve_asset_graph()
    node = graph.get(SILVER)
    assert node.backfill_policy == dg.BackfillPolicy.single_run()
    assert node.pools == {silver_pool(lake_id(settings))}
