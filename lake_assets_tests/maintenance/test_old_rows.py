"""Rows that leave for their age, in tables as the streams write them."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.added_files import gained_between
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.increments import Point, next_increment
from lake_assets.delta.source_offsets import retained_offsets
from lake_assets.delta.table_log import log_of
from lake_assets.delta.window_position import WindowPosition
from lake_assets.maintenance.run import maintain
from lake_assets.model.gold_views import GoldView, Windows
from lake_assets.model.owners import Owner
from lake_assets.model.retention import LayerRetention, SilverRetention
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.silver.demux_position import POSITION, Position, batch_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.clock import wall_clock
from lake_assets_tests.maintenance.lakes import WrittenLake
from lake_assets_tests.sample import GAMES, gold_of, silver_of

DAY = timedelta(days=1)
NOW = datetime.now(UTC)
UNO, BRONZE, QUARANTINE = silver_of("uno"), bronze_of("games"), quarantine_of("games")
ORIGIN = GAMES.source.origin
TIME = pa.timestamp("us", tz="UTC")
_PLACE = [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
COLUMNS = {
    BRONZE: pa.schema([*_PLACE, (ORIGIN.time, TIME), ("ingested_at", TIME)]),
    QUARANTINE: pa.schema([*_PLACE, (ORIGIN.time, TIME), ("quarantined_at", TIME)]),
    UNO: pa.schema(
        [
            ("n", pa.int64()),
            ("happened", TIME),
            (ORIGIN.in_silver.time, TIME),
            ("text", pa.string()),
        ]
    ),
}


class AgedLake(WrittenLake):
    """Tables whose rows are so many days old."""

    def __init__(self, settings, feed):
        super().__init__(settings, feed)
        self.rows, self.offsets = 0, {}
        for table, columns in COLUMNS.items():
            key = "uno" if table == UNO else ""
            self.committer.create({table: columns}, owners={table: Owner(feed=feed, key=key)})

    def put(self, table, rows, *, info=None, batch=None):
        """One file, in one commit."""
        self.number += 1
        folder = log_of(self.store, table).folder
        content = pa.Table.from_pylist(rows, schema=COLUMNS[table])
        file = DataFile(**write_file(self.store, content, folder))
        commit = Commit(table=table, files=[file], info=info or {})
        self.committer.append([commit], batch or Batch("stream", self.number))
        self.committer.settle()

    def silver(self, *days, happened=None):
        """A file of rows of silver that came so many days ago."""
        rows = []
        for at, age in enumerate(days):
            self.rows += 1
            event = happened[at] if happened else age
            rows.append(
                {
                    "n": self.rows,
                    "happened": None if event is None else NOW - event * DAY,
                    ORIGIN.in_silver.time: NOW - age * DAY,
                    "text": "x",
                }
            )
        self.put(UNO, rows)

    def bronze(self, *days, partition=0, table=BRONZE, **options):
        rows = []
        for age in days:
            offset = self.offsets.get((table, partition), 0)
            self.offsets[(table, partition)] = offset + 1
            rows.append(
                {
                    "topic": "t",
                    "partition": partition,
                    "offset": offset,
                    ORIGIN.time: NOW - age * DAY,
                }
            )
        self.put(table, rows, **options)

    def reach(self, **offsets):
        """Demux has taken bronze's rows below these offsets, by partition."""
        reached = {("t", int(name[1:])): offset for name, offset in offsets.items()}
        position = Position(number=1, offsets=reached, bronze=Point(version=0))
        self.bronze(
            0, table=QUARANTINE, info={POSITION: position.to_json()}, batch=batch_of("games", 1)
        )

    def column(self, table, name="n"):
        return sorted(DeltaTable(self.path(table)).to_pyarrow_table()[name].to_pylist())


@pytest.fixture
def lake(settings):
    made = AgedLake(settings, "games")
    made.bronze(0)
    yield made
    made.committer.close()


def feed_with(**declared):
    return GAMES.model_copy(update=declared)


SILVER = feed_with(retention=SilverRetention(keep=90 * DAY))
BY_EVENT = feed_with(retention=SilverRetention(keep=90 * DAY, column="happened"))
OF_BRONZE = feed_with(bronze=LayerRetention(retention=90 * DAY))


def upkeep_of(settings, feed, table=UNO, **options):
    return next(u for u in maintain(settings, feed, **options) if u.table == table)


