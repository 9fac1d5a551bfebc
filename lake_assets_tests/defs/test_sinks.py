from lake_assets.definitions import assemble
from lake_assets.defs import silver, sinks
from lake_assets.defs.keys import bronze_key, sink_key
from lake_assets.defs.sinks import Deliveries
from lake_assets.model.reports import DeliveryReport
from lake_assets.settings.schema import Settings
from lake_assets_tests.sinks.bronze import bronze_feed
from lake_assets_tests.sinks.lakes import feed_with_sink
from lake_assets_tests.sinks.views import to_api

FEED = feed_with_sink("https://example.com/sessions")


def _report(rows, p99):
    return DeliveryReport(
        feed="games",
        sink="api",
        rows=rows,
        calls=2,
        retries=1,
        dead_rows=3,
        failed_tries=4,
        batches=1,
        seconds=1.0,
        latency_s={"p50": 0.1, "p99": p99, "max": 0.4} if p99 else {},
    )


def test_a_sink_is_an_asset_after_silver(settings):
    graph = assemble(settings, [FEED]).get_repository_def().asset_graph
    (key,) = [key for key in graph.get_all_asset_keys() if "sink" in key.to_user_string()]
    assert key.to_user_string() == "sink_api"
    assert {parent.to_user_string() for parent in graph.get(key).parent_keys} == {"silver_events"}


def test_a_sink_of_a_view_is_an_asset_after_the_view(settings):
    feed = to_api("https://example.com")
    graph = assemble(settings, [feed]).get_repository_def().asset_graph
    parents = graph.get(sink_key(settings, feed, feed.sinks[0])).parent_keys
    assert {parent.to_user_string() for parent in parents} == {"gold_best"}


def test_deliveries_are_one_materialization_at_a_pace():
    deliveries = Deliveries(Settings(), [FEED], every_s=3600)
    deliveries.add(_report(10, 0.2))
    deliveries.add(_report(20, 0.3))
    deliveries.add(_report(0, None))
    assert list(deliveries.due()) == []
    (told,) = deliveries.rest()
    assert told.asset_key.to_user_string() == "sink_api"
    assert {name: value.value for name, value in told.metadata.items()} == {
        "rows": 30,
        "calls": 6,
        "retries": 3,
        "dead_letters": 9,
        "errors": 12,
        "latency_p50_ms": 100.0,
        "latency_p99_ms": 300.0,
        "latency_max_ms": 400.0,
    }
    assert list(deliveries.rest()) == []


def test_a_feed_without_silver_has_a_sink_after_bronze_and_no_tables_between(settings):
    feed = bronze_feed("http://127.0.0.1:1")
    (sink,) = sinks.build(settings, [feed]).assets or ()
    assert [dep.asset_key for dep in sink.deps] == [bronze_key(settings, feed)]
    assert not silver.build(settings, [feed]).assets
    assert assemble(settings, [feed]).resolve_asset_graph()
