"""Batches without Spark: files as a job leaves them, deduplicated, and committed to real tables."""

import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow.parquet import read_table

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.offset_range import Range
from lake_assets.delta.table_log import log_of
from lake_assets.delta.widen import widen
from lake_assets.errors import FeedError, LakeError
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.tables import duplicates_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver import deduplicate_again, stored_keys
from lake_assets.silver.deduplicate import Deduplication
from lake_assets.silver.deduplicate_again import unique_again
from lake_assets.silver.demux_duplicates import deduplicated
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.duplicate_rows import duplicates_schema
from lake_assets.silver.keys_beside import KeysBeside
from lake_assets.silver.rows import silver_schema
from lake_assets.silver.stored_keys import ensure_deduplicable
from lake_assets.spark.fan_out import Written
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.sample import GAMES, silver_of
from lake_assets_tests.silver.duplicates import Sent, ensure_kept, kept_of

HOUR = 3_600_000_000
START = datetime(2026, 11, 25, tzinfo=UTC)
FEED = GAMES.model_copy(
    update={"deduplicate": Deduplicate(key=("event_id",), within=timedelta(hours=1))}
)
ORIGIN = FEED.source.origin
DECODED = pa.schema([("event_id", pa.string()), ("coins", pa.int32())])
TABLES = (silver_of("uno"), silver_of("go_fish"))
DUPLICATES = duplicates_of("games")


class Lake:
    """Two silver tables of a feed and its duplicates, in a lake of their own."""

    def __init__(self, settings, context, decoded=DECODED):
        self.decoded, self.context, self.number = decoded, context, 0
        self.journal = Journal(settings.state_dir / "games-demux.json")
        schema = silver_schema(decoded, ORIGIN)
        columns = {**dict.fromkeys(TABLES, schema), DUPLICATES: duplicates_schema(ORIGIN)}
        context.committer.create(columns)
        self.start()

    def start(self):
        """As a process that has just started."""
        self.beside = None
        self.deduplication = Deduplication(feed=FEED, context=self.context)

    def leave_keys_in(self, folder):
        """As tasks of a session do it beside their files."""
        columns = self.deduplication.reader.columns
        self.deduplication.folder = folder
        self.beside = KeysBeside(folder=folder, columns=columns, tables=len(TABLES))

    def written(self, rows, files=2):
        """What a job of some tasks leaves of rows."""
        made = {}
        for task in range(files):
            for number, table in enumerate(TABLES):
                own = [r for r in rows if r.table == number and r.partition % files == task]
                if own:
                    log = log_of(self.context.lake, table)
                    columns = silver_rows(own, self.decoded)
                    file = DataFile(**write_file(log.store, columns, log.folder))
                    if self.beside:
                        self.beside(number, columns, file.path)
                    made.setdefault(table, []).append(file)
        return Demuxed(written={t: Written(files=f) for t, f in made.items()}, outcomes={})

    def batch(self, rows):
        """Commit a batch; how many rows of each key were duplicates."""
        with deduplicated(self.deduplication, self.written(rows)) as unique:
            self.commit(unique)
        return dict(unique.duplicates)

    def commit(self, unique):
        self.number += 1
        commits = [Commit(table=t, files=w.files) for t, w in unique.written.items()]
        self.context.committer.append(commits, Batch("test", self.number))

    def rows(self):
        """What silver has, in the order of origins."""
        found = []
        for number, table in enumerate(TABLES):
            for row in self.read(table):
                time = round((row["_kafka_timestamp"] - START).total_seconds() * 1e6)
                sent = Sent(row["event_id"], time, row["_partition"], row["_offset"], number)
                found.append(sent)
        return sorted(found, key=lambda row: (row.partition, row.offset))

    def read(self, table):
        return self.handle(table).to_pyarrow_table().to_pylist()

    def handle(self, table):
        return DeltaTable(log_of(self.context.lake, table).folder.for_deltalake())

    def files(self):
        """Data files on the disk, and those that tables have."""
        there = [path for t in (*TABLES, DUPLICATES) for path in self.folder(t).glob("*.parquet")]
        return len(there), sum(len(self.handle(t).file_uris()) for t in (*TABLES, DUPLICATES))

    def folder(self, table):
        return self.context.lake.root.as_path() / table.relative


