from datetime import UTC, datetime

import dagster as dg
import pytest

from lake_assets.defs.gap_check import check_key, gap_check, gap_evaluation, severity
from lake_assets.logs.gaps import RecordedGap, record_gaps
from lake_assets.model.checks import Severity
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.sample import GAMES

AT = datetime(2026, 11, 24, tzinfo=UTC)
DAY_S = 86_400


def gap(start=1, end=5, reason=GapReason.DELETED):
    return Gap(source="t", partition=0, offset_from=start, offset_to=end, reason=reason)


def recorded(reason, age_s):
    at = datetime.fromtimestamp(AT.timestamp() - age_s, UTC)
    return RecordedGap(gap=gap(reason=reason), feed="games", at=at)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], None),
        ([recorded(GapReason.DELETED, 5)], Severity.ERROR),
        ([recorded(GapReason.SKIPPED, 5), recorded(GapReason.REFUSED, 5)], Severity.ERROR),
        ([recorded(GapReason.REFUSED, 5), recorded(GapReason.DELETED, DAY_S + 5)], Severity.WARN),
        ([recorded(GapReason.RECREATED, DAY_S + 5)], None),
    ],
)
def test_new_ranges_fail_the_check_and_rows_in_quarantine_warn(found, expected):
    assert severity(found, AT.timestamp()) is expected


def test_without_a_gap_the_check_passes(settings, instance):
    found = gap_evaluation(settings, GAMES, instance, "run")
    assert found.passed
    assert {name: value.value for name, value in found.metadata.items()} == {
        "offsets_lost": 0,
        "offsets_in_quarantine": 0,
        "ranges": 0,
    }


def test_executed_it_fails_with_the_ranges_that_the_table_has(settings, instance):
    gaps = [gap(1, 5), gap(7, 9, GapReason.REFUSED)]
    with open_lake(settings) as context:
        record_gaps(context, "games", gaps, datetime.now(UTC))
        record_gaps(context, "other", [gap(50, 90)], datetime.now(UTC))
    check = gap_check(settings, GAMES)
    done = dg.materialize([check], instance=instance, selection=dg.AssetSelection.checks(check))
    (found,) = done.get_asset_check_evaluations()
    assert (found.asset_check_key, found.passed) == (check_key(settings, GAMES), False)
    assert found.severity is dg.AssetCheckSeverity.ERROR
    assert found.metadata["offsets_lost"].value == 4
    assert found.metadata["offsets_in_quarantine"].value == 2
    shown = str(found.metadata["newest"].value)
    assert "| `t` | 0 | 1 | 4 | deleted |" in shown
    assert "| `t` | 0 | 7 | 8 | refused |" in shown
    assert "| 50 |" not in shown
