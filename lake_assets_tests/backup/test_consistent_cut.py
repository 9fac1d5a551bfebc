import json
import random
from collections.abc import Callable
from functools import partial

import pytest

from lake_assets.backup.batch_versions import position_at
from lake_assets.backup.consistent_cut import choose_versions
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.crash_recovery import newest_whole_version
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_tail import actions_of
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import (
    checksum,
    checksum_record,
    numbers_of,
    recorded_checksum,
)
from lake_assets.model.owners import Owner
from lake_assets.model.tables import GAPS, files_of, gold_of_all
from lake_assets.silver.demux_position import batch_of, demux_app, reprocess_app, skip_app
from lake_assets.storage.local import LocalStore
from lake_assets_tests.backup.lakes import (
    BRONZE,
    FISH,
    QUARANTINE,
    UNO,
    UNO_AGG,
    BatchedLake,
    backed_up,
    versions_in,
)
from lake_assets_tests.maintenance.lakes import SCHEMA

REDO = reprocess_app("games")


def ensure_fitting(lake, cut):
    """What positions name is in the cut, and no batch that is not whole."""
    logs = {table: log_of(lake.store, table) for table in cut.versions}
    quarantine = logs[QUARANTINE].open(cut.versions[QUARANTINE])
    app_id = demux_app("games")
    position = position_at(logs[QUARANTINE], quarantine, app_id)
    silver = {table: logs[table].open(cut.versions[table]) for table in (UNO, FISH)}
    assert checksum(numbers_of(app_id, silver)) == position.tables
    assert checksum(numbers_of(reprocess_app("games"), silver)) == recorded_checksum(
        reprocess_app("games"), quarantine
    )
    assert position.bronze.version <= cut.versions[BRONZE]
    assert commit_digest(logs[BRONZE], position.bronze.version) == position.bronze.digest
    actions = actions_of(logs[UNO_AGG], cut.versions[UNO_AGG])
    stands = position_from(next(info for kind, info in actions if kind == "commitInfo"))
    assert stands is None or stands.silver_version <= cut.versions[UNO]


@pytest.mark.parametrize("seed", range(6))
def test_at_each_step_of_any_sequence_the_cut_fits_together(settings, seed):
    lake, chance = BatchedLake(settings), random.Random(seed)  # noqa: S311 - the same each time
    lake.ingest()
    lake.demux(UNO)
    changes = 0

    def change():
        """A requeue, which is not begun in the midst of a batch by whom it would be cut off."""
        nonlocal changes
        if lake.left:
            return
        changes += 1
        for table in (UNO, FISH):
            lake.committer.append([Commit(table=table, files=())], Batch(REDO, changes))
        record = checksum_record(REDO, dict.fromkeys((UNO, FISH), changes))
        last = Commit(table=QUARANTINE, files=(), transactions=[record])
        lake.committer.append([last], Batch(REDO, changes))

    def demux():
        if lake.left:
            lake.finish()
        else:
            lake.demux(*chance.choice([(UNO,), (FISH,), (UNO, FISH)]), whole=chance.random() < 0.5)

    for _ in range(25):
        table = chance.choice([BRONZE, UNO, FISH, UNO_AGG])
        join = partial(lake.committer.compact, table)
        steps: list[Callable[[], None]] = [lake.ingest, demux, demux, lake.refresh, change, join]
        chance.choice(steps)()
        cut = chosen(lake)
        assert cut.notes == ()
        ensure_fitting(lake, cut)
    lake.committer.close()


def chosen(lake, pauses=()):
    left = list(pauses)

    def pause(_):
        if left:
            left.pop(0)()

    return choose_versions(lake.store, pause)


def test_of_a_lake_at_rest_the_newest_are_taken(lake):
    cut = chosen(lake)
    newest = {table: lake.version(table) for table in (BRONZE, QUARANTINE, UNO, FISH, UNO_AGG)}
    assert (dict(cut.versions), cut.notes, cut.journals) == (newest, (), {})


def test_silver_is_taken_as_the_newest_whole_batch_left_it(lake):
    before = {table: lake.version(table) for table in (UNO, FISH)}
    lake.demux(UNO, whole=False)
    cut = chosen(lake)
    assert {table: cut.versions[table] for table in before} == before
    assert cut.notes == ()


