import json
from importlib import resources

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.backup.table_restore import RESTORED, table_restore
from lake_assets.delta.commit import RETENTION, Batch, Commit
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import last_info, rows_of
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.relayout import lay_out
from lake_assets.delta.renamed_columns import Renames, marked
from lake_assets.delta.restores import is_restored
from lake_assets.delta.source_offsets import offset_transactions, table_offsets
from lake_assets.delta.table_log import log_of
from lake_assets.delta.widen import widen
from lake_assets.errors import CommitConflictError, LakeError, StreamsLockedError
from lake_assets.feeds.load import load_feeds
from lake_assets.gold.status import other_definitions
from lake_assets.maintenance.run import maintain
from lake_assets.model.layouts import partition_columns
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.silver.demux_position import demux_app, reprocess_app
from lake_assets.state.files import streams_lock
from lake_assets_tests.backup.lakes import BRONZE, FISH, QUARANTINE, UNO, UNO_AGG, BatchedLake
from lake_assets_tests.sample import GAMES

SOURCE = "game-stream"


@pytest.fixture
def lake(settings):
    made = BatchedLake(settings)
    for _ in range(3):
        made.demux(UNO, FISH)
        made.refresh()
    yield made
    made.committer.close()


def put_back(lake, table, version):
    with table_restore(lake.settings, table, version) as (planned, commit):
        if not planned.is_idle:
            commit()
    return planned


def test_rows_of_then_are_there_and_batches_keep_their_numbers(lake):
    planned = put_back(lake, UNO, 1)
    assert (planned.rows_now, planned.rows_then, planned.newest) == (3, 1, 3)
    assert lake.numbers(UNO) == lake.numbers(UNO, 1)
    handle = DeltaTable(lake.path(UNO))
    assert handle.transaction_version(demux_app("games")) == 3
    assert handle.history(1)[0]["operation"] == "RESTORE"
    assert not is_restored(log_of(lake.store, UNO), handle.version())  # streams take it for ours


def test_what_follows_is_told_before(lake):
    with table_restore(lake.settings, UNO, 1) as (planned, _):
        first, away, views = planned.follows
    assert first == "files with 2 rows leave the table, files with 0 rows come back"
    assert "until `lake-assets rebuild silver --key uno` derives them" in away
    assert "computed anew" in views
    assert lake.version(UNO) == 3  # nothing happened


def test_a_restore_can_itself_be_put_back(lake):
    rows = lake.numbers(UNO)
    put_back(lake, UNO, 1)
    planned = put_back(lake, UNO, 3)
    assert (planned.rows_now, planned.rows_then) == (1, 3)
    assert lake.numbers(UNO) == rows
    stats = [json.loads(add["stats"]) for add in _adds(lake, UNO)]
    assert [(one["numRecords"], one["minValues"]["text"]) for one in stats] == [(1, "x"), (1, "x")]


def _adds(lake, table):
    log = log_of(lake.store, table)
    lines = log.commit(lake.version(table)).splitlines()
    return [line["add"] for line in map(json.loads, lines) if "add" in line]


def test_rows_that_another_engine_deleted_come_back(lake):
    rows = lake.numbers(UNO)
    DeltaTable(lake.path(UNO)).delete()
    put_back(lake, UNO, 3)
    assert lake.numbers(UNO) == rows


def test_the_version_that_is_there_is_left_alone(lake):
    assert put_back(lake, UNO, 3).is_idle
    assert lake.version(UNO) == 3


def test_bronze_goes_back_in_its_source_as_well(lake):
    for offset in (10, 20, 30):
        before = {(SOURCE, 0): offset - 10} if offset > 10 else {}
        reached = {(SOURCE, 0): offset, **({(SOURCE, 1): 5} if offset == 30 else {})}
        marks = offset_transactions("kafka", reached, before)
        row = lake.file(BRONZE, _row(lake))
        commit = Commit(table=BRONZE, files=[row], transactions=marks)
        lake.committer.append([commit], Batch("ingest", offset))
    planned = put_back(lake, BRONZE, 1)
    assert planned.next_offsets == {(SOURCE, 0): 10, (SOURCE, 1): 0}
    handle = DeltaTable(lake.path(BRONZE))
    assert table_offsets(handle, "kafka", SOURCE) == {(SOURCE, 0): 10, (SOURCE, 1): 0}
    assert "reads from Kafka again what bronze lacks" in planned.follows[1]


