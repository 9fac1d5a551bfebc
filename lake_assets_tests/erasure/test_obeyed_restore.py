import json
import shutil
import signal

import pytest

from lake_assets.backup import restored_tables
from lake_assets.backup.kept_erasures import ledger_at
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.erasure.obeyed_restore import restore
from lake_assets.errors import LakeError
from lake_assets.model.erasures import ErasureState
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import StorageSettings
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of, store_of
from lake_assets_tests.backup.lakes import BRONZE, UNO, UNO_AGG, backed_up, place_at, restored
from lake_assets_tests.backup.test_create import die_after
from lake_assets_tests.erasure.bytes_of_everything import files_of, holders, objects_of
from lake_assets_tests.erasure.lakes import PeopledLake, forget, gamers_in
from lake_assets_tests.long_parameters import with_long

ANN, BOB = "ann-7f3a-41c0", "bob-11aa-90ee"


@pytest.fixture
def place(tmp_path):
    return tmp_path / "place"


@pytest.fixture
def elsewhere(settings, tmp_path):
    return settings.model_copy(update={"home": tmp_path / "elsewhere"})


@pytest.fixture
def lake(settings):
    made = PeopledLake(settings)
    made.take(ANN, BOB, BOB, refused=f"bad {ANN}")
    made.take(BOB, ANN)
    yield made
    made.committer.close()


def states(settings):
    return [one.state for one in ledger_at(lake_of(settings), settings).read().every]


def is_nowhere(settings):
    return holders(files_of(settings.home), ANN) == []


@pytest.fixture
def older(lake, settings, place):
    """A backup that has a person, who was erased then; the place knows of it."""
    lake.refresh(ANN, BOB)
    backed_up(settings, place)
    shutil.rmtree(lake.path(UNO_AGG))  # its refresh would need Spark
    assert lake.forget(ANN).left
    assert gamers_in(lake.store) == [BOB, BOB, BOB]


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize("is_empty", [True, False])
def test_an_older_backup_comes_back_without_who_was_erased_since(
    settings, elsewhere, place, is_empty
):
    into = elsewhere if is_empty else settings
    assert holders(files_of(place), ANN)
    done = restored(into, place, force=not is_empty)
    assert gamers_in(lake_of(into)) == [BOB, BOB, BOB]
    assert done.obeyed.dropped == (UNO_AGG.relative,)
    assert done.obeyed.rows[UNO.name] == 2
    assert done.obeyed.rows[BRONZE.name] == 3
    assert is_nowhere(into)
    assert not (into.lake_dir / UNO_AGG.relative).exists()
    assert states(into) == [ErasureState.REMOVED]
    again = forget(into, ANN)  # by values, as without them Spark decodes rows
    assert not again.taken.rows
    if is_empty:
        assert again.left == []
        assert states(into) == [ErasureState.DONE]


def test_rows_that_had_left_the_lake_before_are_told_by_their_hashes(
    settings, lake, elsewhere, place
):
    backed_up(settings, place)
    for table in (UNO, BRONZE):
        lake.committer.delete(table, "true")
    lake.forget(ANN)
    restored(elsewhere, place)
    assert gamers_in(lake_of(elsewhere)) == [BOB, BOB, BOB]


def test_a_backup_that_was_made_after_comes_back_as_it_is(settings, lake, elsewhere, place):
    assert lake.forget(ANN).left == []
    manifest = backed_up(settings, place)
    assert {file.path for file in manifest.erasures} >= {"ledger.json", "key"}
    done = restored(elsewhere, place)
    assert done.obeyed.rows == {}
    assert done.obeyed.left == ()
    assert states(elsewhere) == [ErasureState.DONE]
    assert gamers_in(lake_of(elsewhere)) == [BOB, BOB, BOB]
    assert forget(elsewhere, ANN).taken.rows == {}


def test_what_only_the_lake_knows_that_gives_way_is_obeyed(settings, lake, place):
    backed_up(settings, place)
    away = place.with_name("away")
    place.rename(away)
    (words,) = lake.forget(ANN).left
    assert "do not know of it" in words
    assert "--forget" in words
    away.rename(place)
    assert not (place / "_erasures").exists()
    restored(settings, place, force=True)
    assert gamers_in(lake_of(settings)) == [BOB, BOB, BOB]
    assert is_nowhere(settings)


def test_places_that_the_lake_numbered_are_forgotten(settings, lake, elsewhere, place, tmp_path):
    """From a restore on it numbers rows of files anew."""
    feeds = shutil.copytree(settings.feeds, tmp_path / "feeds")
    (feeds / "beats.yaml").write_text(
        "feed: beats\n"
        "source: {files: {path: /beats, pattern: '*.jsonl', format: jsonl}}\n"
        "payload: {json: {schema: 'gamer_id string'}}\n"
    )
    assert lake.forget(ANN).left == []
    ledger = ledger_at(lake_of(settings), settings)
    ledger.record("beats", "one", {("files", 0): [(1, 2)]})
    backed_up(settings, place)
    into = elsewhere.model_copy(update={"feeds": feeds})
    restored(into, place)
    found = ledger_at(lake_of(into), into)
    assert not found.spans("beats")
    assert found.spans("games") == ledger.spans("games")


