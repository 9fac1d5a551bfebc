"""Streams beside who erases: no batch of before is committed after, nothing erased comes back."""

import shutil
import threading
from dataclasses import replace
from functools import partial

import pytest
from deltalake import DeltaTable

from lake_assets.delta.committer import Committer
from lake_assets.errors import LakeError
from lake_assets.model.flows import filling
from lake_assets.model.tables import Layer, bronze_of, erased_of
from lake_assets.state.erasing_fence import while_none_is_planned, while_planned
from lake_assets.streams.bronze_ranges import apart_of
from lake_assets.streams.erasures import pass_fence
from lake_assets.streams.noted_changes import reprocess_journal
from lake_assets.streams.pipeline import demux_journal
from lake_assets_tests.e2e.dying import POINTS, KilledError, doomed
from lake_assets_tests.erasures import note
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

LONG_S = 30

ERASED = erased_of("games")


@pytest.fixture
def lake(spark, services, settings):
    return StreamedLake(spark, settings, Topic(services))


def erase(lake, *gamers, spans=None, feed="games", **more):
    """Note an erasure, and where its rows were."""
    with lake.pipeline() as pipeline:
        if spans:
            pipeline.context.erasures.record(feed, "one", spans)
        return note(pipeline.context, "gamer_id", *gamers, feed=feed, **more)


def passed(lake, feed=None):
    with lake.pipeline() as pipeline:
        pass_fence(pipeline.context, lake.settings, feed or lake.feed)


def forget_all_but_erasures(lake):
    """As a lake that begins anew, and goes by the erasures of before."""
    for layer in Layer:
        shutil.rmtree(lake.settings.lake_dir / layer.value, ignore_errors=True)
    demux_journal(lake.settings.state_dir, lake.feed).forget()


def spans_of(lake, *places):
    """Where rows are, as who erases notes it."""
    spans = {}
    for partition, offset in places:
        spans.setdefault((lake.topic.name, partition), []).append((offset, offset + 1))
    return spans


WAYS = [StreamedLake.stream, StreamedLake.stream_in_one_job]


@pytest.mark.parametrize("way", WAYS)
def test_what_was_erased_and_is_read_again_comes_into_no_table(lake, way):
    known = lake.topic.register(0)
    ann, bob = framed(known, gamer="ann"), framed(known, gamer="bob")
    places = lake.topic.produce(ann, bob, ann, b"bad", bob)
    way(lake)
    assert sorted(lake.bronze.elements()) == sorted(places)
    erase(lake, "ann", spans=spans_of(lake, places[0], places[2]))
    forget_all_but_erasures(lake)
    way(lake)
    kept = sorted({*places} - {places[0], places[2]})
    assert sorted(lake.bronze.elements()) == kept
    assert sorted((lake.silver + lake.quarantine).elements()) == kept
    assert not lake.places(ERASED)
    (more,) = lake.topic.produce(bob)
    way(lake)  # behind the hole as ever
    assert lake.silver[more] == 1


def test_a_batch_of_erased_rows_alone_is_passed(lake):
    known = lake.topic.register(0)
    ann, bob = framed(known, gamer="ann"), framed(known, gamer="bob")
    erased = lake.topic.produce(ann, ann)
    erase(lake, "ann", spans=spans_of(lake, *erased))
    lake.stream_in_one_job()
    assert not lake.bronze
    places = lake.topic.produce(bob)
    lake.stream_in_one_job()
    assert sorted(lake.silver.elements()) == sorted(lake.bronze.elements()) == places


@pytest.mark.parametrize("way", WAYS)
def test_later_rows_are_told_by_their_value(lake, way):
    known = lake.topic.register(0)
    erase(lake, "ann")
    places = lake.topic.produce(*[framed(known, gamer=who) for who in ("ann", "bob")])
    way(lake)
    assert sorted(lake.bronze.elements()) == places
    assert sorted(lake.silver.elements()) == places[1:]
    assert sorted(lake.places(ERASED).elements()) == places[:1]


class Held(Committer):
    """A committer that is about to commit rows until somebody lets it."""

    begun: threading.Event
    goes_on: threading.Event

    def append(self, commits, batch):
        if any(c.table.layer is Layer.SILVER and c.files for c in commits):
            self.begun.set()
            assert self.goes_on.wait(LONG_S)
        return super().append(commits, batch)