def test_bronze_does_not_lose_rows_of_a_source_that_its_feed_reads_no_more(lake):
    """The topic was created again under another name, and the feed corrected."""
    for name, offset in (("former", 10), ("former", 20), (SOURCE, 10), (SOURCE, 20)):
        marks = offset_transactions("kafka", {(name, 0): offset}, {})
        row = lake.file(BRONZE, _row(lake))
        commit = Commit(table=BRONZE, files=[row], transactions=marks)
        lake.committer.append([commit], Batch("ingest", lake.version(BRONZE) + 1))
    told = "has rows of former since its version 1, and its feed reads game-stream by now"
    with pytest.raises(LakeError, match=told):
        put_back(lake, BRONZE, 1)
    assert put_back(lake, BRONZE, 3).next_offsets == {(SOURCE, 0): 10}


def _row(lake):
    return DeltaTable(lake.path(UNO)).to_pyarrow_table().slice(0, 1)


def test_gold_goes_back_to_the_silver_that_it_stood_for(lake):
    planned = put_back(lake, UNO_AGG, 2)
    position = position_from(last_info(DeltaTable(lake.path(UNO_AGG))))
    # Its files of then were there still, beside a later one, so that the commit adds none of them.
    assert (position.silver_version, position.columns) == (2, "")
    assert "brings it up to date" in planned.follows[1]
    assert len(lake.numbers(UNO_AGG)) == 2


def test_gold_of_an_older_declaration_is_computed_anew(lake):
    """Its definition beside its rows would tell streams that somebody changed the view."""
    lake.refresh("an older one")
    lake.refresh()
    planned = put_back(lake, UNO_AGG, 4)
    info = last_info(DeltaTable(lake.path(UNO_AGG)))
    assert (position_from(info), info[RESTORED]) == (None, "4")
    assert "computes it anew" in planned.follows[-1]
    (games,) = (feed for feed in load_feeds(lake.settings.feeds) if feed.feed == "games")
    view = next(view for view in games.gold if view.name == "player_agg")
    assert other_definitions(lake.settings, games, view) == frozenset()


def test_gold_of_a_view_that_is_not_declared_keeps_what_it_stood_for(lake, tmp_path):
    """It may be declared again, and go on from there."""
    (tmp_path / "feeds").mkdir()
    text = (resources.files("lake_assets.feeds") / "games.yaml").read_text()
    renamed = text.replace("name: player_agg", "name: another")
    (tmp_path / "feeds" / "games.yaml").write_text(renamed)
    lake.settings = lake.settings.model_copy(update={"feeds": tmp_path / "feeds"})
    put_back(lake, UNO_AGG, 2)
    position = position_from(last_info(DeltaTable(lake.path(UNO_AGG))))
    assert position.silver_version == 2


def test_what_a_view_lacks_that_is_computed_anew_is_told(lake, tmp_path):
    (tmp_path / "feeds").mkdir()
    text = (resources.files("lake_assets.feeds") / "games.yaml").read_text()
    (tmp_path / "feeds" / "games.yaml").write_text(f"{text}\nretention: 90d\n")
    lake.settings = lake.settings.model_copy(update={"feeds": tmp_path / "feeds"})
    with table_restore(lake.settings, UNO, 1) as (planned, _):
        assert planned.follows[-1].endswith("rows that left it for their age are not counted")
    with table_restore(lake.settings, UNO_AGG, 0) as (planned, _):
        assert "computes it anew, from what silver has then" in planned.follows[-1]
    with table_restore(lake.settings, UNO_AGG, 2) as (planned, _):
        assert planned.follows[-1].endswith("brings it up to date with silver again")


