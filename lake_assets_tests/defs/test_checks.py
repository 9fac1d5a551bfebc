import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from deltalake.transaction import CommitProperties

from lake_assets.defs.checks import build
from lake_assets.defs.gold import build as build_gold
from lake_assets.defs.internals.runs import range_tags
from lake_assets.model.checks import Freshness, GoldCheck, RowCount, SilverCheck
from lake_assets.state.failing_expectations import read_failures
from lake_assets_tests.gold.silver import add_silver, stands_for
from lake_assets_tests.sample import GAMES, gold_of

SILVER = dg.AssetKey("silver_events")
GOLD = dg.AssetKey("gold_player_agg")

SOME = SilverCheck(name="some", row_count=RowCount(min=2), blocking=True)
FRESH = SilverCheck(name="fresh", freshness=Freshness(column="event_timestamp", max_age="1h"))
ONCE = SilverCheck(name="once", unique=("_offset",))
ALL = GoldCheck(name="counts_all", equals_source="session_count")

VIEW = GAMES.gold[0].model_copy(update={"checks": (ALL,)})
FEED = GAMES.model_copy(update={"checks": (SOME, FRESH), "gold": (VIEW,)})


@pytest.fixture
def results(instance):
    def read(asset, *names):
        keys = [dg.AssetCheckKey(asset, name) for name in names]
        info = instance.event_log_storage.get_asset_check_partition_info(keys)
        return {
            (i.check_key.name, i.partition_key): i.latest_execution_status.value
            for i in info
            if i.partition_key
        }

    return read


@pytest.fixture
def execute(instance, lake):
    instance.add_dynamic_partitions(f"games_{lake}", ["uno", "go_fish"])

    def run(definitions, selection, tags):
        job = dg.Definitions.merge(
            definitions,
            dg.Definitions(
                jobs=[dg.define_asset_job("it", selection)], executor=dg.in_process_executor
            ),
        ).resolve_job_def("it")
        return job.execute_in_process(instance=instance, tags=tags)

    return run


def test_a_feed_without_checks_has_none(settings):
    assert not list(build(settings, [GAMES]).asset_checks or ())


def test_each_check_says_what_it_asks_for(settings):
    feed = FEED.model_copy(update={"checks": (SOME, FRESH, ONCE)})
    found = {
        spec.name: spec.description
        for checks in build(settings, [feed]).asset_checks
        for spec in checks.check_specs
    }
    assert found == {
        "some": "The table's rows are >= 2. While it fails for a key, that key's gold views stay "
        "as they are.",
        "fresh": "The newest event_timestamp is <= 1 hour old.",
        "once": "No two rows have the same _offset.",
        "counts_all": "The sum of session_count is the number of silver rows it stands for.",
    }


@pytest.mark.parametrize("tags", [{"dagster/partition": "uno"}, range_tags(["uno", "go_fish"])])
def test_checks_of_silver_executed_by_hand(settings, execute, results, tags):
    add_silver(settings.lake_dir, "uno", "ann")
    add_silver(settings.lake_dir, "go_fish", "ann", "bob")
    checks = build(settings, [FEED.model_copy(update={"gold": ()})])
    assert execute(checks, dg.AssetSelection.all_asset_checks(), tags).success
    expected = {("some", "uno"): "FAILED", ("fresh", "uno"): "FAILED"}
    if "dagster/partition" not in tags:
        expected |= {("some", "go_fish"): "SUCCEEDED", ("fresh", "go_fish"): "FAILED"}
    assert results(SILVER, "some", "fresh") == expected
    assert ("uno", "some") in read_failures(settings.state_dir, "games")


@pytest.mark.spark
def test_checks_of_gold_executed_by_hand(settings, execute, results):
    add_silver(settings.lake_dir, "uno", "ann")
    write_deltalake(
        settings.lake_dir / gold_of("uno", VIEW.name).relative,
        pa.table({"gamer_id": ["ann"], "session_count": [2]}),
        commit_properties=CommitProperties(custom_metadata=stands_for(settings, VIEW, 0)),
    )
    checks = build(settings, [FEED.model_copy(update={"checks": ()})])
    assert execute(
        checks, dg.AssetSelection.all_asset_checks(), range_tags(["uno", "go_fish"])
    ).success
    expected = {("counts_all", "uno"): "FAILED", ("counts_all", "go_fish"): "SUCCEEDED"}
    assert results(GOLD, "counts_all") == expected


@pytest.mark.spark
def test_a_refresh_evaluates_golds_checks_and_those_that_may_hold_it_up(
    settings, instance, execute, results
):
    add_silver(settings.lake_dir, "uno", "ann")
    add_silver(settings.lake_dir, "go_fish", "ann", "bob")
    definitions = dg.Definitions.merge(build_gold(settings, [FEED]), build(settings, [FEED]))
    selection = dg.AssetSelection.assets(GOLD).without_checks()
    done = execute(definitions, selection, range_tags(["uno", "go_fish"]))
    assert done.success
    assert {e.partition for e in done.get_asset_materialization_events()} == {"go_fish"}
    assert results(GOLD, "counts_all") == {("counts_all", "go_fish"): "SUCCEEDED"}
    assert results(SILVER, "some", "fresh") == {
        ("some", "uno"): "FAILED",
        ("some", "go_fish"): "SUCCEEDED",
    }
    said = [event.user_message for event in instance.all_logs(done.run_id)]
    assert any(text.startswith("uno is left as it is: some fails since") for text in said)
    add_silver(settings.lake_dir, "uno", "bob")
    done = execute(definitions, selection, range_tags(["uno", "go_fish"]))
    assert {e.partition for e in done.get_asset_materialization_events()} == {"uno", "go_fish"}