def test_erasures_by_another_key_are_not_mixed_up(settings, lake, elsewhere, place):
    backed_up(settings, place)
    restored(elsewhere, place)
    forget(elsewhere, BOB)
    lake.forget(ANN)
    with pytest.raises(LakeError, match="erasures of another key"):
        restored(elsewhere, place, force=True)
    assert lake_id(elsewhere)  # it is whole
    assert gamers_in(lake_of(elsewhere)) == [ANN, ANN]


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize("damaged", ["_erasures/ledger.json", "_erasures/rows/games/*.json"])
def test_a_damaged_ledger_of_the_place_lets_nobody_restore(elsewhere, place, damaged):
    (file,) = place.glob(damaged)
    file.write_text("{")
    with pytest.raises(LakeError, match="is damaged"):
        restored(elsewhere, place)
    assert not (elsewhere.lake_dir / "silver").exists()


def test_a_damaged_ledger_of_the_backup_lets_nobody_restore(settings, lake, elsewhere, place):
    lake.forget(ANN)
    manifest = backed_up(settings, place)
    file = place / "backups" / manifest.folder / "_erasures" / "ledger.json"
    file.write_text(file.read_text().replace("done", "oned"))
    with pytest.raises(LakeError, match="cannot be told whose rows are erased"):
        restored(elsewhere, place)


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize("files", with_long([8, 14, 20, 26, 32], long=[14, 20, 26]))
def test_a_restore_that_is_killed_leaves_no_lake_with_the_rows(elsewhere, place, files):
    assert die_after(elsewhere, "restore", place, files) == -signal.SIGKILL
    with pytest.raises(LakeError, match="is being restored from a backup"):
        lake_id(elsewhere)
    assert not (elsewhere.lake_dir / UNO.relative).exists()
    restored(elsewhere, place)
    assert gamers_in(lake_of(elsewhere)) == [BOB, BOB, BOB]
    assert is_nowhere(elsewhere)


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize("moves", [1, 2, 3])
def test_one_that_is_killed_while_tables_change_places_never_shows_the_rows(
    settings, place, moves, monkeypatch
):
    class KilledError(BaseException):
        pass

    go, left = restored_tables.move, [moves]

    def dying(source, target):
        left[0] -= 1
        if not left[0]:
            raise KilledError
        go(source, target)

    monkeypatch.setattr(restored_tables, "move", dying)
    with pytest.raises(KilledError):
        restored(settings, place, force=True)
    monkeypatch.undo()
    assert is_nowhere(settings)
    restored(settings, place)
    assert gamers_in(lake_of(settings)) == [BOB, BOB, BOB]
    assert not (settings.lake_dir / UNO_AGG.relative).exists()


def test_an_erasure_that_comes_between_two_tries_is_obeyed(
    settings, lake, elsewhere, place, monkeypatch
):
    backed_up(settings, place)

    class KilledError(BaseException):
        pass

    def die(*_):
        raise KilledError

    monkeypatch.setattr(restored_tables, "tables_in", die)
    with pytest.raises(KilledError):
        restored(elsewhere, place)
    monkeypatch.undo()
    lake.forget(ANN)
    restored(elsewhere, place)
    assert is_nowhere(elsewhere)


@pytest.mark.usefixtures("older")
def test_a_bucket_gets_none_of_the_rows(place, bucket, s3, elsewhere):
    url = f"s3://{bucket}/lake"
    storage = StorageSettings(options=dict(s3.options))
    into = elsewhere.model_copy(update={"lake": url, "storage": storage})
    restored(into, place)
    assert gamers_in(lake_of(into)) == [BOB, BOB, BOB]
    assert holders(objects_of(s3.url, bucket), ANN) == []


def test_a_place_in_a_bucket_keeps_them_too(settings, lake, elsewhere, bucket, s3):
    from lake_assets.backup.create import back_up

    assert lake.forget(ANN).left == []
    place = BackupPlace(store_of(LakeUri.parse(f"s3://{bucket}/of/lake"), s3.options))
    back_up(settings, place, Progress())
    restore(elsewhere, place, Progress(), number=None, force=False)
    assert states(elsewhere) == [ErasureState.DONE]


@pytest.mark.usefixtures("older")
def test_earlier_releases_keep_away_from_a_place_with_erasures(settings, place):
    assert json.loads((place / "_backup.json").read_text())["format"] == 2
    assert place_at(place).lake_id() == lake_id(settings)