def test_rows_stay_for_ever_unless_an_age_is_declared(lake, settings):
    lake.silver(9000)
    assert upkeep_of(settings, GAMES).old_rows == 0
    assert lake.column(UNO) == [1]


def test_old_files_go_whole_and_unread(lake, settings):
    lake.silver(200, 100)
    lake.silver(89)
    gone = next(lake.path(UNO).glob("*.parquet"))
    old = DeltaTable(lake.path(UNO), version=1).file_uris()[0].rpartition("/")[2]
    (gone.parent / old).write_bytes(b"no parquet")
    assert upkeep_of(settings, SILVER).old_rows == 2
    assert lake.column(UNO) == [3]
    assert upkeep_of(settings, SILVER).old_rows == 0


def test_of_mixed_files_the_younger_rows_stay_in_a_new_one(lake, settings):
    lake.silver(200, 10, 92, 5)
    assert upkeep_of(settings, SILVER).old_rows == 2
    assert lake.column(UNO) == [2, 4]
    assert upkeep_of(settings, SILVER).old_rows == 0


def test_a_partition_stays_what_it_is(lake, settings):
    chess, day = silver_of("chess"), "2026-11-24"
    columns = COLUMNS[UNO].append(pa.field("day", pa.date32()))
    owner = Owner(feed="games", key="chess")
    lake.committer.create({chess: columns}, partition_by={chess: ["day"]}, owners={chess: owner})
    rows = [{"n": age, ORIGIN.in_silver.time: NOW - age * DAY} for age in (200, 2)]
    content = pa.Table.from_pylist(rows, schema=COLUMNS[UNO])
    written = write_file(lake.store, content, log_of(lake.store, chess).folder, f"day={day}")
    file = DataFile(**written, partition={"day": day})
    lake.committer.append([Commit(table=chess, files=[file])], Batch("stream", 1))
    assert upkeep_of(settings, SILVER, chess).old_rows == 1
    (left,) = DeltaTable(lake.path(chess)).to_pyarrow_table().to_pylist()
    assert (left["n"], left["day"]) == (2, date(2026, 11, 24))
    (file,) = active_files(DeltaTable(lake.path(chess)))
    assert file.path.startswith(f"day={day}/")


def test_a_mixed_file_is_left_while_its_rows_are_hardly_too_old(lake, settings):
    lake.silver(90.5, 10)
    version = DeltaTable(lake.path(UNO)).version()
    assert upkeep_of(settings, SILVER).old_rows == 0
    assert DeltaTable(lake.path(UNO)).version() == version


def test_events_go_by_their_own_time_and_by_arrival_where_they_have_none(lake, settings):
    lake.silver(1, 1, 200, 200, happened=[200, None, None, 3])
    assert upkeep_of(settings, BY_EVENT).old_rows == 2
    assert lake.column(UNO) == [2, 4]


@pytest.mark.parametrize(
    ("column", "notes"),
    [
        ("text", ["column 'text' is no timestamp, so rows go by when they came"]),
        ("of_other_tables", []),
    ],
)
def test_a_column_that_is_no_time_is_no_age(lake, settings, column, notes):
    lake.silver(200)
    feed = feed_with(retention=SilverRetention(keep=90 * DAY, column=column))
    done = upkeep_of(settings, feed)
    assert (done.old_rows, done.notes) == (1, notes)


def test_a_clock_that_is_set_ahead_makes_no_row_old(lake, settings):
    lake.silver(80)
    lake.silver(100)
    with wall_clock() as clock:
        clock.ahead += timedelta(days=365)
        assert upkeep_of(settings, SILVER).old_rows == 1
    assert lake.column(UNO) == [1]


def test_a_row_from_the_future_does_not_make_others_old_either(lake, settings):
    """A producer's clock is wrong, and then ours."""
    lake.put(BRONZE, [{ORIGIN.time: NOW + 3000 * DAY, "ingested_at": NOW - DAY}])
    lake.silver(80)
    lake.silver(100)
    with wall_clock() as clock:
        clock.ahead += timedelta(days=365)
        assert upkeep_of(settings, SILVER).old_rows == 1
    assert lake.column(UNO) == [1]


def test_without_bronze_nobody_knows_what_is_new(lake, settings):
    lake.silver(200)
    for path in (lake.path(BRONZE) / "_delta_log").iterdir():
        path.unlink()
    done = upkeep_of(settings, SILVER)
    assert (done.old_rows, done.notes) == (
        0,
        ["rows of any age stay: bronze does not tell how new its newest is"],
    )