def silver_rows(rows, decoded=DECODED):
    kind = decoded.field("event_id").type
    columns = {
        "event_id": pa.array([row.key for row in rows]).cast(kind),
        "coins": [row.offset for row in rows],
        "_topic": ["t"] * len(rows),
        "_partition": [row.partition for row in rows],
        "_offset": [row.offset for row in rows],
        "_kafka_timestamp": [START + timedelta(microseconds=row.time) for row in rows],
        "_schema_id": [None] * len(rows),
    }
    return pa.table(columns, schema=silver_schema(decoded, ORIGIN))


@pytest.fixture
def context(settings):
    with open_lake(settings) as opened:
        yield opened


@pytest.fixture
def lake(settings, context):
    return Lake(settings, context)


def sent(*keys_and_hours, partition=0, first=0, table=0):
    return [
        Sent(key, round(hours * HOUR), partition, first + at, table)
        for at, (key, hours) in enumerate(keys_and_hours)
    ]


def test_of_an_event_that_comes_again_in_its_batch_or_a_later_one_the_first_row_stays(lake):
    first = sent(("a", 0), ("b", 0), ("a", 0.5))
    assert lake.batch(first) == {"uno": 1}
    again = sent(("b", 1), ("a", 1.01), ("c", 1), first=3)
    assert lake.batch(again) == {"uno": 1}
    assert lake.rows() == [*first[:2], *again[1:]]


def test_an_event_of_another_table_is_another(lake):
    rows = [*sent(("a", 0)), *sent(("a", 0), partition=1, table=1)]
    assert lake.batch(rows) == {}
    assert lake.rows() == rows


def test_a_duplicate_is_noted_with_its_origin_and_that_of_the_row_that_stays(lake):
    lake.batch(sent(("a", 0)))
    lake.batch(sent(("b", 0), ("a", 0.25), partition=1, first=7))
    (row,) = lake.read(DUPLICATES)
    assert row.pop("dropped_at") > START - timedelta(days=365)
    assert row == {
        "topic": "t",
        "partition": 1,
        "offset": 8,
        "kafka_timestamp": START + timedelta(minutes=15),
        "key": "uno",
        "first_topic": "t",
        "first_partition": 0,
        "first_offset": 0,
        "first_feed": "games",
    }


def test_a_row_that_stays_of_a_feed_whose_file_was_taken_away_is_named_as_its(lake):
    lake.batch(sent(("a", 0)))
    (file,) = lake.written(sent(("b", 0), first=1)).written[TABLES[0]].files
    path = lake.folder(TABLES[0]) / file.path
    whose = pa.array(["old_games"])
    rows = read_table(path, partitioning=None).append_column("_feed", whose)
    write_deltalake(lake.folder(TABLES[0]), rows, mode="append", schema_mode="merge")
    lake.batch(sent(("b", 0.5), first=2))
    (row,) = lake.read(DUPLICATES)
    assert (row["first_feed"], row["first_offset"]) == ("old_games", 1)


def test_a_batch_of_nothing_but_duplicates_leaves_no_file_behind(lake):
    lake.batch(sent(("a", 0), ("b", 0)))
    version = lake.handle(TABLES[0]).version()
    assert lake.batch(sent(("a", 0.1), ("b", 0.1), first=2)) == {"uno": 2}
    assert lake.handle(TABLES[0]).version() == version
    assert len(set(lake.files())) == 1


def test_rows_that_come_days_late_are_compared_with_what_silver_has_there(lake):
    lake.batch(sent(("a", 0), ("b", 0)))
    lake.batch(sent(("x", 24 * 9), first=2))
    lake.start()
    assert lake.batch(sent(("y", 24 * 9), ("a", 0.9), ("a", 1.1), first=3)) == {"uno": 1}


