import json
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.backup import versions_then
from lake_assets.backup.versions_then import table_at
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.maintenance.run import maintain
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets_tests.backup.lakes import BRONZE, FISH, UNO, BatchedLake, backed_up, restored
from lake_assets_tests.sample import GAMES

BEGAN = datetime(2026, 11, 24, 12, tzinfo=UTC)


def at_minutes(lake, table, clock=lambda version: version):
    """Have each version of a table be a minute later than the one before, or as a clock says."""
    for version in range(lake.version(table) + 1):
        file = log_of(lake.store, table).commit_file(version).as_path()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            if "commitInfo" in line:
                moment = BEGAN + timedelta(minutes=clock(version))
                line["commitInfo"]["timestamp"] = int(moment.timestamp() * 1000)
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.fixture
def lake(settings):
    made = BatchedLake(settings)
    for _ in range(5):
        made.demux(UNO, FISH)
    made.committer.settle()
    at_minutes(made, UNO)
    yield made
    made.committer.close()


@pytest.mark.parametrize(
    ("minutes", "version"), [(0, 0), (0.5, 0), (1, 1), (3.9, 3), (5, 5), (99, 5)]
)
def test_the_version_of_a_time_is_the_last_that_had_come(lake, minutes, version):
    then = table_at(lake.store, UNO, BEGAN + timedelta(minutes=minutes))
    assert (then.version, then.rows, then.newest, then.why_not) == (version, version, 5, "")
    assert then.committed_at == BEGAN + timedelta(minutes=version)


@pytest.mark.parametrize(("minutes", "version"), [(4, 4), (4.5, 4), (5, 5), (99, 5), (0, 0)])
def test_versions_from_before_a_clock_was_set_back_hide_none_since_then(lake, minutes, version):
    at_minutes(lake, UNO, lambda version: version + 1_000_000 * (version in {1, 2}))
    then = table_at(lake.store, UNO, BEGAN + timedelta(minutes=minutes))
    assert (then.version, then.rows) == (version, version)


@pytest.mark.parametrize("first", [0, 3, 17])
@pytest.mark.parametrize("count", [1, 2, 9, 40])
def test_all_times_are_found_in_few_looks(monkeypatch, first, count):
    looks = []

    def time_of(_, version):
        assert first <= version < first + count
        looks.append(version)
        return BEGAN + timedelta(minutes=version // 2)  # two at once

    monkeypatch.setattr(versions_then, "time_of", time_of)
    versions = range(first, first + count)
    for minutes in range(-1, first + count + 1):
        came = [version for version in versions if version // 2 <= minutes]
        at, newest = BEGAN + timedelta(minutes=minutes), versions[-1]
        assert versions_then.version_then(None, first, newest, at) == max(came, default=None)
    assert len(looks) <= 10 * (first + count + 2)


def test_before_the_first_version_there_was_no_table(lake):
    then = table_at(lake.store, UNO, BEGAN - timedelta(seconds=1))
    assert then.version is None
    assert then.why_not == "there was no table (it begins at version 0, 2026-11-24 12:00:00)"


def test_a_version_may_be_named_by_its_number(lake):
    assert table_at(lake.store, UNO, 3).rows == 3
    assert table_at(lake.store, UNO, 6).why_not == "the newest is 5"


def test_a_version_whose_files_were_deleted_cannot_be_read(lake):
    handle = DeltaTable(lake.path(UNO))
    handle.optimize.compact()
    handle.vacuum(0, enforce_retention_duration=False, dry_run=False)
    then = table_at(lake.store, UNO, 3)
    assert (then.rows, then.why_not) == (None, "3 of its files were deleted")
    assert table_at(lake.store, UNO, 6).rows == 5


def test_a_version_whose_log_was_shortened_cannot_be_read(settings, lake):
    for _ in range(30):
        lake.demux(UNO)
    lake.committer.settle()
    quick = MaintenanceSettings(keep_hours=1e-9)
    maintain(settings.model_copy(update={"maintenance": quick}), GAMES)
    then = table_at(lake.store, UNO, 3)
    assert (then.rows, then.why_not) == (None, "its log was shortened")
    early = table_at(lake.store, UNO, BEGAN)
    assert early.why_not.startswith("the log no longer reaches back to it (it begins at version ")


def test_a_table_that_was_restored_tells_the_times_of_before(settings, lake, tmp_path):
    backed_up(settings, tmp_path / "place")
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    restored(elsewhere, tmp_path / "place")
    other = lake.store.at(elsewhere.lake_dir)
    assert table_at(other, UNO, BEGAN + timedelta(minutes=5)).version == 5


def test_what_is_no_table_is_refused(settings):
    lake = BatchedLake(settings)
    missing = BRONZE.__class__(layer=BRONZE.layer, name="none")
    with pytest.raises(LakeError, match="there is no such table"):
        table_at(lake.store, missing, 1)
    lake.committer.close()
