"""Partitioned silver on its whole way: streams, gold, requeue, maintenance, rebuild, readers."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from importlib import import_module
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from lake_assets.backup.create import back_up
from lake_assets.backup.progress import Progress
from lake_assets.delta.data_files import active_files
from lake_assets.errors import LakeError, PartitionsExceededError, StreamError, StreamsLockedError
from lake_assets.gold.run import Warm
from lake_assets.maintenance.run import maintain
from lake_assets.model.layouts import Layout
from lake_assets.model.reports import Mode
from lake_assets.model.retention import SilverRetention
from lake_assets.model.routes import Route
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.silver.lay_out_tables import lay_out_tables
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock
from lake_assets.streams.refresh import refresh_gold
from lake_assets_tests.backup.lakes import place_at, restored
from lake_assets_tests.e2e.dying import EACH_POINT, KilledError, doomed
from lake_assets_tests.events import AT, Topic, framed
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.sample import gold_of, silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

UNO, GO_FISH = silver_of("uno"), silver_of("go_fish")

KEYS = ("uno", "go_fish")

BY_DAY = {"day": "date(event_timestamp)"}
BY_BOTH = {**BY_DAY, "device_id": "device_id"}

ODD = ("a/b", "x=y", "50%", "Süd 東京", " ", "a\\b", "q'\"q", "{x}", "#h", "+p", "d" * 300)
"""Values that are no folder's name."""


@pytest.fixture
def lake(spark, services, settings):
    return StreamedLake(spark, settings, Topic(services))


@pytest.fixture
def known(lake):
    return lake.topic.register(0)


def on(days, **event):
    """An event of some days later."""
    return {"at": AT + timedelta(days=days), **event}


def table_of(lake, table=UNO):
    return DeltaTable(lake.folder(table))


def partitions_by(lake, table):
    return table_of(lake, table).metadata().partition_columns


def partitions(lake, table=UNO):
    return sorted(str(tuple(f.partition.values())) for f in active_files(table_of(lake, table)))


@pytest.fixture
def refresh(lake):
    def go(feed):
        with open_lake(lake.settings, lake.spark) as context:
            warm = Warm(session=lake.spark, context=context)
            done = refresh_gold(lake.settings, feed, warm=warm)
        return {one.key: one.mode for report in done.reports for one in report.refreshed}

    return go


def gold(lake, key="uno"):
    rows = DeltaTable(lake.folder(gold_of(key, "player_agg"))).to_pyarrow_table().to_pylist()
    return {row["gamer_id"]: row["session_count"] for row in rows}


def at_once(lake, **more):
    upkeep = MaintenanceSettings(keep_hours=1e-9, join_at_files=2, **more)
    return lake.settings.model_copy(update={"maintenance": upkeep})


@pytest.mark.parametrize(
    "in_one_job", with_long([True, False], long=[False]), ids=["one job", "two jobs"]
)
def test_rows_lie_in_partitions_and_every_reader_finds_and_skips_them(
    lake, known, spark, in_one_job
):
    feed = lake.topic.feed(partition_by=BY_BOTH)
    events = [on(i % 3, device=value) for i, value in enumerate(ODD)] + [on(0, device="")]
    events += [{"at": None, "device": "x=y"}, {"at": datetime(1969, 12, 31, 23, tzinfo=UTC)}]
    lake.topic.produce(*(framed(known, **event) for event in events))
    (lake.stream_in_one_job if in_one_job else lake.stream)(feed)
    handle = table_of(lake)
    assert handle.metadata().partition_columns == ["day", "device_id"]
    assert {path.name for path in lake.folder(UNO).iterdir() if path.is_dir()} == {"_delta_log"}
    expected = Counter(
        (event["at"] and event["at"].date(), event.get("device", "d1") or None) for event in events
    )

    def seen(rows):
        return Counter((row["day"], row["device_id"]) for row in rows)

    dataset = handle.to_pyarrow_dataset()
    assert seen(dataset.to_table().to_pylist()) == expected
    delta = spark.read.format("delta").load(str(lake.folder(UNO)))
    assert seen(delta.collect()) == expected
    query = QueryBuilder().register("t", handle)
    assert seen(pa.table(query.execute("select * from t").read_all()).to_pylist()) == expected
    for condition, rows in [
        ("device_id = 'a/b'", 1),
        ("device_id = 'x=y' and day is null", 1),
        ("device_id is null", 1),
        ("day < date '1970-01-01'", 1),
        ("day = date '2026-11-22'", 4),
    ]:
        found = delta.where(condition)
        assert (condition, found.count()) == (condition, rows)
        assert len(found.inputFiles()) == rows  # each file has one row, and no other is opened
        sql = f"select * from t where {condition}"  # noqa: S608 - the test's own
        assert pa.table(query.execute(sql).read_all()).num_rows == rows
        sql = f"select * from dataset where {condition}"  # noqa: S608 - the test's own
        assert len(duckdb.sql(sql).fetchall()) == rows
    # What goes by a file alone finds the same.
    of_files = [
        row for uri in handle.file_uris() for row in pq.read_table(unquote(uri)).to_pylist()
    ]
    assert seen(of_files) == expected