def test_who_erases_waits_for_a_batch_that_was_planned_before(lake):
    known = lake.topic.register(0)
    first = lake.topic.produce(framed(known, gamer="ann"))
    lake.ingest()
    events = {"begun": threading.Event(), "goes_on": threading.Event()}
    living = replace(lake, kind=type("HeldHere", (Held,), events))
    told = []

    def demux():
        with (
            living.following() as follower,
            while_planned(lake.settings.state_dir, "games"),
        ):
            follower.drain()

    def erasing():
        passed(lake)
        told.append(sorted(lake.silver.elements()))

    threads = [threading.Thread(target=one) for one in (demux, erasing)]
    threads[0].start()
    assert events["begun"].wait(LONG_S)
    erase(lake, "ann")
    threads[1].start()
    threads[1].join(0.5)
    assert threads[1].is_alive()
    events["goes_on"].set()
    for thread in threads:
        thread.join(LONG_S)
    assert told == [first]  # it came by the old plan, and is there to be found
    places = lake.topic.produce(framed(known, gamer="ann"))
    lake.stream()
    assert sorted(lake.places(ERASED).elements()) == places
    assert sorted(lake.silver.elements()) == first


def test_streams_that_are_never_idle_let_it_through(tmp_path):
    ended, entered = threading.Event(), threading.Event()

    def stream():
        while not ended.is_set():
            with while_planned(tmp_path, "games"):
                entered.set()

    threads = [threading.Thread(target=stream) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert entered.wait(LONG_S)
    for _ in range(3):
        with while_none_is_planned(tmp_path, "games", within_s=LONG_S) as is_passed:
            assert is_passed
    ended.set()
    for thread in threads:
        thread.join(LONG_S)


@pytest.mark.parametrize("point", POINTS)
def test_a_batch_whose_process_died_is_whole_before_rows_are_looked_for(lake, point):
    known = lake.topic.register(0)
    places = lake.topic.produce(framed(known, gamer="bob"))
    lake.stream()
    places += lake.topic.produce(*[framed(known, key, gamer="ann") for key in ("uno", "go_fish")])
    lake.ingest()
    with pytest.raises(KilledError):
        replace(lake, kind=doomed(point)).demux()
    erase(lake, "ann")
    passed(lake)
    assert sorted(lake.silver.elements()) == sorted(places)
    more = lake.topic.produce(framed(known, gamer="ann"))
    lake.stream()
    assert sorted(lake.silver.elements()) == sorted(places)
    assert sorted(lake.places(ERASED).elements()) == more


@pytest.mark.parametrize("point", ["before", "half"])
def test_a_batch_that_cannot_be_whole_is_undone_and_made_anew(lake, point):
    known = lake.topic.register(0)
    first = lake.topic.produce(framed(known, gamer="bob"))
    lake.stream()
    places = lake.topic.produce(*[framed(known, key, gamer="ann") for key in ("uno", "go_fish")])
    lake.ingest()
    with pytest.raises(KilledError):
        replace(lake, kind=doomed(point)).demux()
    erase(lake, "ann")
    journal = demux_journal(lake.settings.state_dir, lake.feed)
    _, noted = journal.last() or pytest.fail("nothing is noted")
    lost = next(c for c in noted if c.table == silver_of("go_fish") and c.files)
    kept = lake.folder(lost.table) / lost.files[0].path
    text = kept.read_bytes()
    kept.unlink()
    passed(lake)
    kept.write_bytes(text)  # it is there again, and comes in by nobody
    lake.demux()
    assert sorted(lake.silver.elements()) == first
    assert sorted(lake.places(ERASED).elements()) == places


def test_streams_whose_batch_failed_go_on_after_it_was_made_whole(lake):
    known = lake.topic.register(0)
    places = lake.topic.produce(framed(known, gamer="bob"))
    lake.stream()
    places += lake.topic.produce(framed(known, gamer="ann"))
    lake.ingest()
    kind = doomed("last")
    with replace(lake, kind=kind).following() as follower:
        with pytest.raises(KilledError):
            follower.drain()
        erase(lake, "ann")
        passed(lake)
        kind.point = ""
        more = lake.topic.produce(framed(known, gamer="ann"), framed(known, gamer="bob"))
        lake.ingest()
        follower.drain()
    assert sorted(lake.silver.elements()) == sorted([*places, more[1]])
    assert sorted(lake.places(ERASED).elements()) == more[:1]


def test_a_rebuild_that_died_is_whole_before_rows_are_looked_for(lake):
    known = lake.topic.register(0)
    places = lake.topic.produce(framed(known, gamer="ann"))
    lake.stream()
    dying = type("DiesInARedo", (Committer,), {"append": _dies_in_a_redo})
    with pytest.raises(KilledError):
        replace(lake, kind=dying).rebuild()
    erase(lake, "ann")
    passed(lake)
    with lake.pipeline() as pipeline:
        assert reprocess_journal(pipeline.context.lake, lake.feed).read() is None
    assert sorted(lake.silver.elements()) == places
    lake.rebuild()
    assert not lake.silver
    assert sorted(lake.places(ERASED).elements()) == places


def _dies_in_a_redo(committer, commits, batch):
    if "redo" in batch.app_id:
        raise KilledError
    return Committer.append(committer, commits, batch)


def test_streams_in_one_job_hold_the_fence(lake):
    held = []

    def looking(state_dir, feed):
        held.append(feed)
        return while_planned(state_dir, feed)

    places = lake.topic.produce(framed(lake.topic.register(0)))
    lake.stream_in_one_job(fence=partial(looking, lake.settings.state_dir, "games"))
    assert sorted(lake.silver.elements()) == places
    assert held
    passed(lake)  # nobody holds it any more


def test_each_feed_of_shared_tables_has_its_own_places(lake):
    twin_topic = Topic(lake.topic.endpoints)
    known, other = lake.topic.register(0), twin_topic.register(0)
    twin = filling(twin_topic.feed(feed="twin", into="games"), lake.feed)
    games = lake.feed.beside([twin])
    twin = twin.beside([games])
    places = lake.topic.produce(framed(known, gamer="ann"), framed(known, gamer="bob"))
    cys, anns = twin_topic.produce(framed(other, gamer="cy"), framed(other, gamer="ann"))
    spans = {(twin_topic.name, cys[0]): [(cys[1], cys[1] + 1)]}
    erase(lake, "ann", spans=spans, feed="twin")
    lake.stream(games)
    lake.stream(twin)
    rows = DeltaTable(lake.folder(silver_of("uno"))).to_pyarrow_table().to_pylist()
    assert [(row["_feed"], row["gamer_id"]) for row in rows] == [("games", "bob")]
    assert sorted(lake.places(ERASED).elements()) == places[:1]
    assert sorted(lake.places(erased_of("twin")).elements()) == [anns]
    assert sorted(lake.places(bronze_of("twin")).elements()) == [anns]


def test_a_damaged_ledger_stops_ingest_and_demux(lake):
    known = lake.topic.register(0)
    places = lake.topic.produce(framed(known))
    lake.ingest()
    erase(lake, "ann")
    (lake.settings.lake_dir / "_erasures" / "ledger.json").write_text("{")
    with pytest.raises(LakeError, match="is damaged"):
        lake.demux()
    lake.topic.produce(framed(known))
    with pytest.raises(Exception, match="is damaged"):
        lake.ingest()
    assert sorted(lake.bronze.elements()) == places
    shutil.rmtree(lake.settings.lake_dir / "_erasures")  # as if nobody ever was erased
    lake.demux()
    assert sorted(lake.silver.elements()) == places


def test_what_an_erased_value_told_of_others_stays_in_a_rebuild(lake, spark):
    several = lake.feed.model_copy(update={"select": ("*", "explode(parts) as part")})
    place = (lake.topic.name, 0)
    rows = spark.createDataFrame([(*place, 2)], "topic string, partition int, offset bigint")
    with lake.pipeline() as pipeline:
        pipeline.context.erasures.record("games", "one", {place: [(1, 4)]})
        # Of what bronze has again all is derived again.
        assert apart_of(pipeline.context, several, rows) == {place: [(1, 2), (3, 4)]}
        assert apart_of(pipeline.context, lake.feed, rows) is None