def test_views_and_followers_see_nothing_come_or_leave(lake, settings):
    lake.silver(200, 1)
    lake.silver(200)
    log = log_of(lake.store, UNO)
    assert upkeep_of(settings, SILVER).old_rows == 2
    lake.silver(2)
    newest = DeltaTable(lake.path(UNO)).version()
    gained = gained_between(log, 2, newest)
    assert (gained.obstacle, [file.rows for file in gained.files]) == ("", [1])
    # Rows that left before anybody saw them are seen all the same.
    assert gained_between(log, 1, newest).rows == 2
    found = next_increment(
        log, [GAMES.source.named("t")], Point.at(log, 2), taken={}, max_bytes=1 << 30
    )
    assert [file.rows for file in found.files] == [1]


def test_a_dry_run_tells_and_changes_nothing(lake, settings):
    lake.silver(200)
    lake.silver(200, 1)
    done = upkeep_of(settings, SILVER, dry_run=True)
    assert (done.old_rows, done.notes) == (1, ["1 files with old rows are left to the next run"])
    assert lake.column(UNO) == [1, 2, 3]


def test_rewrites_are_bounded(lake, settings):
    lake.silver(200, 1)
    lake.silver(200, 1)
    short = settings.model_copy(update={"maintenance": MaintenanceSettings(run_gb=1e-9)})
    assert upkeep_of(short, SILVER).notes == ["1 files with old rows are left to the next run"]
    assert upkeep_of(short, SILVER).old_rows == 1
    assert lake.column(UNO) == [2, 4]


def test_files_of_many_days_leave_in_several_runs(lake, settings, monkeypatch):
    monkeypatch.setattr("lake_assets.maintenance.old_rows._MOST_FILES", 2)
    for _ in range(3):
        lake.silver(200)
    done = upkeep_of(settings, SILVER)
    assert (done.old_rows, done.notes) == (2, ["1 files with old rows are left to the next run"])
    assert upkeep_of(settings, SILVER).old_rows == 1


def test_an_append_only_table_keeps_its_rows_and_says_so(lake, settings):
    lake.silver(200)
    DeltaTable(lake.path(UNO)).alter.set_table_properties({"delta.appendOnly": "true"})
    done = upkeep_of(settings, SILVER)
    assert done.old_rows == 0
    assert "appendOnly" in done.notes[0]


def test_a_file_that_others_rewrite_meanwhile_is_left_to_them(lake, settings, monkeypatch):
    lake.silver(200, 1)
    real = LocalStore.sync

    def late(store, file):
        monkeypatch.undo()
        DeltaTable(lake.path(UNO)).delete("n = 2")
        real(store, file)

    monkeypatch.setattr(LocalStore, "sync", late)
    done = upkeep_of(settings, SILVER)
    assert done.notes == ["old rows were left: others changed their files meanwhile"]
    assert lake.column(UNO) == [1]


def test_rows_that_come_meanwhile_stay(lake, settings, monkeypatch):
    lake.silver(200, 1)
    real = LocalStore.sync

    def late(store, file):
        monkeypatch.undo()
        lake.silver(0)
        real(store, file)

    monkeypatch.setattr(LocalStore, "sync", late)
    assert upkeep_of(settings, SILVER).old_rows == 1
    assert lake.column(UNO) == [2, 3]


def test_files_are_joined_by_the_time_of_their_rows(lake, settings):
    for age in (80, 80, 3, 3, 3):
        lake.silver(age)
    upkeep = MaintenanceSettings(join_at_files=3)
    at_three = settings.model_copy(update={"maintenance": upkeep})
    assert upkeep_of(at_three, SILVER).into == 2
    files = active_files(DeltaTable(lake.path(UNO)))
    assert sorted(file.rows for file in files) == [2, 3]


def test_quarantine_goes_by_age_too(lake, settings):
    lake.bronze(40, 20, table=QUARANTINE)
    feed = feed_with(quarantine=LayerRetention(retention=30 * DAY))
    assert upkeep_of(settings, feed, QUARANTINE).old_rows == 1
    assert lake.column(QUARANTINE, "offset") == [1]