def test_memory_is_bound_by_the_window_and_not_by_what_silver_has(lake):
    for day in range(40):
        rows = [(f"{day}-{number}", 24 * day + number / 500) for number in range(500)]
        lake.batch(sent(*rows, first=1000 * day))
    seen = lake.deduplication.seen
    assert len(lake.rows()) == 20_000
    assert seen.rows <= 16 * 500  # of the batches that slices are kept for
    assert seen.nbytes <= 40 * seen.rows


def test_a_row_without_a_key_or_a_time_is_no_duplicate(lake):
    def with_nulls(column):
        rows = silver_rows(sent(("a", 0), ("a", 0)))
        at = rows.schema.get_field_index(column)
        return rows.set_column(at, rows.schema.field(at), pa.nulls(2, rows.schema.field(at).type))

    log = log_of(lake.context.lake, TABLES[0])
    for column in ("event_id", "_kafka_timestamp"):
        file = DataFile(**write_file(log.store, with_nulls(column), log.folder))
        demuxed = Demuxed(written={TABLES[0]: Written(files=[file])}, outcomes={})
        with deduplicated(lake.deduplication, demuxed) as unique:
            assert unique.written[TABLES[0]].rows == 2


def test_whoever_adds_rows_meanwhile_they_are_compared_with(lake):
    lake.batch(sent(("a", 0)))
    foreign = silver_rows(sent(("f", 0), first=50))
    write_deltalake(lake.handle(TABLES[0]), foreign, mode="append")
    assert lake.batch(sent(("f", 0.5), first=1)) == {"uno": 1}


def test_keys_that_tasks_left_beside_their_files_are_used_and_go(lake, tmp_path, monkeypatch):
    lake.batch(sent(("a", 0)))
    lake.leave_keys_in(tmp_path / "keys")
    first = sent(("b", 0), ("a", 0.5), ("b", 0.5), first=1)
    with monkeypatch.context() as patched:
        patched.setattr(stored_keys, "_columns", None)  # nothing is read back
        assert lake.batch(first) == {"uno": 2}
    assert lake.batch(sent(("b", 0.9), ("c", 0), first=4)) == {"uno": 1}
    assert list((tmp_path / "keys").iterdir()) == []


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"")])
def test_where_they_are_missing_or_torn_the_files_are_read(lake, tmp_path, damage):
    lake.leave_keys_in(tmp_path / "keys")
    demuxed = lake.written(sent(("a", 0), ("a", 0.5), ("b", 0)))
    for path in (tmp_path / "keys").iterdir():
        damage(path)
    with deduplicated(lake.deduplication, demuxed) as unique:
        assert unique.duplicates == {"uno": 1}


def test_a_row_that_silver_has_no_more_is_nobodys_first(lake):
    lake.batch(sent(("a", 0), ("b", 0)))
    lake.handle(TABLES[0]).delete("event_id = 'a'")
    assert lake.batch(sent(("a", 0.5), ("b", 0.5), first=2)) == {"uno": 1}
    assert [row.key for row in lake.rows()] == ["b", "a"]


def test_a_table_that_was_restored_is_read_again(lake):
    lake.batch(sent(("a", 0)))
    before = lake.handle(TABLES[0]).version()
    lake.batch(sent(("b", 0), first=1))
    lake.handle(TABLES[0]).restore(before)
    lake.context.committer.accept_restores(lake.context.committer.opened([TABLES[0]]))
    assert lake.batch(sent(("b", 0.5), ("a", 0.5), first=2)) == {"uno": 1}


def test_a_batch_whose_commit_failed_is_compared_with_nothing_of_its_own(lake):
    rows = sent(("a", 0))
    with deduplicated(lake.deduplication, lake.written(rows)):
        pass  # and nobody commits it
    assert lake.batch(rows) == {}


