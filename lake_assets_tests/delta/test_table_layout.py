"""Rows split by a former layout come into no table of another, though its columns are the same."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.change_journal import ChangeJournal, TableChange, TablesChange
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.delta.multi_table_change import finish
from lake_assets.delta.relayout import lay_out
from lake_assets.delta.table_layout import is_laid_out_as, layout_of, made_columns, split_by
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.layouts import partition_columns
from lake_assets.model.tables import quarantine_of
from lake_assets.parquet.data_file import write_partitions
from lake_assets.parquet.partitioning import days
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.sample import silver_of

UNO, POKER, ASIDE = silver_of("uno"), silver_of("poker"), quarantine_of("games")
TIME = pa.timestamp("us", "UTC")
PLACE = [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
COLUMNS = pa.schema([("at", TIME), ("later", TIME), *PLACE])
BY_AT, BY_LATER = (partition_columns({"day": f"date({name})"}) for name in ("at", "later"))
TABLE = pa.schema([*COLUMNS, *made_columns(BY_AT)])


@pytest.fixture
def committer(tmp_path):
    made = Committer(LocalStore.at(tmp_path), threads=1)
    tables = {UNO: TABLE, POKER: TABLE, ASIDE: COLUMNS}
    made.create(tables, partition_by={UNO: ["day"], POKER: ["day"]})
    yield made
    made.close()


def rows_of(*offsets):
    """Of which each came a day later than it was."""
    place = {"topic": "t", "partition": 0}
    times = {"at": datetime(2026, 11, 24, tzinfo=UTC), "later": datetime(2026, 11, 25, tzinfo=UTC)}
    rows = [{**times, **place, "offset": offset} for offset in offsets]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def written(committer, table, offset, by=BY_AT):
    """Files of a row, as they are split by a layout."""
    rows = rows_of(offset)
    rows = rows.append_column("day", days(rows[by[0].source]))
    parts = write_partitions(committer.store, rows, log_of(committer.store, table).folder, ["day"])
    return [DataFile(partition=values, **file) for values, file in parts]


def append(committer, offset, by=BY_AT, table=UNO):
    files = written(committer, table, offset, by)
    committer.append([Commit(table=table, files=files, info=split_by(by))], Batch("s", offset))


def stored(tmp_path, table=UNO):
    """Offsets and days."""
    rows = DeltaTable(tmp_path / table.relative).to_pyarrow_table()
    return sorted(zip(rows["offset"].to_pylist(), map(str, rows["day"].to_pylist()), strict=True))


def lay_out_elsewhere(committer, table, by):
    """As another process does it."""
    other = committer.independent()
    lay_out(other, table, by)
    other.close()


def test_a_table_says_what_its_columns_are_made_of(committer):
    append(committer, 0)
    assert layout_of(committer.fresh(UNO)) == "day = date(at)"
    assert layout_of(committer.fresh(ASIDE)) == ""
    lay_out_elsewhere(committer, UNO, [*BY_LATER, *partition_columns({"topic": "topic"})])
    assert layout_of(committer.fresh(UNO)) == "day = date(later), topic"


@pytest.mark.parametrize("is_known", [True, False])
def test_a_writer_of_the_former_layout_is_refused_each_time(committer, tmp_path, is_known):
    """Also one that made the last commit, and so reads no log before the next."""
    writer = committer if is_known else committer.independent()
    append(committer, 0)
    lay_out_elsewhere(committer, UNO, BY_LATER)
    told = "is partitioned by day = date.later., and new files of it by day = date.at."
    for _ in range(3):
        with pytest.raises(LakeError, match=told):
            append(writer, 1)
    append(writer, 2, BY_LATER)
    for _ in range(2):
        with pytest.raises(LakeError, match=told):
            append(writer, 3)
    if not is_known:
        writer.close()
    assert stored(tmp_path) == [(0, "2026-11-25"), (2, "2026-11-25")]


def test_a_table_that_this_process_created_is_known_by_its_layout(committer):
    with pytest.raises(LakeError, match=r"and new files of it by day = date.later."):
        append(committer, 0, BY_LATER)


def test_files_that_do_not_say_what_split_them_are_taken_by_their_columns(committer, tmp_path):
    """As those of earlier releases' journals."""
    commit = Commit(table=UNO, files=written(committer, UNO, 0))
    assert is_laid_out_as(commit, committer.fresh(UNO))
    assert not is_laid_out_as(commit, committer.fresh(ASIDE))
    committer.append([commit], Batch("s", 0))
    assert stored(tmp_path) == [(0, "2026-11-24")]


