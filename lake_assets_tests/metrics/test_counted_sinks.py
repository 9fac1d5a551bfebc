import pytest
from prometheus_client import CollectorRegistry

from lake_assets.metrics.counted_sinks import CountedSinks
from lake_assets.model.reports import DeliveryReport, SinkFailed
from lake_assets_tests.sinks.lakes import feed_with_sink

LABELS = {"feed": "games", "sink": "api"}
REPORT = DeliveryReport(
    feed="games",
    sink="api",
    rows=20,
    calls=3,
    retries=2,
    dead_rows=5,
    failed_tries=4,
    batches=1,
    seconds=1.0,
    latency_s={"p50": 0.1, "p99": 0.2, "max": 0.3},
)


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def counted(registry):
    return CountedSinks(registry, [feed_with_sink("https://example.com/")])


def _value(registry, name, **labels):
    return registry.get_sample_value(name, {**LABELS, **labels})


def test_each_series_is_there_before_the_first_call(registry, counted):
    assert counted
    assert _value(registry, "lake_assets_sink_rows_total", outcome="dead") == 0
    assert _value(registry, "lake_assets_sink_stopped") == 0


def test_deliveries_are_counted(registry, counted):
    counted.add(REPORT)
    counted.add(REPORT)
    assert _value(registry, "lake_assets_sink_rows_total", outcome="delivered") == 40
    assert _value(registry, "lake_assets_sink_rows_total", outcome="dead") == 10
    assert _value(registry, "lake_assets_sink_calls_total") == 6
    assert _value(registry, "lake_assets_sink_retries_total") == 4
    assert _value(registry, "lake_assets_sink_latency_seconds", quantile="0.99") == 0.2


def test_a_sink_that_stands_still_is_told_until_it_delivers(registry, counted):
    counted.add(SinkFailed(feed="games", sink="api", reason="is refused"))
    assert _value(registry, "lake_assets_sink_stopped") == 1
    counted.add(REPORT)
    assert _value(registry, "lake_assets_sink_stopped") == 0
