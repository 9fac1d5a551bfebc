"""What a rebuild reads of bronze, in a lake whose bronze is written without a broker."""

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.bronze.ingest import Ingest
from lake_assets.errors import FeedError, SettingsError, StreamError, StreamsLockedError
from lake_assets.maintenance.run import maintain
from lake_assets.model.owners import Owner
from lake_assets.model.retention import LayerRetention
from lake_assets.model.routes import Route, Unknown
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock
from lake_assets.streams.reprocess import rebuild, rebuild_silver
from lake_assets.streams.usable_tables import ensure_streamable
from lake_assets_tests.clock import wall_clock
from lake_assets_tests.columns import ORIGIN
from lake_assets_tests.events import AT, Topic, framed
from lake_assets_tests.known_topic import known_topic
from lake_assets_tests.sample import RENAMED, silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

COLUMNS = (
    "key binary, value binary, headers string, topic string, partition int, offset bigint, "
    "kafka_timestamp timestamp"
)


@pytest.fixture
def lake(spark, services, settings):
    return StreamedLake(spark, settings, Topic(services))


@pytest.fixture
def land(lake):
    """Lands the next row of each of some partitions, as ingest that was just started does."""
    value, ends = framed(lake.topic.register(0)), Counter()

    def go(*partitions, at=AT):
        topic, starts = lake.topic.name, dict(ends)
        rows = [(None, value, None, topic, number, ends[number], at) for number in partitions]
        ends.update(partitions)
        begins = dict.fromkeys(ends, 0)
        with open_lake(lake.settings) as context:
            source = known_topic(topic, begins, dict(ends))
            ingest = Ingest(feed=lake.feed, source=source, context=context, report=lambda _: None)
            ingest.prepare()
            until = {(topic, number): end for number, end in ends.items()}
            ingest(lake.spark.createDataFrame(rows, COLUMNS), until)
        return Counter((number, starts.get(number, 0)) for number in partitions)

    return go


def test_a_rebuild_since_begins_with_the_first_late_row_whatever_the_clock_said_after(lake, land):
    early, late = timedelta(), timedelta(hours=3)
    with wall_clock() as clock:
        places = Counter()
        # Of each partition; the last of them has no late row.
        for clock.ahead, partitions in (
            (early, (0, 1, 2)),
            (late, (0,)),
            (early, (0, 1, 2)),
            (late, (0, 1)),
        ):
            places += land(*partitions)
    lake.demux()
    since = datetime.now(UTC) + timedelta(hours=1)
    lake.rebuild(since=since)
    assert lake.silver == places
    DeltaTable(lake.folder(silver_of("uno"))).delete()
    lake.rebuild(since=since)
    assert lake.silver == Counter([(0, 1), (0, 2), (0, 3), (1, 2)])
    DeltaTable(lake.folder(silver_of("uno"))).delete()
    lake.rebuild(until=since)
    # To the last early row, whatever the clock said before it.
    early_ones = Counter([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1)])
    assert lake.silver == early_ones
    lake.rebuild(since=since, until=since + timedelta(hours=4))
    assert lake.silver == early_ones | Counter([(0, 1), (0, 2), (0, 3), (1, 2)])
    lake.rebuild()
    assert lake.silver == places


def test_a_rebuild_until_before_since_is_refused(lake):
    now = datetime.now(UTC)
    with pytest.raises(SettingsError, match="which is not after `since`"):
        rebuild_silver(lake.settings, lake.feed, lake.topic.endpoints, since=now, until=now)


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and no more"], ids=ascii)
def test_a_rebuild_derives_rows_again_whose_file_is_gone_or_torn(lake, land, content):
    """As a bad disk may leave one, of a commit that was whole when the lake was opened last."""
    places = land(0, 1)
    lake.demux()
    with open_lake(lake.settings):
        pass
    for path in lake.folder(silver_of("uno")).glob("*.parquet"):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    lake.rebuild()
    assert lake.silver == places
    places += land(0)
    lake.demux()
    assert lake.silver == places


@pytest.mark.slow
def test_a_topic_may_have_a_thousand_partitions(lake, land):
    places = land(*range(1000)) + land(0, 999)
    lake.demux()
    DeltaTable(lake.folder(silver_of("uno"))).delete("_partition < 500")
    lake.rebuild()
    assert lake.silver == places


def test_a_rebuild_moves_silver_to_the_names_it_has_now_and_nothing_is_lost_or_doubled(lake, land):
    places = land(0, 1, 2)
    lake.demux()
    moved = lake.topic.feed(tables=RENAMED.tables)
    uno, state_dir = moved.silver_table("uno"), lake.settings.state_dir
    with lake.redo(moved) as redo:
        with pytest.raises(FeedError, match="has silver_go_fish_events, which would be go_fish_in"):
            rebuild(redo, state_dir, keys=["uno"])
        with pytest.raises(FeedError, match="has silver_"):
            rebuild(redo, state_dir, since=datetime.now(UTC))
        with streams_lock(state_dir), pytest.raises(StreamsLockedError):
            rebuild(redo, state_dir)
        assert (lake.silver, lake.folder(uno).exists()) == (places, False)
        rebuild(redo, state_dir)
        ensure_streamable(redo.demux.context, moved)
    assert lake.places(uno) == places
    silver = sorted(path.name for path in lake.folder(uno).parent.iterdir())
    assert silver == ["go_fish_in_silver", "uno_in_silver"]
    places += land(0, 2)
    lake.demux(moved)
    assert lake.places(uno) == places


