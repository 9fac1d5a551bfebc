import dagster as dg
import pytest

from lake_assets.defs.internals.asset_checks import check_results, evaluation
from lake_assets.defs.internals.check_records import give_way
from lake_assets.defs.internals.materializations import latest_id, latest_ids
from lake_assets.model.checks import Severity

SILVER = dg.AssetKey("silver_events")
CHECK = dg.AssetCheckKey(SILVER, "known")


def judged(context: dg.OpExecutionContext, key: str | None, *, passed: bool):
    yield dg.AssetMaterialization(SILVER, partition=key)
    last = latest_ids(context.instance, SILVER, [key])[key] if key else None
    yield evaluation(
        check=CHECK,
        partition=key,
        run_id=context.run.run_id,
        storage_id=last or latest_id(context.instance, SILVER),
        severity=None if passed else Severity.ERROR,
        metadata={},
    )


@pytest.mark.parametrize("key", ["uno", None])
def test_what_a_long_run_finds_is_newer_than_what_a_short_one_found_meanwhile(instance, key):
    """A click on "Execute" would otherwise hide for good that the check of the streams fails."""

    def by_hand():
        @dg.op(out={})
        def execute(context: dg.OpExecutionContext):
            yield from judged(context, key, passed=True)

        dg.GraphDefinition("by_hand", node_defs=[execute]).execute_in_process(instance=instance)

    @dg.op(out={})
    def stream(context: dg.OpExecutionContext):
        for is_after_a_click in (False, True, False):
            if is_after_a_click:
                by_hand()
                assert check_results(instance, [CHECK]) == {(CHECK, key): True}
            for event in judged(context, key, passed=False):
                if isinstance(event, dg.AssetCheckEvaluation):
                    give_way(instance, context.run.run_id, event)
                yield event
            assert check_results(instance, [CHECK]) == {(CHECK, key): False}

    streams = dg.GraphDefinition("streams", node_defs=[stream])
    assert streams.execute_in_process(instance=instance).success
    history = instance.event_log_storage.get_asset_check_execution_history(CHECK, limit=9)
    assert len(history) == 2  # one a run, however often it told
