"""A lake in a bucket that is backed up, and put back into a bucket, on a real server."""

import shutil
from pathlib import Path

import pytest

from lake_assets.backup.place import BackupPlace
from lake_assets.errors import LakeError, LeaseHeldError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import StorageSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.lake_id import lake_id
from lake_assets.state.lease import LakeLease
from lake_assets.storage.objects import ObjectStore
from lake_assets.storage.open_store import store_of
from lake_assets_tests.backup.lakes import (
    FISH,
    QUARANTINE,
    UNO,
    backed_up,
    restored,
    rows_in,
)


@pytest.fixture
def settings(settings, s3, bucket):
    """A lake in a bucket."""
    storage = StorageSettings(options=s3.options)
    lake = Path(f"s3://{bucket}/lake")
    return settings.model_copy(update={"lake": lake, "storage": storage})


@pytest.fixture
def elsewhere(settings, bucket, tmp_path):
    """Another one, in the same bucket, with a state folder of its own."""
    own = {"lake": Path(f"s3://{bucket}/elsewhere"), "home": tmp_path / "elsewhere"}
    return settings.model_copy(update=own)


def names(settings):
    store = store_of(settings.lake_root, settings.storage.secrets)
    return sorted([*store.list_from(settings.lake_root), *store.folders(settings.lake_root)])


@pytest.mark.usefixtures("lake")
def test_a_bucket_s_lake_is_backed_up_and_comes_back_into_another_place(settings, place, elsewhere):
    manifest = backed_up(settings, place)
    assert manifest.lake.lake.path == str(settings.lake_root)
    done = restored(elsewhere, place)
    assert rows_in(elsewhere) == rows_in(settings) != {}
    assert done.is_other
    assert done.lake_id == lake_id(elsewhere) != lake_id(settings)
    assert {*names(elsewhere)} == {*names(settings), "_lease.json"}
    with open_lake(elsewhere) as context:
        assert context.committer.store.root == elsewhere.lake_root


def test_what_is_there_gives_way_only_if_that_is_said(settings, lake, place):
    backed_up(settings, place)
    rows, id_ = rows_in(settings), lake_id(settings)
    lake.demux(UNO, FISH)
    lake.create(new := UNO.__class__(layer=UNO.layer, name="silver_chess_events"), "chess")
    with pytest.raises(LakeError, match=r"has rows or files already .* \(--force\)"):
        restored(settings, place)
    assert restored(settings, place, force=True).lake_id == id_
    assert rows_in(settings) == rows
    assert new.relative not in rows
    assert not [name for name in names(settings) if name.startswith("_re")]


@pytest.mark.parametrize(
    "cut",
    [
        # While files are copied:
        pytest.param(("PUT", "/lake/_restore/", 3), marks=pytest.mark.long),
        ("PUT", "/lake/silver/", 2),  # while tables come to their places
        # In the log of one, perhaps:
        pytest.param(("PUT", "/lake/gold/", 1), marks=pytest.mark.long),
        ("POST", "delete", 2),  # while what is there is deleted
    ],
)
def test_a_restore_that_was_cut_off_keeps_others_away_and_goes_on(settings, s3, lake, place, cut):
    """By a store that refuses from some request on."""
    method, part, requests = cut
    backed_up(settings, place)
    rows = rows_in(settings)
    lake.demux(UNO, FISH)
    s3.fail(method, part, "pass", times=requests)
    s3.refuse(method, part, "AccessDenied")
    try:
        with pytest.raises(LakeError, match="refuses our credentials"):
            restored(settings, place, force=True)
    finally:
        s3.forgive()
    with pytest.raises(LakeError, match="is being restored from a backup"):
        lake_id(settings)
    restored(settings, place)
    assert rows_in(settings) == rows
    assert not [name for name in names(settings) if name.startswith("_re")]


@pytest.mark.usefixtures("lake")
def test_another_machine_s_lake_is_not_replaced(settings, place):
    backed_up(settings, place)
    rows = rows_in(settings)
    root, options = settings.lake_root, settings.storage.secrets
    other = LakeLease(root=root, options=options, state_dir=settings.home / "other")
    with other.held(lambda _: False), pytest.raises(LeaseHeldError):
        restored(settings, place, force=True)
    assert rows_in(settings) == rows


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize("inside", ["lake/backups", "", "lake"])
def test_a_place_in_the_lake_is_refused(settings, s3, bucket, inside):
    root = LakeUri.parse(f"s3://{bucket}/{inside}")
    place = BackupPlace(store_of(root, s3.options))
    with pytest.raises(LakeError, match="lies in the lake"):
        place.ensure_apart_from(settings.lake_root)
    beside = BackupPlace(store_of(LakeUri.parse(f"s3://{bucket}/lake2"), s3.options))
    beside.ensure_apart_from(settings.lake_root)


@pytest.mark.usefixtures("lake")
def test_a_lake_whose_state_is_lost_comes_back_with_the_backup_s(settings, place):
    backed_up(settings, place)
    rows, id_ = rows_in(settings), lake_id(settings)
    store = ObjectStore(settings.lake_root, settings.storage.secrets)
    store.delete_folder(settings.lake_root)
    shutil.rmtree(settings.state_dir)
    assert restored(settings, place).lake_id == id_
    assert rows_in(settings) == rows
    assert QUARANTINE.relative in rows