def test_a_file_that_is_gone_fails_the_batch_and_leaves_nothing_of_it(lake):
    lake.batch(sent(("a", 0)))
    (path,) = lake.folder(TABLES[0]).glob("*.parquet")
    path.unlink()
    lake.start()
    with ExitStack() as stack, pytest.raises(LakeError, match="rebuild silver"):
        stack.enter_context(deduplicated(lake.deduplication, lake.written(sent(("b", 0)))))
    assert list(lake.folder(TABLES[0]).glob("*.parquet")) == []


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(12, 2)])
def test_a_key_stays_the_same_when_its_column_becomes_wider(settings, context, kind):
    lake = Lake(settings, context, pa.schema([("event_id", pa.int32()), ("coins", pa.int32())]))
    lake.batch(sent(("1", 0), ("2", 0)))
    lake.decoded = lake.decoded.set(0, pa.field("event_id", kind))
    schema = silver_schema(lake.decoded, ORIGIN)
    widen(context.committer, dict.fromkeys(TABLES, schema), {}, is_new=False)
    assert lake.batch(sent(("2", 0.5), ("3", 0.5), first=2)) == {"uno": 1}
    lake.start()
    assert lake.batch(sent(("1", 1), ("3", 1), first=4)) == {"uno": 2}


def redone(lake, rows, leaving):
    """A rebuild of rows: what leaves silver, of all tables or by table, and what comes."""
    given = leaving if isinstance(leaving, dict) else dict.fromkeys(TABLES, leaving)
    with unique_again(
        lake.deduplication, lake.written(rows), given, lake.journal, is_all=False
    ) as unique:
        found = [
            (table, row["_partition"], row["_offset"])
            for table, written in unique.written.items()
            if table != DUPLICATES
            for file in written.files
            for row in read_table(lake.folder(table) / file.path).to_pylist()
        ]
    return Counter(found)


@pytest.mark.parametrize("at_once", [10_000, 1])
def test_rows_derived_again_stay_as_they_were_though_others_have_their_turn_before(
    lake, monkeypatch, at_once
):
    monkeypatch.setattr(deduplicate_again, "_ROWS_AT_ONCE", at_once)
    late = sent(("a", 0.9), partition=1)
    early = sent(("a", 0), partition=0)
    lake.batch(late)
    lake.batch(early)
    assert lake.rows() == late
    everything = Range(ends={("t", 0): 10, ("t", 1): 10})
    assert redone(lake, [*early, *late], everything) == {(TABLES[0], 1, 0): 1}
    lake.handle(TABLES[0]).delete()  # nothing is there that could stay
    assert redone(lake, [*early, *late], everything) == {(TABLES[0], 0, 0): 1}


@pytest.mark.parametrize("at_once", [10_000, 1])
@pytest.mark.parametrize("key", ["a", None])
def test_a_row_is_no_duplicate_of_one_that_leaves_for_another_table_or_has_another_key(
    lake, monkeypatch, at_once, key
):
    """As a rebuild of one table's key has it after another route: all that is derived leaves."""
    monkeypatch.setattr(deduplicate_again, "_ROWS_AT_ONCE", at_once)
    (first, second) = sent(("a", 0), ("a", 0.5))
    lake.batch([replace(first, table=1), second])
    swapped = [replace(first, key=key), replace(second, table=1)]
    found = redone(lake, swapped, {TABLES[0]: None, TABLES[1]: Range(ends={("t", 0): 10})})
    assert found == {(TABLES[0], 0, 0): 1, (TABLES[1], 0, 1): 1}
    # The one that stays in its table gets another key, by which it may be in another part.
    for other in ("b", "c", "d", None):
        again = [replace(second, key=other), replace(first, table=0)]
        assert redone(lake, again, dict.fromkeys(TABLES)).total() == 2


def test_rows_that_a_requeue_brings_are_compared_with_silver_and_with_a_batch_cut_off(lake):
    lake.batch(sent(("a", 0)))
    cut_off = lake.written(sent(("b", 0), first=1))
    commits = [Commit(table=t, files=w.files) for t, w in cut_off.written.items()]
    lake.journal.write(Batch("test", lake.number + 1), commits)
    requeued = sent(("a", 0.5), ("b", 0.5), ("c", 0.5), first=2)
    assert redone(lake, requeued, Range(ends={})) == {(TABLES[0], 0, 4): 1}
    lake.commit(cut_off)
    lake.handle(TABLES[0]).delete("event_id = 'b'")
    # It was finished, and what became of its rows only the table knows.
    assert redone(lake, requeued, Range(ends={})).total() == 2