def test_bronze_loses_what_silver_has_and_records_where_it_begins(lake, settings):
    lake.bronze(200, 150, partition=1)
    lake.bronze(200, 1, partition=2)
    lake.bronze(200, 199, 198, partition=3)
    lake.reach(p0=1, p1=2, p2=2, p3=2)
    done = upkeep_of(settings, OF_BRONZE, BRONZE)
    assert done.old_rows == 3  # not those of a file that demux has not taken all of
    handle = DeltaTable(lake.path(BRONZE))
    places = [("t", number) for number in range(4)]
    assert retained_offsets(handle, "kafka", places) == {("t", 1): 2, ("t", 2): 1}
    left = handle.to_pyarrow_table().select(["partition", "offset"]).to_pylist()
    assert {(row["partition"], row["offset"]) for row in left} == {
        (0, 0),
        (2, 1),
        (3, 0),
        (3, 1),
        (3, 2),
    }


def test_bronze_keeps_everything_while_nothing_is_known_of_demux(lake, settings):
    lake.bronze(200)
    assert upkeep_of(settings, OF_BRONZE, BRONZE).old_rows == 0


def test_where_bronze_begins_does_not_go_back(lake, settings):
    """Times are the producers' own: an older offset may be of a younger row."""
    lake.bronze(80, partition=1)
    lake.bronze(200, partition=1)
    lake.reach(p0=1, p1=2)
    assert upkeep_of(settings, OF_BRONZE, BRONZE).old_rows == 1
    soon = feed_with(bronze=LayerRetention(retention=70 * DAY))
    assert upkeep_of(settings, soon, BRONZE).old_rows == 1
    handle = DeltaTable(lake.path(BRONZE))
    assert retained_offsets(handle, "kafka", [("t", 1)]) == {("t", 1): 2}


def test_files_that_are_older_than_a_column_go_by_arrival(lake, settings):
    folder = log_of(lake.store, UNO).folder
    for number, age in ((1, 200), (2, 1)):
        rows = [{"n": number, ORIGIN.in_silver.time: NOW - age * DAY}]
        schema = pa.schema([f for f in COLUMNS[UNO] if f.name not in {"happened", "text"}])
        file = DataFile(**write_file(lake.store, pa.Table.from_pylist(rows, schema=schema), folder))
        lake.number += 1
        lake.committer.append([Commit(table=UNO, files=[file])], Batch("stream", lake.number))
    lake.committer.settle()
    done = upkeep_of(settings, BY_EVENT)
    assert (done.old_rows, done.notes) == (1, [])
    assert lake.column(UNO) == [2]


def test_a_time_at_the_end_of_time_is_as_good_as_any(lake, settings):
    lake.put(UNO, [{"n": 1, "happened": datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)}])
    lake.silver(200)
    assert upkeep_of(settings, BY_EVENT).old_rows == 1
    assert lake.column(UNO) == [1]


@pytest.mark.parametrize("ms", [-1, 0])
def test_a_time_that_nobody_set_makes_no_row_old(lake, settings, ms):
    """Kafka has -1 where no client said one, clients have 0, and protobuf's zero is 1970."""
    unset = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    lake.reach(p0=10)
    for ages in ([1, 200], [200], [1]):  # by when we got it: Kafka does not tell
        rows = [
            {"topic": "t", "partition": 0, "offset": 1, ORIGIN.time: unset, "ingested_at": at}
            for at in (NOW - age * DAY for age in ages)
        ]
        lake.put(BRONZE, rows)
    assert upkeep_of(settings, OF_BRONZE, BRONZE).old_rows == 2
    lake.put(UNO, [{"n": 1, "happened": unset, ORIGIN.in_silver.time: NOW - DAY}])
    lake.put(UNO, [{"n": 2, "happened": unset, ORIGIN.in_silver.time: NOW - 200 * DAY}])
    lake.put(UNO, [{"n": 3, "happened": unset, ORIGIN.in_silver.time: unset}])
    upkeep_of(settings, BY_EVENT)
    assert lake.column(UNO) == [1, 3]


def test_a_source_that_tells_no_times_has_its_rows_by_arrival(settings):
    lake = AgedLake(settings, "games")
    unset = datetime(1970, 1, 1, tzinfo=UTC)
    for offset, age in enumerate((200, 1)):
        row = {"topic": "t", "partition": 0, "offset": offset, ORIGIN.time: unset}
        lake.put(BRONZE, [{**row, "ingested_at": NOW - age * DAY}])
    lake.reach(p0=10)
    assert upkeep_of(settings, OF_BRONZE, BRONZE).old_rows == 1
    assert lake.column(BRONZE, "offset") == [1]
    lake.committer.close()


