import dagster as dg

from lake_assets.defs.batch_reporter import Reporter
from lake_assets.model.reports import BatchReport, Stage
from lake_assets_tests.sample import GAMES


def test_a_batch_of_a_feed_that_the_run_does_not_tell_of_is_passed_over(settings):
    with dg.DagsterInstance.ephemeral() as instance:
        reporter = Reporter(settings, [GAMES], instance, "run", "lake")
        rows = {"silver_uno_events": 1}
        reporter.add(BatchReport(feed="old_games", stage=Stage.DEMUX, batch_id=1, rows=rows))
        assert list(reporter.rest()) == []
