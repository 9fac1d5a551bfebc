from datetime import UTC, datetime

import pytest

from lake_assets.alerts.lake_facts import look_at_lake
from lake_assets.alerts.lake_problems import SeenBackups
from lake_assets.logs.gaps import record_gaps
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.reports import Stage
from lake_assets.settings.upkeep import BackupSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.backup_notes import note_failed, note_made, note_wanted
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.streams.batch_attempts import BatchAttempts
from lake_assets_tests.sample import GAMES

GAP = Gap(source="t", partition=0, offset_from=1, offset_to=4, reason=GapReason.DELETED)
AT = datetime(2026, 11, 24, tzinfo=UTC)


def fail(settings, times):
    batch = BatchRange(begin="3", end="9", words="versions 3 to 9")
    attempts = BatchAttempts(state_dir=settings.state_dir, feed="games", stage=Stage.DEMUX)
    for _ in range(times):
        with pytest.raises(Exception, match="bad row"), attempts.attempt(batch):
            raise ValueError("bad row")


def test_of_a_new_lake_nothing_is_told(settings):
    seen = look_at_lake(settings, [GAMES], 5.0)
    assert (seen.utc_now, seen.stopped, seen.gaps) == (5.0, {}, {"games": []})


def test_gaps_are_told_with_their_time(settings):
    with open_lake(settings) as context:
        record_gaps(context, "games", [GAP], AT)
    ((gap,),) = look_at_lake(settings, [GAMES], 5.0).gaps.values()
    assert (gap.gap, gap.at) == (GAP, AT.timestamp())


def test_a_batch_that_failed_twice_stops_nothing_yet_and_one_of_three_times_does(settings):
    fail(settings, 2)
    assert look_at_lake(settings, [GAMES], 5.0).stopped == {}
    fail(settings, 1)
    assert (
        "failed 3 times at the same batch" in look_at_lake(settings, [GAMES], 5.0).stopped["games"]
    )


def test_backups_are_told_of_only_if_they_are_to_be_made(settings, tmp_path):
    place = str(tmp_path / "place")
    note_made(settings.state_dir, place, 3, 4.0)
    assert look_at_lake(settings, [GAMES], 5.0).backups is None
    wanted = settings.model_copy(
        update={"backup": BackupSettings(target=place, alert_after_hours=2)}
    )
    told = look_at_lake(wanted, [GAMES], 5.0).backups
    assert told == SeenBackups(target=place, since=4.0, may_be_s=7_200.0, number=3)


def test_before_the_first_backup_it_counts_since_when_it_is_wanted(settings):
    wanted = settings.model_copy(update={"backup": BackupSettings(target="s3://kept/lake")})
    assert look_at_lake(wanted, [GAMES], 5.0).backups.since == 5.0
    note_wanted(settings.state_dir, "s3://kept/lake", 2.0)
    note_failed(settings.state_dir, "s3://kept/lake", 3.0, "away")
    told = look_at_lake(wanted, [GAMES], 5.0).backups
    assert (told.since, told.number, told.failed_at, told.why) == (2.0, None, 3.0, "away")