def test_a_compaction_after_the_whole_batch_is_in_the_cut_and_one_after_the_half_is_not(lake):
    lake.committer.compact(UNO)
    compacted = lake.version(UNO)
    lake.demux(UNO, whole=False)
    lake.committer.compact(UNO)
    cut = chosen(lake)
    assert (cut.versions[UNO], cut.notes) == (compacted, ())


def test_a_half_batch_stays_where_files_from_before_it_were_deleted(lake, settings, place):
    fish = lake.version(FISH)
    lake.demux(UNO, FISH, whole=False)
    lake.committer.compact(UNO)
    kept = {file.path for file in active_files(log_of(lake.store, UNO).open())}
    for name in lake.data(UNO) - kept:  # as maintenance does once versions are old
        (lake.path(UNO) / name).unlink()
    cut = chosen(lake)
    assert (cut.versions[UNO], cut.versions[FISH]) == (lake.version(UNO), fish)
    (note,) = cut.notes
    assert f"feed games: a batch was cut off, and files of {UNO.relative} or" in note
    assert versions_in(backed_up(settings, place))[UNO.relative] == lake.version(UNO)


def test_gold_is_taken_at_a_version_of_silver_that_is_taken(lake):
    before = lake.version(UNO_AGG)
    lake.demux(UNO, whole=False)
    lake.refresh()
    assert chosen(lake).versions[UNO_AGG] == before


def test_a_view_over_all_keys_is_taken_at_versions_of_silver_that_are_taken(lake):
    view = gold_of_all("games", "all_of_them")
    owner = Owner(feed="games", view="all_of_them")
    lake.committer.create({view: SCHEMA}, owners={view: owner})

    def refresh():
        silver = {"uno": UNO, "go_fish": FISH}
        every = PositionOfAll(
            versions={key: lake.version(table) for key, table in silver.items()},
            commits={},
            definition="it",
        )
        commit = Commit(table=view, files=(), info=every.info)
        lake.committer.append([commit], Batch("all", lake.version(view) + 1))

    refresh()
    before = lake.version(view)
    assert chosen(lake).versions[view] == before
    lake.demux(FISH, whole=False)
    refresh()
    assert chosen(lake).versions[view] == before


def test_gold_that_stands_for_no_silver_of_the_cut_is_taken_as_it_was_before_its_first_row(
    settings,
):
    lake = BatchedLake(settings)
    lake.ingest()
    lake.demux(FISH)
    lake.demux(UNO, whole=False)
    lake.refresh()
    cut = chosen(lake)
    assert cut.versions[UNO] == 0
    assert cut.versions[UNO_AGG] == 0
    lake.committer.close()


@pytest.mark.parametrize("table", [BRONZE, QUARANTINE, UNO, UNO_AGG], ids=str)
@pytest.mark.parametrize("content", [b"", b'{"commitInfo": {"ti'])
def test_a_torn_newest_commit_is_not_taken(lake, table, content):
    whole = lake.version(table)
    log_of(lake.store, table).commit_file(whole + 1).as_path().write_bytes(content)
    assert chosen(lake).versions[table] == whole


def test_a_newest_commit_whose_file_is_torn_is_not_taken(lake):
    whole = lake.version(FISH)
    lake.demux(FISH, whole=False)
    newest = max(lake.path(FISH).glob("*.parquet"), key=lambda path: path.stat().st_ctime_ns)
    newest.write_bytes(newest.read_bytes()[:10])
    assert chosen(lake).versions[FISH] == whole


def test_a_change_beside_the_streams_is_waited_for(lake):
    """A requeue commits its part of silver first, and that of quarantine last."""
    app_id = reprocess_app("games")
    change = Batch(app_id, 1)
    lake.committer.append([Commit(table=UNO, files=())], change)

    def end():
        record = checksum_record(app_id, {UNO: 1})
        last = Commit(table=QUARANTINE, files=(), transactions=[record])
        lake.committer.append([last], change)

    cut = chosen(lake, [end])
    assert cut.notes == ()
    assert cut.versions[QUARANTINE] == lake.version(QUARANTINE)


def test_a_change_that_was_cut_off_is_taken_with_its_journal(lake):
    lake.committer.append([Commit(table=UNO, files=())], Batch(reprocess_app("games"), 1))
    journal = json.dumps({"tables": [{"layer": "silver", "name": UNO.name, "files": []}]})
    (lake.path(QUARANTINE) / "_change.json").write_text(journal)
    cut = chosen(lake)
    assert (cut.notes, dict(cut.journals)) == ((), {QUARANTINE: journal})


