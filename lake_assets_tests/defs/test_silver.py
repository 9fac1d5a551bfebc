import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.internals.runs import range_tags
from lake_assets.defs.keys import ensure_unique, key_partitions, silver_key
from lake_assets.defs.silver import build
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE, silver_of

SILVER = dg.AssetKey("silver_events")


def test_silver_and_quarantine_come_from_bronze(settings):
    graph = build(settings, [GAMES]).resolve_asset_graph()
    bronze = {dg.AssetKey("bronze_games")}
    assert graph.get(SILVER).parent_keys == bronze
    assert graph.get(dg.AssetKey("quarantine_games")).parent_keys == bronze


def test_silver_has_a_partition_a_game_and_quarantine_none(settings, lake):
    graph = build(settings, [GAMES]).resolve_asset_graph()
    assert graph.get(SILVER).partitions_def == dg.DynamicPartitionsDefinition(name=f"games_{lake}")
    assert graph.get(dg.AssetKey("quarantine_games")).partitions_def is None


def test_tables_that_several_feeds_fill_are_one_asset_that_comes_from_all_their_bronzes(
    settings, lake
):
    flow = GAMES.model_copy(update={"feed": "twin", "into": "games", "gold": ()})
    feeds = [feed.beside([GAMES, flow]) for feed in (GAMES, flow)]
    ensure_unique(settings, feeds)
    graph = build(settings, feeds).resolve_asset_graph()
    assert graph.get(SILVER).parent_keys == {
        dg.AssetKey("bronze_games"),
        dg.AssetKey("bronze_twin"),
    }
    assert graph.get(dg.AssetKey("quarantine_twin")).parent_keys == {dg.AssetKey("bronze_twin")}
    assert dg.AssetKey("silver_twin_events") not in graph.get_all_asset_keys()
    assert silver_key(settings, feeds[1]) == SILVER
    assert key_partitions(feeds[1], lake).name == f"games_{lake}"
    assert {key.name for key in graph.asset_check_keys} == {"gamer_is_known", "device_is_known"}


def test_expectations_are_checks(settings):
    graph = build(settings, [GAMES]).resolve_asset_graph()
    assert {key.name for key in graph.asset_check_keys} == {"gamer_is_known", "device_is_known"}


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Action.WARN, "are kept and counted"),
        (Action.DROP, "are dropped before the write"),
        (Action.QUARANTINE, "an error where they are more than 5% of the rows"),
        (Action.FAIL, "stops the stream before its batch is committed"),
    ],
)
def test_each_check_says_what_becomes_of_the_rows(settings, action, words):
    expectation = Expectation(name="known", sql="true", action=action, blocking=True)
    feed = GAMES.model_copy(update={"expectations": (expectation,)})
    graph = build(settings, [feed]).resolve_asset_graph()
    (key,) = graph.asset_check_keys
    said = graph.get_check_spec(key).description or ""
    assert words in said
    assert said.endswith("that key's gold views stay as they are.")


def test_silver_says_by_what_its_rows_are_told_apart(settings):
    rule = Deduplicate(key=("gamer_id", "device_id"), within="90m", time="at")
    feed = GAMES.model_copy(update={"deduplicate": rule})
    said = str(build(settings, [feed]).resolve_asset_graph().get(SILVER).description)
    assert "a key, once per gamer_id and device_id within 1 hour and 30 minutes of at." in said
    assert said.endswith("Materialize derives the partitions again from bronze, while they go on.")


def test_a_feed_without_expectations_has_no_checks(settings):
    feed = GAMES.model_copy(update={"expectations": ()})
    assert not build(settings, [feed]).resolve_asset_graph().asset_check_keys


@pytest.fixture
def silver(settings, instance, lake):
    rows = {"game_name": ["uno"] * 4, "gamer_id": ["g"] * 4, "device_id": ["d", "d", "d", ""]}
    write_deltalake(settings.lake_dir / silver_of("uno").relative, pa.table(rows))
    instance.add_dynamic_partitions(f"games_{lake}", ["uno", "go_fish"])


@pytest.mark.spark
@pytest.mark.usefixtures("silver")
@pytest.mark.parametrize("tags", [{"dagster/partition": "uno"}, range_tags(["uno", "go_fish"]), {}])
def test_checks_executed_by_hand_count_what_silver_holds(settings, instance, tags):
    definitions = dg.Definitions.merge(
        build(settings, [GAMES]),
        dg.Definitions(
            jobs=[dg.define_asset_job("checks", dg.AssetSelection.all_asset_checks())],
            executor=dg.in_process_executor,
        ),
    )
    job = definitions.resolve_job_def("checks")
    assert job.execute_in_process(instance=instance, tags=tags).success
    keys = [dg.AssetCheckKey(SILVER, e.name) for e in GAMES.expectations]
    info = instance.event_log_storage.get_asset_check_partition_info(keys)
    found = {(i.check_key.name, i.partition_key): i.latest_execution_status.value for i in info}
    expected = {("gamer_is_known", "uno"): "SUCCEEDED", ("device_is_known", "uno"): "FAILED"}
    if "dagster/partition" not in tags:
        expected |= {(e.name, "go_fish"): "SUCCEEDED" for e in GAMES.expectations}
    # Without any partition Dagster plans one result for none, which nobody can give.
    assert {key: status for key, status in found.items() if key[1]} == expected


@pytest.mark.parametrize(
    ("feed", "name"),
    [
        (GAMES, "silver_{key}_events"),
        (RENAMED, "{key}_in_silver"),
        (WITHOUT_ROUTE, "silver_clicks_events"),
    ],
)
def test_silver_is_shown_under_the_names_of_its_tables(settings, feed, name):
    graph = build(settings, [feed]).resolve_asset_graph()
    (metadata,) = [
        graph.get(key).metadata for key in graph.get_all_asset_keys() if "silver" in key.path[0]
    ]
    assert metadata["tables"] == dg.MetadataValue.text(name)


def metadata_of(settings, feed):
    graph = build(settings, [feed]).resolve_asset_graph()
    keys = [key for key in graph.get_all_asset_keys() if "silver" in key.path[0]]
    (metadata,) = [graph.get(key).metadata for key in keys]
    return metadata


def test_silver_says_of_which_subjects_it_is_if_they_are_several(settings):
    payload = Payload.model_validate({"protobuf": {"subjects": r"acme\..*"}})
    several = GAMES.model_copy(update={"payload": payload})
    told = metadata_of(settings, several)["subjects"]
    assert told == dg.MetadataValue.text(r"acme\..*")
    assert "subjects" not in metadata_of(settings, GAMES)


def test_silver_says_what_it_is_routed_by(settings):
    def told(feed):
        return metadata_of(settings, feed).get("routed_by")

    routes = (Route(header="kind", keys=("uno",)), Route(sql="lower(a)", keys=("go_fish",)))
    several = GAMES.model_copy(update={"route": None, "routes": routes})
    assert told(several) == dg.MetadataValue.text("header kind; lower(a)")
    assert told(WITHOUT_ROUTE) is None