def test_a_commit_that_also_removes_files_is_held_against_the_layout_as_well(committer, tmp_path):
    """As a rebuild's, whose rows take the place of others."""
    append(committer, 0)
    for by, offset in ((BY_AT, 1), (BY_LATER, 2)):
        if by == BY_LATER:
            lay_out_elsewhere(committer, UNO, by)
            with pytest.raises(LakeError, match=r"and new files of it by day = date.at."):
                replace_all(committer, 3, BY_AT)
        replace_all(committer, offset, by)
    assert stored(tmp_path) == [(2, "2026-11-25")]


def replace_all(committer, offset, by):
    commit = Commit(
        table=UNO,
        files=written(committer, UNO, offset, by),
        removed=active_files(committer.fresh(UNO)),
        info=split_by(by),
    )
    committer.append([commit], Batch("redo", offset))


@pytest.fixture
def journal(committer):
    """Of a change that brings a row to each of two tables."""
    file = log_of(committer.store, ASIDE).folder / "_change.json"
    journal = ChangeJournal(committer.store, file, KAFKA)
    parts = [
        TableChange(table=table, files=written(committer, table, 7), info=split_by(BY_AT))
        for table in (UNO, POKER)
    ]
    journal.write(
        TablesChange(
            batch=Batch("redo", 1),
            origin=KAFKA,
            tables=[*parts, TableChange(table=ASIDE)],
            companions=[UNO, POKER],
        )
    )
    return journal


def come_to_uno(committer, journal):
    """The first part."""
    (first, *_) = journal.read().tables
    committer.append([Commit(table=UNO, files=first.files, info=first.info)], Batch("redo", 1))


@pytest.mark.parametrize("by", [BY_LATER, ()])
def test_a_change_of_the_former_layout_of_which_nothing_happened_never_does(committer, journal, by):
    """Its rows are where they were: a requeue's in quarantine, a rebuild's in bronze."""
    lay_out_elsewhere(committer, POKER, by)
    assert finish(journal, committer) == {}
    assert journal.read() is None
    assert [active_files(committer.fresh(table)) for table in (UNO, POKER)] == [[], []]


def test_a_change_of_the_former_layout_that_happened_half_is_told(committer, tmp_path, journal):
    come_to_uno(committer, journal)
    lay_out_elsewhere(committer, POKER, BY_LATER)
    for _ in range(2):
        with pytest.raises(LakeError, match=r"got another layout since.*rebuild silver"):
            finish(journal, committer)
    assert (len(stored(tmp_path)), len(stored(tmp_path, POKER))) == (1, 0)
    # With the former layout back it can be finished.
    lay_out_elsewhere(committer, POKER, BY_AT)
    finish(journal, committer)
    assert stored(tmp_path) == stored(tmp_path, POKER) == [(7, "2026-11-24")]


def test_a_part_that_came_before_its_table_was_laid_out_comes_no_second_time(
    committer, tmp_path, journal
):
    come_to_uno(committer, journal)
    lay_out_elsewhere(committer, UNO, BY_LATER)
    finish(journal, committer)
    assert stored(tmp_path) == [(7, "2026-11-25")]
    assert stored(tmp_path, POKER) == [(7, "2026-11-24")]