def test_keys_have_layouts_of_their_own(lake, known):
    layouts = {"go_fish": Layout(partition_by=["device_id"])}
    feed = lake.topic.feed(partition_by=BY_DAY, layouts=layouts)
    lake.topic.produce(*(framed(known, key, **on(i)) for i in (0, 1) for key in ("uno", "go_fish")))
    lake.stream_in_one_job(feed)
    assert partitions(lake) == ["('2026-11-21',)", "('2026-11-22',)"]
    assert partitions(lake, GO_FISH) == ["('d1',)"]
    assert "day" not in table_of(lake, GO_FISH).to_pyarrow_table().column_names


def test_a_new_column_comes_to_a_partitioned_table(lake, known):
    feed = lake.topic.feed(partition_by=BY_DAY)
    lake.topic.produce(framed(known, **on(0)))
    lake.stream(feed)
    newer = lake.topic.register(1)
    lake.topic.produce(framed(known, **on(0)), framed(newer, version=1, **on(1)))
    lake.stream(feed)
    rows = table_of(lake).to_pyarrow_table().to_pylist()
    assert Counter((str(row["day"]), row["col_custom_1"]) for row in rows) == {
        ("2026-11-21", None): 2,
        ("2026-11-22", "custom 1"): 1,
    }


def test_a_column_that_older_messages_lack_partitions_them_as_null(lake, known):
    newer = lake.topic.register(1)
    feed = lake.topic.feed(partition_by={"col_custom_1": "col_custom_1"})
    lake.topic.produce(framed(known), framed(newer, version=1))
    lake.stream(feed)
    assert partitions(lake) == ["('custom 1',)", "(None,)"]


@pytest.mark.parametrize("point", EACH_POINT)
def test_a_batch_that_is_cut_off_is_there_once(lake, known, point):
    feed = lake.topic.feed(partition_by=BY_DAY)
    places = lake.topic.produce(
        *(framed(known, key, **on(i)) for i in range(4) for key in ("uno", "go_fish"))
    )
    lake.ingest(feed)
    lake.kind = doomed(point)
    with pytest.raises(KilledError):
        lake.demux(feed)
    lake.kind = None
    lake.demux(feed)
    assert lake.silver == Counter(places)
    assert len(partitions(lake)) == 4


def test_gold_is_merged_from_partitioned_silver_and_all_engines_may_write_it(lake, known, refresh):
    feed = lake.topic.feed(partition_by=BY_BOTH)
    lake.topic.produce(*(framed(known, gamer=g, **on(i)) for i, g in enumerate("aab")))
    lake.stream(feed)
    assert refresh(feed)["uno"] is Mode.FULL
    lake.topic.produce(*(framed(known, gamer=g, **on(i)) for i, g in enumerate("bbc")))
    lake.stream(feed)
    assert refresh(feed)["uno"] is Mode.INCREMENTAL
    assert gold(lake) == {"a": 2, "b": 3, "c": 1}
    # Files of others may lack the partition columns: then Delta's own reader knows them.
    rows = table_of(lake).to_pyarrow_table().slice(0, 1)
    offset = rows.schema.get_field_index("_offset")
    rows = rows.set_column(offset, "_offset", pa.array([99], pa.int64()))
    write_deltalake(lake.folder(UNO), rows, mode="append")
    (theirs,) = [f for f in active_files(table_of(lake)) if not f.has_all_columns]
    assert "device_id" not in pq.read_schema(lake.folder(UNO) / theirs.path).names
    assert refresh(feed)["uno"] is Mode.FULL
    assert sum(gold(lake).values()) == 7
    maintain(at_once(lake), feed)
    assert all(file.has_all_columns for file in active_files(table_of(lake)))
    assert Counter(row["device_id"] for row in table_of(lake).to_pyarrow_table().to_pylist()) == {
        "d1": 7
    }


