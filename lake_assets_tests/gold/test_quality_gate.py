from datetime import UTC, datetime

import pytest

from lake_assets.gold.quality_gate import blocked_keys
from lake_assets.model.checks import RowCount, Severity, SilverCheck
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.failures import Failing
from lake_assets_tests.sample import GAMES

AT = datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC)
KNOWN = Expectation(name="known", sql="true", blocking=True)
SOME = SilverCheck(name="some", row_count=RowCount(min=1), blocking=True)
VERSIONS = {"uno": 3, "poker": 3}


def failing(*, severity=Severity.WARN, version=None):
    return Failing(since=AT, severity=severity, words="2 of 3 rows", version=version)


def blocked(failures, *, expectations=(KNOWN,), checks=(SOME,)):
    feed = GAMES.model_copy(update={"expectations": expectations, "checks": checks})
    return blocked_keys(feed, failures, VERSIONS)


def test_nothing_that_fails_blocks_nothing():
    assert blocked({}) == {}


def test_a_blocking_expectation_blocks_its_game_alone():
    assert blocked({("uno", "known"): failing()}) == {
        "uno": "known fails since 2026-11-21 01:02:03 UTC (2 of 3 rows)"
    }


@pytest.mark.parametrize("change", [{"blocking": False}, {"name": "other"}, {"keys": ("poker",)}])
def test_what_is_declared_now_counts(change):
    expectation = KNOWN.model_copy(update=change)
    assert blocked({("uno", "known"): failing()}, expectations=(expectation,)) == {}


@pytest.mark.parametrize(("severity", "blocks"), [(Severity.WARN, False), (Severity.ERROR, True)])
def test_quarantined_rows_block_above_their_share(severity, blocks):
    expectation = KNOWN.model_copy(update={"action": Action.QUARANTINE})
    found = blocked({("uno", "known"): failing(severity=severity)}, expectations=(expectation,))
    assert bool(found) is blocks


@pytest.mark.parametrize(("version", "blocks"), [(3, True), (2, False)])
def test_a_check_blocks_the_version_that_it_looked_at(version, blocks):
    assert bool(blocked({("uno", "some"): failing(version=version)})) is blocks


def test_a_check_that_is_not_blocking_blocks_nothing():
    check = SOME.model_copy(update={"blocking": False})
    assert blocked({("uno", "some"): failing(version=3)}, checks=(check,)) == {}


def test_a_game_without_silver_is_not_blocked():
    assert blocked({("chess", "known"): failing()}) == {}