def test_silver_is_not_moved_while_bronze_lacks_rows_of_it(lake, land):
    places, bronze = land(0, 1), lake.folder(bronze_of("games"))
    copy = lake.keep(bronze)
    places += land(0, 2)
    lake.demux()
    lake.put_back(copy)
    moved = lake.topic.feed(tables=RENAMED.tables)
    for lost in ((), (quarantine_of("games"),)):
        for table in lost:
            shutil.rmtree(lake.folder(table))
        told = r"ends at [01] in partition [02] .*Put `tables` back\. Let the streams run first"
        with lake.redo(moved) as redo, pytest.raises(StreamError, match=told):
            rebuild(redo, lake.settings.state_dir)
        assert lake.silver == places
        assert not lake.folder(moved.silver_table("uno")).exists()


def test_a_key_that_bronze_gives_no_row_any_more_moves_empty(lake, land):
    places, creates = land(0), Route(column="game_name", unknown=Unknown.CREATE)
    lake.demux()
    chess = {silver_of("chess"): Owner(feed="games", key="chess")}
    with open_lake(lake.settings) as context:
        context.committer.create(dict.fromkeys(chess, ORIGIN), owners=chess)
    moved = lake.topic.feed(tables=RENAMED.tables, route=creates)
    with lake.redo(moved) as redo:
        rebuild(redo, lake.settings.state_dir)
        ensure_streamable(redo.demux.context, moved)
    assert lake.places(moved.silver_table("uno")) == places
    assert not lake.places(moved.silver_table("chess"))
    assert not lake.folder(silver_of("chess")).exists()


def test_silver_goes_back_to_the_names_of_before_as_it_moved(lake, land):
    places = land(0, 1)
    lake.demux()
    moved = lake.topic.feed(tables=RENAMED.tables)
    with lake.redo(moved) as redo:
        rebuild(redo, lake.settings.state_dir)
    places += land(1)
    lake.demux(moved)
    with lake.redo() as redo:
        rebuild(redo, lake.settings.state_dir)
    places += land(0)
    lake.demux()
    assert lake.silver == places
    assert not lake.folder(moved.silver_table("uno")).exists()


def test_a_rebuild_goes_on_where_the_one_that_renamed_was_cut_off(lake, land, monkeypatch):
    places = land(0, 1)
    lake.demux()
    moved = lake.topic.feed(tables=RENAMED.tables)

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, lake.redo(moved) as redo:
        patched.setattr("lake_assets.streams.rebuild_all.drop_superseded", die)
        with pytest.raises(KeyboardInterrupt):
            rebuild(redo, lake.settings.state_dir)
    with lake.redo(moved) as redo:
        with pytest.raises(FeedError, match="which would be go_fish_in_silver"):
            ensure_streamable(redo.demux.context, moved)
        rebuild(redo, lake.settings.state_dir)
        ensure_streamable(redo.demux.context, moved)
    assert lake.places(moved.silver_table("uno")) == places
    assert not lake.folder(silver_of("uno")).exists()


def test_a_feed_without_a_route_streams_and_is_rebuilt(lake, land):
    places = land(0, 1)
    feed = lake.topic.feed(route=None, expectations=())
    lake.demux(feed)
    table = feed.silver_table("games")
    assert lake.places(table) == places
    DeltaTable(lake.folder(table)).delete("_partition = 0")
    with lake.redo(feed) as redo:
        rebuild(redo, lake.settings.state_dir, keys=["games"])
    assert lake.places(table) == places
    places += land(1)
    lake.demux(feed)
    assert lake.places(table) == places


@pytest.fixture
def aged(lake, land):
    """A lake whose bronze has lost rows for their age, and the places of all rows there were."""
    now = datetime.now(UTC)
    places = land(0, 1, 2, at=now - timedelta(days=200))
    places += land(0, 1, at=now - timedelta(days=100))
    places += land(0, 2, at=now)
    lake.demux()
    feed = lake.feed.model_copy(update={"bronze": LayerRetention(retention=timedelta(days=90))})
    done = {upkeep.table: upkeep for upkeep in maintain(lake.settings, feed)}
    assert done[bronze_of("games")].old_rows == 5
    assert lake.bronze == Counter([(0, 2), (2, 1)])
    return places


def test_a_rebuild_leaves_what_bronze_no_longer_has(lake, aged, land):
    assert lake.silver == aged
    DeltaTable(lake.folder(silver_of("uno"))).delete("_offset = 2")
    lake.rebuild()
    assert lake.silver == aged
    places = aged + land(1)
    lake.demux()
    lake.rebuild(since=datetime.now(UTC) - timedelta(days=1))
    lake.rebuild(keys=["uno"])
    assert lake.silver == places


def test_a_rebuild_leaves_it_in_whatever_order_rows_grew_old(lake, land):
    """Times are the producers' own."""
    now = datetime.now(UTC)
    places = sum((land(0, at=now - timedelta(days=age)) for age in (80, 200, 0)), Counter())
    lake.demux()
    for days in (90, 70):
        bronze = LayerRetention(retention=timedelta(days=days))
        maintain(lake.settings, lake.feed.model_copy(update={"bronze": bronze}))
    assert lake.bronze == Counter([(0, 2)])
    lake.rebuild()
    assert lake.silver == places


def test_a_rebuild_that_repairs_leaves_it_too(lake, aged):
    lake.forget_transactions(quarantine_of("games"))
    lake.rebuild()
    assert lake.silver == aged
    lake.demux()
    assert lake.silver == aged
