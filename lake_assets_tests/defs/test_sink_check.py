import dagster as dg
import pytest

from lake_assets.alerts.sink_problems import SinkSeen
from lake_assets.definitions import assemble
from lake_assets.defs.sink_check import severity, sink_check_key
from lake_assets.model.checks import Severity
from lake_assets.model.tables import deliveries_of
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sinks.lakes import feed_with_sink, outcome

FEED = feed_with_sink("https://example.com/sessions")
NOW = 1.8e9


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, None),
        ({"behind_since": NOW - 900}, None),
        ({"behind_since": NOW - 901, "recorded_at": NOW - 1}, Severity.WARN),
        ({"behind_since": NOW - 901, "recorded_at": NOW - 901}, Severity.ERROR),
        ({"new_letters": 1, "letters_since": NOW}, Severity.ERROR),
    ],
)
def test_how_bad_it_is(facts, found):
    assert severity(SinkSeen(**facts), NOW, 900) is found


def test_execute_looks_at_once(settings):
    with open_lake(settings) as context:
        deliveries = Deliveries(context, deliveries_of("games", "api"))
        deliveries.record(1, [outcome(1, is_delivered=False)], None)
    found = assemble(settings, [FEED])
    key = sink_check_key(settings, FEED, FEED.sinks[0])
    job = dg.define_asset_job("look", selection=dg.AssetSelection.checks(key))
    with dg.DagsterInstance.ephemeral() as instance:
        run = dg.Definitions.merge(found, dg.Definitions(jobs=[job])).resolve_job_def("look")
        result = run.execute_in_process(instance=instance)
    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    assert evaluation.metadata["dead_letters"].value == 1