def test_rows_that_left_for_their_age_since_come_back_until_the_next_maintenance(lake):
    rows = lake.numbers(UNO)
    old = active_files(DeltaTable(lake.path(UNO)))[:1]
    commit = Commit(table=UNO, files=(), removed=old, info={RETENTION: "2026-01-01"})
    lake.committer.replace_files([commit])
    put_back(lake, UNO, 3)
    assert lake.numbers(UNO) == rows


def test_gold_whose_files_are_all_others_goes_on_from_there(lake):
    files = active_files(DeltaTable(lake.path(UNO_AGG)))
    info = last_info(DeltaTable(lake.path(UNO_AGG)))
    row = lake.file(UNO_AGG, _row(lake))
    commit = Commit(table=UNO_AGG, files=[row], removed=files, info={**info, "n": "1"})
    lake.committer.replace_files([commit])
    put_back(lake, UNO_AGG, 3)
    position = position_from(last_info(DeltaTable(lake.path(UNO_AGG))))
    assert position.silver_version == 3


@pytest.mark.parametrize("table", [UNO, QUARANTINE, BRONZE], ids=str)
def test_streams_that_run_are_asked_to_stop(lake, table):
    with (
        streams_lock(lake.settings.state_dir),
        pytest.raises(StreamsLockedError),
        table_restore(lake.settings, table, 1),
    ):
        pass


def test_maintenance_deletes_no_file_of_gold_that_is_about_to_come_back(lake):
    files = active_files(DeltaTable(lake.path(UNO_AGG)))
    commit = Commit(table=UNO_AGG, files=[lake.file(UNO_AGG, _row(lake))], removed=files)
    lake.committer.replace_files([commit])
    upkeep = MaintenanceSettings(keep_hours=1e-9)
    quick = lake.settings.model_copy(update={"maintenance": upkeep})
    with table_restore(lake.settings, UNO_AGG, 3) as (_, put):
        done = maintain(quick, GAMES)
        put()
    assert len(lake.numbers(UNO_AGG)) == 3
    assert [one.deleted for one in done if one.table == UNO_AGG] == [0]


def test_a_version_before_rows_were_moved_is_refused(lake):
    moved = active_files(DeltaTable(lake.path(UNO)))[:1]
    commit = Commit(table=UNO, files=(), removed=moved)
    lake.committer.append([commit], Batch(reprocess_app("games"), 1))
    with pytest.raises(LakeError, match=r"rows moved or rewritten in its version 4 .* two tables"):
        put_back(lake, UNO, 2)
    lake.demux(UNO)
    assert put_back(lake, UNO, 4).rows_then == 2


BY_TEXT = partition_columns({"text": "text"})


def test_a_partitioned_table_goes_back_with_its_partitions(lake):
    lay_out(lake.committer, UNO, BY_TEXT)
    rows, before = lake.numbers(UNO), lake.version(UNO)
    DeltaTable(lake.path(UNO)).delete()
    planned = put_back(lake, UNO, before)
    assert (planned.rows_now, planned.rows_then) == (0, len(rows))
    assert lake.numbers(UNO) == rows
    for add in _adds(lake, UNO):
        assert add["partitionValues"] == {"text": "x"}
        assert json.loads(add["stats"])["minValues"].keys() == {"n"}  # the other one is known
    told = DeltaTable(lake.path(UNO)).history(1)[0]["operationParameters"]
    assert json.loads(told["partitionBy"]) == ["text"]


def test_a_version_of_another_layout_is_refused(lake):
    lay_out(lake.committer, UNO, BY_TEXT)
    with pytest.raises(LakeError, match="is partitioned by text, and its version 3 by nothing"):
        put_back(lake, UNO, 3)
    rows = DeltaTable(lake.path(FISH)).to_pyarrow_table()
    write_deltalake(
        lake.path(FISH), rows, mode="overwrite", schema_mode="overwrite", partition_by=["text"]
    )
    with pytest.raises(LakeError, match="is partitioned by text, and its version 3 by nothing"):
        put_back(lake, FISH, 3)


