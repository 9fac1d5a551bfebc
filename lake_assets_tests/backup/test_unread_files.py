import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.backup.progress import Progress
from lake_assets.backup.unread_files import files_gained, read_until
from lake_assets.delta.added_files import gained_between
from lake_assets.delta.commit import RETENTION, Batch, Commit
from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_log import log_of
from lake_assets.maintenance.run import maintain
from lake_assets.model.owners import Owner
from lake_assets.model.tables import gold_of_all
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.storage.local import LocalStore
from lake_assets_tests.backup.lakes import (
    BRONZE,
    FISH,
    QUARANTINE,
    UNO,
    UNO_AGG,
    backed_up,
    restored,
    rows_in,
)
from lake_assets_tests.maintenance.lakes import SCHEMA
from lake_assets_tests.sample import GAMES


def gained(settings, table, after):
    log = log_of(LocalStore.at(settings.lake_dir), table)
    return gained_between(log, after, log.open().version())


@pytest.fixture
def joined(lake):
    """A lake whose silver was compacted after what its view does not have yet."""
    lake.ingest()
    lake.demux(UNO)
    lake.demux(UNO)
    lake.committer.compact(UNO)
    return lake


@pytest.mark.usefixtures("joined")
def test_a_view_goes_on_from_where_it_is_though_silver_was_compacted_since(
    settings, place, elsewhere
):
    here = gained(settings, UNO, 3)
    assert (here.rows, here.obstacle) == (2, "")
    backed_up(settings, place)
    restored(elsewhere, place)
    assert gained(elsewhere, UNO, 3) == here
    assert rows_in(elsewhere) == rows_in(settings)


@pytest.mark.usefixtures("joined")
def test_a_second_backup_has_them_from_the_first(settings, place):
    backed_up(settings, place)
    progress = Progress()
    backed_up(settings, place, progress)
    assert progress.copied_files == 0


def test_maintenance_leaves_them_while_a_backup_is_under_way(settings, joined, place, elsewhere):
    joined.committer.settle()
    quick = settings.model_copy(update={"maintenance": MaintenanceSettings(keep_hours=1e-9)})
    # Else the view itself, which is behind, would hold them.
    joined.refresh()
    joined.demux(UNO)
    progress, told = Progress(), []

    def go_on(_):
        if not told:
            joined.refresh()
            told.extend(note for one in maintain(quick, GAMES) for note in one.notes)

    progress.told = go_on
    backed_up(settings, place, progress)
    assert "older versions are kept: a backup is under way" in told
    restored(elsewhere, place)
    assert not gained(elsewhere, UNO, 6).obstacle


def test_what_is_gone_in_the_lake_is_not_asked_for(settings, joined, place, elsewhere):
    gone = files_gained(log_of(joined.store, UNO), 3, 6)
    for path in gone:
        (joined.path(UNO) / path).unlink()
    backed_up(settings, place)
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows_in(settings)


def test_rows_that_somebody_deleted_are_not_copied(lake):
    lake.demux(UNO)
    lake.demux(UNO)
    log = log_of(lake.store, UNO)
    came = files_gained(log, 3, 5)
    assert len(came) == 2
    DeltaTable(lake.path(UNO)).delete(f"n = {max(lake.numbers(UNO))}")
    left = files_gained(log, 3, 6)
    assert len(left) == 1
    assert left.items() < came.items()


def test_rows_that_left_for_their_age_are_what_a_view_reads(lake):
    lake.demux(UNO)
    old = active_files(DeltaTable(lake.path(UNO)))[:1]
    log = log_of(lake.store, UNO)
    came = files_gained(log, 0, 4)
    info = {RETENTION: "2026-01-01"}
    lake.committer.replace_files([Commit(table=UNO, files=(), removed=old, info=info)])
    assert files_gained(log, 0, 5) == came
    assert set(came) == {file.path for file in gained_between(log, 0, 5).files}


def test_it_is_told_up_to_where_all_have_read(joined):
    versions = {BRONZE: joined.version(BRONZE), UNO: 6, FISH: 3}
    every = gold_of_all("games", "of_all")
    owner = Owner(feed="games", key="", view="of_all")
    joined.committer.create({every: SCHEMA}, owners={every: owner})
    info = {
        "lake_assets.silver_versions": '{"uno": 2, "go_fish": 3}',
        "lake_assets.view_definition": "it",
    }
    row = joined.file(every, pa.table({"n": [1], "text": ["x"]}, schema=SCHEMA))
    joined.committer.append([Commit(table=every, files=[row], info=info)], Batch("refresh", 9))
    from_view = {**versions, UNO_AGG: joined.version(UNO_AGG)}
    assert read_until(joined.store, from_view) == {UNO: 3}
    assert read_until(joined.store, {**from_view, every: 1}) == {UNO: 2}


def test_bronze_is_read_up_to_where_quarantine_says(joined):
    reached = joined.version(BRONZE)
    joined.ingest()
    versions = {BRONZE: joined.version(BRONZE), QUARANTINE: joined.version(QUARANTINE)}
    assert read_until(joined.store, versions) == {BRONZE: reached}