@pytest.mark.parametrize("at_once", [10_000, 5])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_derived_again_is_what_the_rule_says_table_by_table_and_part_by_part(
    lake, monkeypatch, seed, at_once
):
    monkeypatch.setattr(deduplicate_again, "_ROWS_AT_ONCE", at_once)
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    rows = [
        Sent(chance.choice("abcdef"), chance.randrange(9 * HOUR), at % 3, at, chance.randrange(2))
        for at in range(80)
    ]
    lake.batch(rows[:40])
    had = set(lake.rows())
    # The first twenty offsets are derived again, and others that come from elsewhere.
    again = [*rows[:20], *rows[60:]]
    stays = [row for row in had if row.offset >= 20]
    new = [replace(row, had=row in had) for row in again]
    kept = {replace(row, had=False) for row in kept_of(new, stays, HOUR)}
    everything = Range(ends={("t", partition): 20 for partition in range(3)})
    assert redone(lake, again, everything) == Counter(
        (TABLES[row.table], row.partition, row.offset) for row in kept
    )


@pytest.mark.parametrize("seed", with_long(range(12), long=range(3, 12)))
def test_whatever_happens_between_batches_silver_is_what_the_rule_says(lake, seed, tmp_path):
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    offsets, now = Counter(), 0
    every = []
    for _ in range(25):
        now += chance.randrange(0, HOUR)
        rows = []
        for _ in range(chance.randrange(1, 30)):
            partition = chance.randrange(3)
            late = chance.choice([0, 0, HOUR // 2, 30 * HOUR])
            key = chance.choice("abcdefghijklmnop")
            time = now - chance.randrange(late + 1)
            rows.append(Sent(key, time, partition, offsets[partition], chance.randrange(2)))
            offsets[partition] += 1
        stored = lake.rows()
        expected = [*stored, *kept_of(rows, stored, HOUR)]
        counted = lake.batch(rows)
        every += rows
        assert Counter(lake.rows()) == Counter(expected)
        assert sum(counted.values()) == len(rows) + len(stored) - len(expected)
        match chance.randrange(6):
            case 0:
                lake.start()
                if chance.random() < 0.5:
                    lake.leave_keys_in(tmp_path / "keys")
            case 1:
                lake.handle(TABLES[chance.randrange(2)]).optimize.compact()
            case 2:
                lake.handle(TABLES[chance.randrange(2)]).create_checkpoint()
    ensure_kept(lake.rows(), every, HOUR)
    gone = {(row["partition"], row["offset"]) for row in lake.read(DUPLICATES)}
    assert gone == {(r.partition, r.offset) for r in {*every} - {*lake.rows()}}


@pytest.mark.parametrize(
    ("key", "time", "fact"),
    [
        ("event", None, "names event, which silver has not. Columns are event_id, coins"),
        ("Event_ID", None, "names Event_ID, which silver has not. Write event_id"),
        ("owner", None, "owner is struct<.*>, and rows are told apart by plain values. .*owner.id"),
        ("event_id", "coins", "time is coins, which is int32. Name a timestamp"),
        ("event_id", "at", "names at, which silver has not"),
    ],
)
def test_columns_that_cannot_tell_are_refused_by_name(key, time, fact):
    owner = pa.field("owner", pa.struct([("id", pa.string())]))
    rule = Deduplicate(key=(key,), within=timedelta(hours=1), time=time)
    feed = FEED.model_copy(update={"deduplicate": rule})
    with pytest.raises(FeedError, match=f"deduplicate of feed 'games': {fact}"):
        ensure_deduplicable(feed, pa.schema([*DECODED, owner]))
