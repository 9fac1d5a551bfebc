import json
from datetime import UTC, datetime

import pytest

from lake_assets.model.checks import RowCount, Severity, SilverCheck
from lake_assets.state.failing_expectations import Verdict, note_verdicts, read_failures
from lake_assets.streams.refresh import check_silver
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES

SOME = SilverCheck(name="some", row_count=RowCount(min=2), blocking=True)

# A game of one row, which is too few; then of two; then one of whose last batch was bad.
_REFRESHES = """
import json, sys
from datetime import UTC, datetime
from lake_assets.state.failing_expectations import Verdict, note_verdicts, read_failures
from lake_assets.model.checks import GoldCheck, RowCount, Severity, SilverCheck
from lake_assets.model.expectations import Expectation
from lake_assets.settings.schema import Settings
from lake_assets.streams.refresh import check_gold, refresh_gold
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES

settings = Settings.model_validate_json(sys.argv[1])
busy = Expectation(name="busy", sql="session_count > 1")
all_rows = GoldCheck(name="counts_all", equals_source="session_count")
feed = GAMES.model_copy(update={
    "checks": (SilverCheck(name="some", row_count=RowCount(min=2), blocking=True),),
    "expectations": (GAMES.expectations[1].model_copy(update={"blocking": True}),),
    "gold": (GAMES.gold[0].model_copy(update={"checks": (all_rows,), "expectations": (busy,)}),),
})

def go():
    found = refresh_gold(settings, feed)
    (report,) = found.reports
    print(json.dumps({
        "refreshed": [one.key for one in report.refreshed],
        "blocked": {key: reason.split()[0] for key, reason in report.blocked.items()},
        "silver": sorted([one.key, one.passed] for one in found.silver_checks),
        "gold": [[one.key, one.passed, one.words] for one in found.gold_checks["player_agg"]],
        "failing": sorted(read_failures(settings.state_dir, "games")),
    }))

def note(severity):
    verdict = Verdict(key="uno", name="device_is_known", severity=severity)
    note_verdicts(settings.state_dir, "games", [verdict], datetime.now(UTC))

add_silver(settings.lake_dir, "uno", "ann")
add_silver(settings.lake_dir, "go_fish", "ann", "ann")
go()
add_silver(settings.lake_dir, "uno", "bob")
go()
add_silver(settings.lake_dir, "uno", "cid")
note(Severity.WARN)
go()
note(None)
go()
stored = check_gold(settings, feed, feed.gold[0], ["busy"], ["uno", "go_fish"])
print(json.dumps([[one.key, one.passed, one.words] for one in stored]))
"""


@pytest.mark.spark
def test_a_game_is_held_up_until_what_blocks_it_passes(settings):
    said = run_program(_REFRESHES, [settings.model_dump_json()])
    first, second, third, fourth, stored = (json.loads(line) for line in said.splitlines())
    assert first == {
        "refreshed": ["go_fish"],
        "blocked": {"uno": "some"},
        "silver": [["go_fish", True], ["uno", False]],
        "gold": [
            ["go_fish", True, "the sum of session_count is 2; silver has 2 rows at version 0"],
            ["go_fish", True, "0 of 1 rows violate it"],
        ],
        "failing": [["uno", "some"]],
    }
    assert (second["refreshed"], second["blocked"]) == (["uno"], {})
    assert (second["silver"], second["failing"]) == ([["uno", True]], [])
    # What the streams found holds it up without a look at its table.
    assert (third["refreshed"], third["blocked"]) == ([], {"uno": "device_is_known"})
    assert (third["silver"], third["gold"]) == ([], [])
    assert (fourth["refreshed"], fourth["blocked"]) == (["uno"], {})
    assert stored == [
        ["uno", False, "3 of 3 rows violate it"],
        ["go_fish", True, "0 of 1 rows violate it"],
    ]


def test_what_a_check_of_silver_finds_is_kept_for_the_next_refresh(settings):
    add_silver(settings.lake_dir, "uno", "ann")
    (result,) = check_silver(settings, GAMES, [SOME], ["uno"])
    assert (result.passed, result.found) == (False, 1)
    failing = read_failures(settings.state_dir, "games")[("uno", "some")]
    assert (failing.severity, failing.version) == (Severity.ERROR, 0)
    add_silver(settings.lake_dir, "uno", "bob")
    check_silver(settings, GAMES, [SOME], ["uno"])
    assert read_failures(settings.state_dir, "games") == {}


def test_other_failures_are_left_as_they_are(settings):
    streams = Verdict(key="uno", name="known", severity=Severity.WARN)
    note_verdicts(settings.state_dir, "games", [streams], datetime.now(UTC))
    check_silver(settings, GAMES, [SOME], ["uno"])
    assert set(read_failures(settings.state_dir, "games")) == {("uno", "known"), ("uno", "some")}
