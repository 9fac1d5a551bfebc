import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta import table_owners
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.crash_recovery import recover_after_crash
from lake_assets.delta.log_cleanup import delete_old_log, old_log
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_owners import claim, is_there, owner_of, owners_in
from lake_assets.errors import LakeError, TableOwnedError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.owners import Owner
from lake_assets.model.tables import Layer, TableRef, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import RENAMED, silver_of
from lake_assets_tests.table_logs import commit_file

UNO = silver_of("uno")
MINE = Owner(feed="games", key="uno")
OTHERS = Owner(feed="cards", key="uno")
SCHEMA = pa.schema([("a", pa.int64())])
ROW = pa.table({"a": [1]})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / UNO.relative


@pytest.fixture
def created(committer):
    committer.create({UNO: SCHEMA}, owners={UNO: MINE})


@pytest.fixture
def unrecorded(folder):
    write_deltalake(folder, ROW)


@pytest.mark.usefixtures("created")
def test_a_table_tells_whose_it_is_without_being_opened(monkeypatch, tmp_path):
    monkeypatch.setattr("deltalake.table.RawDeltaTable", None)
    assert owner_of(LocalStore.at(tmp_path), UNO) == MINE


@pytest.mark.usefixtures("created")
def test_the_record_is_among_the_tables_properties(folder):
    assert DeltaTable(folder).metadata().configuration == {
        "delta.checkpointInterval": "40",
        "lake_assets.feed": "games",
        "lake_assets.key": "uno",
        "lake_assets.layer": "silver",
        "lake_assets.table": "silver_uno_events",
    }


def test_a_table_that_is_not_there_or_records_none_has_no_owner(tmp_path, folder):
    assert (is_there(LocalStore.at(tmp_path), UNO), owner_of(LocalStore.at(tmp_path), UNO)) == (
        False,
        None,
    )
    write_deltalake(folder, ROW)
    assert (is_there(LocalStore.at(tmp_path), UNO), owner_of(LocalStore.at(tmp_path), UNO)) == (
        True,
        None,
    )


@pytest.mark.usefixtures("created")
def test_a_table_whose_first_commit_was_swept_away_tells_by_its_checkpoint(
    monkeypatch, tmp_path, folder
):
    write_deltalake(folder, ROW, mode="append")
    DeltaTable(folder).create_checkpoint()
    commit_file(folder, 0).unlink()
    monkeypatch.setattr("deltalake.table.RawDeltaTable", None)
    assert owner_of(LocalStore.at(tmp_path), UNO) == MINE


@pytest.mark.usefixtures("created")
def test_a_table_that_was_dropped_and_made_anew_has_its_new_owner(tmp_path, folder, committer):
    assert owner_of(LocalStore.at(tmp_path), UNO) == MINE
    shutil.rmtree(folder)
    assert owner_of(LocalStore.at(tmp_path), UNO) is None
    committer.create({UNO: SCHEMA}, owners={UNO: OTHERS})
    assert owner_of(LocalStore.at(tmp_path), UNO) == OTHERS


@pytest.mark.usefixtures("created")
def test_the_copy_of_a_table_is_nobodys(tmp_path, folder):
    copy = TableRef(layer=Layer.SILVER, name="silver_uno_backup_events")
    shutil.copytree(folder, tmp_path / copy.relative)
    assert owner_of(LocalStore.at(tmp_path), copy) is None


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_a_table_without_a_record_becomes_whose_it_is_claimed_for(
    tmp_path, folder, is_checkpointed
):
    if is_checkpointed:
        DeltaTable(folder).create_checkpoint()
    assert owner_of(LocalStore.at(tmp_path), UNO) is None
    claim(LocalStore.at(tmp_path), UNO, MINE)
    assert owner_of(LocalStore.at(tmp_path), UNO) == MINE
    claim(LocalStore.at(tmp_path), UNO, MINE)
    assert DeltaTable(folder).version() == 1
    assert DeltaTable(folder).to_pyarrow_table() == ROW


@pytest.mark.usefixtures("created")
def test_anothers_table_is_not_given_away(tmp_path, folder, committer):
    with pytest.raises(TableOwnedError, match="is the table of key 'uno' of feed 'games'") as told:
        claim(LocalStore.at(tmp_path), UNO, OTHERS)
    assert (told.value.owner, told.value.holder) == (str(OTHERS), str(MINE))
    with pytest.raises(TableOwnedError, match="not of key 'uno' of feed 'cards'"):
        committer.create({UNO: SCHEMA}, owners={UNO: OTHERS})
    assert DeltaTable(folder).version() == 0


@pytest.mark.usefixtures("unrecorded")
def test_a_table_that_is_there_already_gets_its_record_where_it_would_be_created(
    tmp_path, folder, committer
):
    assert committer.create({UNO: SCHEMA}, owners={UNO: MINE}) == set()
    assert owner_of(LocalStore.at(tmp_path), UNO) == MINE
    assert DeltaTable(folder).to_pyarrow_table() == ROW