def test_a_time_beyond_the_calendar_is_not_old_and_stops_nothing(lake, settings):
    """As of a producer that gives microseconds for Kafka's milliseconds."""
    far = pa.scalar(1_700_000_000_000_000_000, pa.int64()).cast(TIME)
    times = pa.chunked_array([pa.array([far, pa.scalar(NOW - 200 * DAY, TIME)], TIME)])
    rows = pa.table({"n": [1, 2], "happened": times, "text": ["x", "x"]})
    rows = rows.append_column(ORIGIN.in_silver.time, times).select(COLUMNS[UNO].names)
    file = DataFile(**write_file(lake.store, rows, log_of(lake.store, UNO).folder))
    lake.committer.append([Commit(table=UNO, files=[file])], Batch("stream", 1))
    lake.committer.settle()
    lake.silver(200)
    upkeep = upkeep_of(settings, BY_EVENT)
    assert (upkeep.notes, upkeep.old_rows) == ([], 2)
    assert lake.column(UNO) == [1]


HOURLY = GoldView(
    name="hourly",
    keys=("text",),
    measures={"n": "count(*)"},
    windows=Windows(time="happened", every="30d", watermark="1d"),
    schedule="@daily",
)
WINDOWED = feed_with(retention=SilverRetention(keep=90 * DAY), gold=(HOURLY,))


def close_windows(lake, until):
    """A refresh of the view: its windows are closed up to this time."""
    gold = gold_of("uno", "hourly")
    micros = None if until is None else round(until.timestamp() * 1_000_000)
    info = WindowPosition(until=micros).info
    if not (lake.path(gold) / "_delta_log").exists():
        owner = Owner(feed="games", key="uno", view="hourly")
        lake.committer.create({gold: COLUMNS[UNO]}, owners={gold: owner})
    lake.number += 1
    lake.committer.append([Commit(table=gold, files=[], info=info)], Batch("r", lake.number))
    lake.committer.settle()


@pytest.mark.parametrize("until", [None, NOW - 300 * DAY])
def test_rows_of_a_window_that_is_not_closed_stay_until_it_is(lake, settings, until):
    """Of a game that was quiet since, they come into the view with the next row only."""
    lake.silver(200, 190)
    lake.silver(200, happened=[400])
    close_windows(lake, until)
    assert upkeep_of(settings, WINDOWED).old_rows == (0 if until is None else 1)
    close_windows(lake, NOW - 195 * DAY)
    upkeep_of(settings, WINDOWED)
    assert lake.column(UNO) == [2]
    version = DeltaTable(lake.path(UNO)).version()
    upkeep_of(settings, WINDOWED)
    assert DeltaTable(lake.path(UNO)).version() == version
    close_windows(lake, NOW)
    assert upkeep_of(settings, WINDOWED).old_rows == 1


def test_a_row_without_a_time_is_in_no_window(lake, settings):
    lake.silver(200, 200, happened=[None, 200])
    close_windows(lake, NOW - 300 * DAY)
    lake.silver(200, happened=[None])
    assert upkeep_of(settings, WINDOWED).old_rows == 1
    assert lake.column(UNO) == [1, 2]


def test_a_view_that_nobody_refreshes_holds_nothing_up_for_longer_than_a_week(lake, settings):
    lake.silver(200)
    close_windows(lake, None)
    lake.age(UNO, 24 * 8)
    assert upkeep_of(settings, WINDOWED).old_rows == 1


def test_rows_grow_old_by_what_comes_from_any_feed_that_fills_the_table(settings):
    """The one that has the tables may be the one that is quiet."""
    lake, twin = AgedLake(settings, "games"), bronze_of("twin")
    lake.bronze(95)
    lake.silver(95, 1)
    assert upkeep_of(settings, SILVER).old_rows == 0
    lake.committer.create({twin: COLUMNS[BRONZE]}, owners={twin: Owner(feed="twin")})
    place = {"topic": "t", "partition": 0, "offset": 0}
    row = {**place, str(ORIGIN.time): NOW}
    rows = pa.Table.from_pylist([row], schema=COLUMNS[BRONZE])
    file = DataFile(**write_file(lake.store, rows, log_of(lake.store, twin).folder))
    lake.committer.append([Commit(table=twin, files=[file])], Batch("stream", 1))
    flow = GAMES.model_copy(update={"feed": "twin", "into": "games", "gold": ()})
    assert upkeep_of(settings, SILVER.beside([SILVER, flow])).old_rows == 1
    lake.committer.close()