def test_files_are_joined_within_a_partition_and_old_partitions_leave_whole(lake, known):
    feed = lake.topic.feed(partition_by=BY_DAY, cluster_by=("gamer_id",))
    now = datetime.now(UTC)
    for gamer in "cab":
        lake.topic.produce(
            *(framed(known, gamer=gamer, at=now - timedelta(days=2 * i)) for i in range(4))
        )
        lake.stream(feed)
    assert len(partitions(lake)) == 12
    maintain(at_once(lake), feed)
    assert len(partitions(lake)) == 4
    for file in active_files(table_of(lake)):
        rows = pq.read_table(lake.folder(UNO) / file.path)
        assert rows["gamer_id"].to_pylist() == ["a", "b", "c"]
        assert {str(day) for day in rows["day"].to_pylist()} == {file.partition["day"]}
    # By the feed's newest row in bronze, which has another time than its event.
    kept = SilverRetention(column="event_timestamp", keep="36h")
    rows_by_file = {file.path for file in active_files(table_of(lake))}
    aging = feed.model_copy(update={"retention": kept})
    done = {one.table: one for one in maintain(at_once(lake), aging)}
    left = table_of(lake).to_pyarrow_table()
    assert done[UNO].old_rows == 12 - left.num_rows > 0
    # No file was written anew: a partition of old rows leaves as it is.
    assert {file.path for file in active_files(table_of(lake))} < rows_by_file


def test_quarantined_rows_are_requeued_into_partitions(lake, known):
    places = lake.topic.produce(*(framed(known, "chess", **on(i)) for i in range(2)))
    feed = lake.topic.feed(partition_by=BY_DAY)
    lake.stream(feed)
    assert lake.quarantine == Counter(places)
    route = Route(column="game_name", keys=("uno", "go_fish", "chess"))
    with lake.redo(lake.topic.feed(partition_by=BY_DAY, route=route)) as redo:
        assert redo.requeue().rows == {silver_of("chess").name: 2}
    assert partitions(lake, silver_of("chess")) == ["('2026-11-21',)", "('2026-11-22',)"]
    assert lake.quarantine == Counter()


def test_another_layout_is_refused_until_silver_is_rebuilt_and_loses_nothing(lake, known, refresh):
    plain, split = lake.topic.feed(), lake.topic.feed(partition_by=BY_DAY)
    places = lake.topic.produce(*(framed(known, gamer="a", **on(i)) for i in range(3)), b"bad")
    lake.stream(plain)
    refresh(plain)
    places += lake.topic.produce(framed(known, gamer="a", **on(0)))
    good = Counter(places) - lake.quarantine
    version = lake.version(UNO)
    for stream in (lake.stream, lake.stream_in_one_job):
        with pytest.raises(LakeError, match="is partitioned by nothing, and the feed says day"):
            stream(split)
    assert lake.version(UNO) == version
    with lake.redo(split) as redo:
        with streams_lock(lake.settings.state_dir), pytest.raises(StreamsLockedError):
            lake.rebuild_with(redo)
        lake.rebuild_with(redo)
    lake.stream(split)
    assert lake.silver == good
    assert partitions(lake)[-1] == "('2026-11-23',)"
    refresh(split)
    assert gold(lake) == {"a": 4}


