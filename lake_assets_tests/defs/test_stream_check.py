import dagster as dg
import pytest

from lake_assets.definitions import assemble
from lake_assets.defs.alerts import build as build_alerts
from lake_assets.defs.check_failures import watched_checks
from lake_assets.defs.stream_check import (
    ABSENT_AFTER_S,
    LATE_S,
    StreamSeen,
    check_key,
    metadata_of,
    stream_check,
)
from lake_assets.model.checks import Severity
from lake_assets.streams.stream_standing import StreamStanding, StreamState
from lake_assets_tests.sample import GAMES


def seen(state, **facts):
    return StreamSeen(standing=StreamStanding(feed="games", state=state, detail="why"), **facts)


@pytest.mark.parametrize(
    ("state", "facts", "severity"),
    [
        (StreamState.RUNNING, {}, None),
        (StreamState.RUNNING, {"lag_s": LATE_S}, None),
        (StreamState.RUNNING, {"lag_s": LATE_S + 1}, Severity.WARN),
        (StreamState.RUNNING, {"is_outdated": True}, Severity.WARN),
        (StreamState.WAITING, {}, Severity.WARN),
        (StreamState.STOPPED, {"lag_s": 9999.0}, Severity.WARN),
        (StreamState.STOPPING, {}, Severity.WARN),
        (StreamState.BLOCKED, {}, Severity.ERROR),
        (StreamState.NOT_RUNNING, {"for_s": ABSENT_AFTER_S - 1}, None),
        (StreamState.NOT_RUNNING, {"for_s": ABSENT_AFTER_S}, Severity.ERROR),
    ],
)
def test_how_bad_it_is(state, facts, severity):
    assert seen(state, **facts).severity is severity


def test_a_deliberate_stop_is_shown_as_one():
    shown = metadata_of(seen(StreamState.STOPPED, lag_rows=7, lag_s=1.25))
    assert shown["stopped_deliberately"].value == "why"
    assert (shown["lag_rows"].value, shown["lag_seconds"].value) == (7, 1.2)
    assert "detail" not in shown


def test_older_definitions_are_shown_until_the_restart():
    shown = metadata_of(seen(StreamState.RUNNING, is_outdated=True))
    assert "older" in str(shown["definitions"].value)


def test_executed_by_hand_it_looks_at_once(settings, instance):
    selection = dg.AssetSelection.checks(check_key(settings, GAMES))
    job = dg.define_asset_job("check", selection=selection)
    found = dg.Definitions(asset_checks=[stream_check(settings, GAMES)], jobs=[job])
    done = found.resolve_job_def("check").execute_in_process(instance=instance)
    (result,) = done.get_asset_check_evaluations()
    assert result.asset_check_key == check_key(settings, GAMES)
    assert result.severity is dg.AssetCheckSeverity.ERROR
    assert result.metadata["stream"].value == "not running"


def test_alerts_tell_of_streams_by_the_supervisor_and_not_once_more(settings, instance):
    repository = assemble(settings, [GAMES]).get_repository_def()
    assert check_key(settings, GAMES) in repository.asset_graph.asset_check_keys
    context = dg.build_sensor_context(instance=instance, repository_def=repository)
    assert check_key(settings, GAMES) not in watched_checks(context, settings, [GAMES])
    assert build_alerts(settings, [GAMES]).sensors