def test_a_version_with_values_under_older_names_alone_is_refused(lake):
    """Also where no row was rewritten for the newest, since somebody had deleted them all."""
    DeltaTable(lake.path(UNO)).delete()
    put_back(lake, UNO, 3)
    DeltaTable(lake.path(UNO)).delete()
    renames = Renames(now={"text": "words"})
    columns = pa.schema([*lake.committer.columns([UNO])[UNO], pa.field("words", pa.string())])
    assert widen(lake.committer, {UNO: marked(columns, renames)}, renames)
    with pytest.raises(LakeError, match="has words by an older name in its version 3: its rows"):
        put_back(lake, UNO, 3)
    put_back(lake, UNO, lake.version(UNO))


def test_a_file_that_goes_while_it_is_looked_at_is_named(lake, monkeypatch):
    """As VACUUM of another engine deletes it."""
    (file,) = active_files(DeltaTable(lake.path(UNO), version=1))
    DeltaTable(lake.path(UNO)).delete()

    def look(handle):
        (lake.path(UNO) / file.path).unlink()
        return rows_of(handle)

    monkeypatch.setattr("lake_assets.backup.versions_then.rows_of", look)
    with pytest.raises(LakeError, match=f"{file.path}: is missing, and version 1 of its table"):
        put_back(lake, UNO, 1)


@pytest.mark.parametrize("tail", [b"", b"PAR1"])
def test_a_damaged_file_does_not_come_back(lake, tail):
    (file,) = active_files(DeltaTable(lake.path(UNO), version=1))
    DeltaTable(lake.path(UNO)).delete()
    path = lake.path(UNO) / file.path
    path.write_bytes(path.read_bytes()[:-9] + b"\x0d\0\0\0\0" + tail)
    with pytest.raises(LakeError, match=f"{file.path}: is damaged .*, and version 1 of its table"):
        put_back(lake, UNO, 1)


def test_a_compaction_in_between_is_no_matter(lake):
    rows = lake.numbers(UNO, 2)
    lake.committer.compact(UNO)
    put_back(lake, UNO, 2)
    assert lake.numbers(UNO) == rows


def test_a_restore_of_another_engine_is_not_covered_up(lake):
    DeltaTable(lake.path(UNO)).restore(1)
    with pytest.raises(LakeError, match=r"put back by another engine \(RESTORE\) already"):
        put_back(lake, UNO, 2)


def test_a_version_that_cannot_be_read_is_refused(lake):
    handle = DeltaTable(lake.path(UNO))
    handle.optimize.compact()
    handle.vacuum(0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(LakeError, match="version 2 cannot be put back: 2 of its files were del"):
        put_back(lake, UNO, 2)
    with pytest.raises(LakeError, match="version 9 cannot be put back: the newest is 6"):
        put_back(lake, UNO, 9)


def test_a_commit_that_comes_in_between_is_noticed(lake):
    with table_restore(lake.settings, UNO, 1) as (_, commit):
        DeltaTable(lake.path(UNO)).optimize.compact()
        with pytest.raises(CommitConflictError):
            commit()


def test_a_table_that_is_no_feeds_is_refused(lake):
    other = UNO.__class__(layer=UNO.layer, name="somebodys")
    lake.committer.create({other: _row(lake).schema})
    with pytest.raises(LakeError, match="silver/somebodys: is no table of a feed"):
        put_back(lake, other, 0)


def test_a_column_that_changed_since_is_refused(lake):
    log = log_of(lake.store, UNO)
    first = [json.loads(line) for line in log.commit(0).splitlines()]
    metadata = next(line["metaData"] for line in first if "metaData" in line)
    wider = metadata["schemaString"].replace('"long"', '"double"')
    assert log.put(4, [{"metaData": {**metadata, "schemaString": wider}}])
    with pytest.raises(LakeError, match="has its column n otherwise, or no longer, since version"):
        put_back(lake, UNO, 2)