@pytest.mark.long
def test_a_batch_that_was_cut_off_before_the_layout_changed_is_there_once(lake, known):
    plain, split = lake.topic.feed(), lake.topic.feed(partition_by=BY_DAY)
    places = lake.topic.produce(framed(known, **on(0)), framed(known, "go_fish", **on(1)))
    lake.stream(plain)
    places += lake.topic.produce(framed(known, **on(1)), framed(known, "go_fish", **on(2)))
    lake.ingest(plain)
    lake.kind = doomed("half")
    with pytest.raises(KilledError):
        lake.demux(plain)
    lake.kind = None
    with lake.redo(split) as redo:
        lake.rebuild_with(redo)
    lake.stream(split)
    assert lake.silver == Counter(places)
    assert len(partitions(lake)) == 2


def dying(patched, target, *, after):
    """Has a function end its process the next time, before or after so many calls of it."""
    module, _, name = target.rpartition(".")
    go, left = getattr(import_module(module), name), [after]

    def die(*given, **named):
        if not left[0]:
            raise KilledError
        left[0] -= 1
        return go(*given, **named)

    patched.setattr(target, die)


@pytest.mark.long
def test_a_rebuild_that_is_killed_between_two_tables_goes_on(lake, known, monkeypatch):
    """Until it does the streams refuse by name what is laid out otherwise, whatever they want."""
    plain, split = lake.topic.feed(), lake.topic.feed(partition_by=BY_DAY)
    places = lake.topic.produce(*(framed(known, k, **on(i)) for i in (0, 1) for k in KEYS), b"bad")
    lake.stream(plain)
    places += lake.topic.produce(*(framed(known, k, **on(2)) for k in KEYS))
    bad = lake.quarantine
    with monkeypatch.context() as patched, lake.redo(split) as redo:
        dying(patched, "lake_assets.silver.lay_out_tables.lay_out", after=1)
        with pytest.raises(KilledError):
            lake.rebuild_with(redo)
    tables = {table: bool(partitions_by(lake, table)) for table in (UNO, GO_FISH)}
    assert sorted(tables.values()) == [False, True]
    for feed, refused in ((split, False), (plain, True)):
        (table,) = [table for table, is_split in tables.items() if is_split == refused]
        for stream in (lake.stream, lake.stream_in_one_job):
            with pytest.raises(LakeError, match=f"^{table.name}: is partitioned by"):
                stream(feed)
    with lake.redo(split) as redo:
        lake.rebuild_with(redo)
    lake.stream(split)
    assert lake.silver + lake.quarantine == Counter(places)
    assert lake.quarantine == bad
    assert [partitions_by(lake, table) for table in tables] == [["day"], ["day"]]


@pytest.mark.long
def test_a_restored_table_is_laid_out_and_derived_again_also_if_that_is_killed(
    lake, known, monkeypatch
):
    plain, split = lake.topic.feed(), lake.topic.feed(partition_by=BY_DAY)
    places = lake.topic.produce(*(framed(known, **on(i)) for i in range(2)))
    lake.stream(plain)
    version = lake.version(UNO)
    places += lake.topic.produce(*(framed(known, **on(i)) for i in range(3)))
    lake.stream(plain)
    table_of(lake).restore(version)
    with monkeypatch.context() as patched, lake.redo(split) as redo:
        dying(patched, "lake_assets.streams.reprocess.from_nothing", after=0)
        with pytest.raises(KilledError):
            lake.rebuild_with(redo)
    assert partitions_by(lake, UNO) == ["day"]
    assert lake.silver.total() == 2
    places += lake.topic.produce(framed(known, **on(5)))
    for stream in (lake.stream, lake.stream_in_one_job):
        with pytest.raises(StreamError, match=r"put back to an older version \(RESTORE\)"):
            stream(split)
    with lake.redo(split) as redo:
        lake.rebuild_with(redo)
    lake.stream(split)
    assert lake.silver == Counter(places)


@pytest.mark.long
def test_a_requeue_that_was_cut_off_before_the_layout_changed_is_there_once(
    lake, known, monkeypatch
):
    games = Route(column="game_name", keys=("uno", "go_fish", "chess"))
    plain, split = lake.topic.feed(), lake.topic.feed(partition_by=BY_DAY, route=games)
    places = lake.topic.produce(*(framed(known, k, **on(1)) for k in (*KEYS, "chess")))
    lake.stream(plain)
    more = lake.topic.feed(route=games)
    with monkeypatch.context() as patched, lake.redo(more) as redo:
        dying(patched, "lake_assets.delta.multi_table_change._apply", after=1)
        with pytest.raises(KilledError):
            redo.requeue()
    with lake.redo(split) as redo:
        lake.rebuild_with(redo)
    places += lake.topic.produce(framed(known, "chess", **on(2)))
    lake.stream(split)
    assert lake.silver + lake.places(silver_of("chess")) == Counter(places)
    assert lake.quarantine == Counter()