def test_a_layers_tables_come_by_name_each_with_its_owner(tmp_path, committer):
    chess, poker = silver_of("chess"), silver_of("poker")
    whose = {UNO: MINE, chess: Owner(feed="cards", key="chess")}
    committer.create({UNO: SCHEMA, chess: SCHEMA, poker: SCHEMA}, owners=whose)
    committer.create({quarantine_of("games"): SCHEMA})
    (tmp_path / "silver" / "not_a_table").mkdir()
    assert owners_in(LocalStore.at(tmp_path), Layer.SILVER) == {
        chess: whose[chess],
        poker: None,
        UNO: MINE,
    }
    assert list(owners_in(LocalStore.at(tmp_path), Layer.SILVER)) == [chess, poker, UNO]
    assert owners_in(LocalStore.at(tmp_path / "nowhere"), Layer.SILVER) == {}


def test_a_table_that_was_begun_and_not_created_is_nobodys(tmp_path, folder, committer):
    (folder / "_delta_log").mkdir(parents=True)
    claim(LocalStore.at(tmp_path), UNO, MINE)
    assert owner_of(LocalStore.at(tmp_path), UNO) is None
    assert committer.create({UNO: SCHEMA}, owners={UNO: OTHERS}) == {UNO}
    assert owner_of(LocalStore.at(tmp_path), UNO) == OTHERS


@pytest.mark.usefixtures("created")
def test_a_log_that_cannot_be_read_is_an_error(tmp_path, folder):
    commit_file(folder, 0).write_text("rubbish")
    with pytest.raises(LakeError, match="its log cannot be read"):
        owner_of(LocalStore.at(tmp_path), UNO)


OTHERWISE = RENAMED.silver_table("uno")
WHOSE = Owner(feed="renamed", key="uno")


def test_a_table_of_another_name_is_its_owners(tmp_path, committer):
    committer.create({OTHERWISE: SCHEMA}, owners={OTHERWISE: WHOSE})
    assert owner_of(LocalStore.at(tmp_path), OTHERWISE) == WHOSE
    shutil.copytree(tmp_path / OTHERWISE.relative, tmp_path / UNO.relative)
    assert owner_of(LocalStore.at(tmp_path), UNO) is None


def test_a_table_of_an_earlier_release_is_its_owners_under_the_default_name_alone(
    tmp_path, committer, monkeypatch
):
    monkeypatch.setattr("lake_assets.model.owners._TABLE", "lake_assets.unknown_then")
    committer.create({UNO: SCHEMA}, owners={UNO: MINE})
    monkeypatch.undo()
    assert owner_of(LocalStore.at(tmp_path), UNO) == MINE
    (tmp_path / UNO.relative).rename(tmp_path / OTHERWISE.relative)
    assert owner_of(LocalStore.at(tmp_path), OTHERWISE) is None


@pytest.mark.usefixtures("created")
def test_a_copy_becomes_whose_it_is_claimed_for_and_that_once(tmp_path, folder):
    shutil.copytree(folder, tmp_path / OTHERWISE.relative)
    for _ in range(2):
        claim(LocalStore.at(tmp_path), OTHERWISE, WHOSE)
        assert owner_of(LocalStore.at(tmp_path), OTHERWISE) == WHOSE
    assert DeltaTable(tmp_path / OTHERWISE.relative).version() == 1
    assert owner_of(LocalStore.at(tmp_path), UNO) == MINE


def test_what_is_no_table_of_ours_is_passed_over(tmp_path):
    log = tmp_path / "silver" / "lost+found" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("rubbish")
    (tmp_path / "silver" / "a\tb" / "_delta_log").mkdir(parents=True)
    assert owners_in(LocalStore.at(tmp_path), Layer.SILVER) == {}
    assert recover_after_crash(LocalStore.at(tmp_path), tmp_path / "state", "boot") == []


def swept(folder, committer, batches):
    """Append, and leave nothing of the log before its newest checkpoint."""
    table = pa.table({"a": [1]})
    for number in batches:
        file = DataFile(**write_file(committer.store, table, LakeUri.local(folder)))
        committer.append([Commit(table=UNO, files=[file])], Batch("stream", number))
    committer.settle()
    log = log_of(committer.store, UNO)
    delete_old_log(log, old_log(log, log.open(), batches[-1], batches=0))


@pytest.mark.usefixtures("created")
def test_another_checkpoint_of_a_table_whose_first_commit_is_gone_is_not_read(
    committer, folder, monkeypatch
):
    swept(folder, committer, range(1, 21))
    assert owner_of(committer.store, UNO) == MINE
    swept(folder, committer, range(21, 61))
    monkeypatch.setattr(table_owners, "pq", None)
    assert owner_of(committer.store, UNO) == MINE


@pytest.mark.usefixtures("created")
def test_another_table_in_its_place_is_read(committer, folder, tmp_path):
    swept(folder, committer, range(1, 21))
    assert owner_of(committer.store, UNO) == MINE
    shutil.rmtree(folder)
    other = Committer(LocalStore.at(tmp_path), threads=1)
    other.create({UNO: SCHEMA}, owners={UNO: OTHERS})
    swept(folder, other, range(1, 31))
    assert owner_of(committer.store, UNO) == OTHERS
    other.close()