def noted(lake, number):
    """The journal of a change; None clears it."""
    path = lake.path(QUARANTINE) / "_change.json"
    batch = {"app_id": reprocess_app("games"), "version": number}
    path.write_text(json.dumps({"batch": batch, "tables": []}))
    return path


def test_of_a_change_that_comes_while_tables_are_opened_nothing_is_taken_for_granted(lake):
    """Between two looks at the journal another change may have come to its end."""
    looks = []

    class Looking(LocalStore):
        def get(self, file):
            if file.name == "_change.json":
                looks.append(file)
                if len(looks) == 2:
                    noted(lake, 2)
            return super().get(file)

    cut = choose_versions(Looking.at(lake.settings.lake_dir), lambda _: looks.append("pause"))
    assert looks.count("pause") == 1
    assert (cut.notes, list(cut.journals)) == ((), [QUARANTINE])


def test_a_change_whose_last_part_is_there_is_whole_whatever_its_journal_says(lake):
    app_id = reprocess_app("games")
    lake.demux(UNO, whole=False)
    lake.committer.append([Commit(table=UNO, files=())], Batch(app_id, 1))
    record = checksum_record(app_id, {UNO: 1})
    last = Commit(table=QUARANTINE, files=(), transactions=[record])
    lake.committer.append([last], Batch(app_id, 1))
    path = noted(lake, 1)
    cut = chosen(lake)
    # Before the half batch uno lacks its part, and nothing would bring it again.
    assert (len(cut.notes), dict(cut.journals)) == (1, {})
    assert cut.versions[UNO] == lake.version(UNO)
    path.unlink()


def test_tables_that_do_not_fit_together_are_taken_as_they_are_and_that_is_told(lake):
    lake.committer.append([Commit(table=FISH, files=())], batch_of("games", 1))
    lake.committer.append([Commit(table=QUARANTINE, files=())], Batch("other", 1))
    log = log_of(lake.store, UNO)
    for version in range(lake.version(UNO), 1, -1):  # put back alone
        log.commit_file(version).as_path().unlink()
    cut = chosen(lake)
    assert cut.versions[FISH] == lake.version(FISH)
    (note,) = cut.notes
    assert "feed games: its tables do not fit together" in note


def while_bronze_is_opened(monkeypatch, act):
    """Have something happen once, after quarantine was opened and before bronze is."""
    newest, left = newest_whole_version, [act]

    def opening(log):
        if log.folder.name == BRONZE.name and left:
            left.pop()()
        return newest(log)

    monkeypatch.setattr("lake_assets.backup.consistent_cut.newest_whole_version", opening)


def test_what_bronze_passed_over_is_in_the_log_of_gaps_that_is_taken(lake, monkeypatch):
    def pass_over():
        lake.committer.create({GAPS: SCHEMA})
        lake.ingest()

    while_bronze_is_opened(monkeypatch, pass_over)
    cut = chosen(lake)
    assert cut.versions[BRONZE] == lake.version(BRONZE)
    assert cut.versions[GAPS] == 0


def test_rows_that_a_skipped_batch_put_aside_are_in_the_cut_with_bronze_after_it(lake, monkeypatch):
    def skip():
        aside = Commit(table=QUARANTINE, files=())
        lake.committer.append([aside], Batch(skip_app("games"), 1))
        lake.ingest()

    while_bronze_is_opened(monkeypatch, skip)
    cut = chosen(lake)
    assert cut.notes == ()
    assert cut.versions[QUARANTINE] == lake.version(QUARANTINE)


def test_an_index_of_files_knows_all_that_bronze_has(settings, monkeypatch):
    lake, opened = BatchedLake(settings), []
    lake.ingest()
    index = files_of("games")
    lake.committer.create({index: SCHEMA}, owners={index: Owner(feed="games")})
    newest = newest_whole_version

    def note(log):
        opened.append(log.folder.name)
        return newest(log)

    monkeypatch.setattr("lake_assets.backup.consistent_cut.newest_whole_version", note)
    assert index in choose_versions(lake.store).versions
    assert opened.index(BRONZE.name) < opened.index(index.name)
    assert opened.count(index.name) == 1