@pytest.mark.long
def test_a_batch_of_a_layout_that_nobody_has_any_more_runs_again(lake, known):
    """Its journal was kept, and its tables were laid out as if it was not there."""
    plain, split = lake.topic.feed(), lake.topic.feed(partition_by=BY_DAY)
    places = lake.topic.produce(*(framed(known, k, **on(0)) for k in KEYS))
    lake.stream(plain)
    places += lake.topic.produce(*(framed(known, k, **on(1)) for k in KEYS))
    lake.ingest(plain)
    lake.kind = doomed("half")
    with pytest.raises(KilledError):
        lake.demux(plain)
    lake.kind = None
    with lake.redo(split) as redo:
        lay_out_tables(redo.demux, lake.settings.state_dir, None)
    lake.stream(split)
    assert lake.silver == Counter(places)
    assert [partitions_by(lake, table) for table in (UNO, GO_FISH)] == [["day"], ["day"]]


@pytest.mark.long
def test_a_partitioned_lake_goes_on_from_a_backup(lake, known, refresh, tmp_path):
    feed = lake.topic.feed(partition_by=BY_BOTH)
    places = lake.topic.produce(*(framed(known, device=v, **on(i % 3)) for i, v in enumerate(ODD)))
    lake.stream(feed)
    refresh(feed)
    back_up(lake.settings, place_at(tmp_path / "place"), Progress())
    before = partitions(lake)
    settings = lake.settings.model_copy(update={"home": tmp_path / "elsewhere"})
    copy = StreamedLake(lake.spark, settings, lake.topic)
    restored(settings, tmp_path / "place")
    assert partitions(copy) == before
    assert copy.silver == Counter(places)
    places += lake.topic.produce(*(framed(known, device=v, **on(7)) for v in ODD))
    copy.stream(feed)
    assert copy.silver == Counter(places)
    maintain(at_once(copy), feed)
    with copy.redo(lake.topic.feed()) as redo:
        copy.rebuild_with(redo)
    assert copy.silver == Counter(places)
    assert partitions_by(copy, UNO) == []
    # The lake itself went on by the layout that it has.
    lake.stream(feed)
    assert lake.silver == Counter(places)


def test_a_layout_needs_nothing_of_bronze(lake, known):
    """Rows that bronze let go for their age are laid out with the others, and stay."""
    plain, split = lake.topic.feed(), lake.topic.feed(partition_by=BY_DAY)
    places = lake.topic.produce(*(framed(known, **on(i)) for i in range(3)))
    lake.stream(plain)
    with lake.redo(split) as redo:
        assert {*lay_out_tables(redo.demux, lake.settings.state_dir, None)} == {UNO, GO_FISH}
        assert lay_out_tables(redo.demux, lake.settings.state_dir, None) == []
    assert lake.silver == Counter(places)
    assert len(partitions(lake)) == 3
    lake.stream(split)


def test_rows_of_too_many_partitions_are_refused_and_leave_nothing(lake, known, monkeypatch):
    monkeypatch.setattr("lake_assets.silver.many_partitions.MOST", 20)
    monkeypatch.setattr("lake_assets.silver.many_partitions.MANY", 10)
    feed = lake.topic.feed(partition_by={"gamer_id": "gamer_id"})
    lake.topic.produce(*(framed(known, gamer=f"g{i}") for i in range(15)))
    lake.stream_in_one_job(feed)
    assert len(partitions(lake)) == 15
    places = lake.topic.produce(*(framed(known, gamer=f"g{i}") for i in range(21)))
    for stream in (lake.stream_in_one_job, lake.stream):
        with pytest.raises(PartitionsExceededError, match="get 21 files of one batch, since that"):
            stream(feed)
    names = {path.name for path in lake.folder(UNO).glob("*.parquet")}
    assert len(names) == 15
    assert sum(lake.bronze.values()) == 15 + len(places)
