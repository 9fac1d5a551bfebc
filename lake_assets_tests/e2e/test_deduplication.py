"""Streams whose producer sends events again, against a real broker, registry and Spark."""

import shutil
import threading
from collections import Counter
from datetime import timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.errors import FeedError
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.origins import Origin
from lake_assets.model.routes import Route
from lake_assets.model.tables import duplicates_of, quarantine_of
from lake_assets.streams.trace import trace
from lake_assets.streams.whereabouts import Whereabouts
from lake_assets_tests.events import AT, Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

RULE = Deduplicate(key=("gamer_id",), within=timedelta(hours=1), time="event_timestamp")
DUPLICATES = duplicates_of("games")


class OncePerEvent(StreamedLake):
    """A lake whose feed takes each gamer once an hour."""

    @property
    def feed(self):
        return self.topic.feed(deduplicate=RULE)

    def events(self):
        """Games, gamers and hours of silver's rows, and how often each is there."""
        found = Counter()
        for game in ("uno", "go_fish"):
            rows = DeltaTable(self.folder(silver_of(game))).to_pyarrow_table().to_pylist()
            found.update(
                (game, row["gamer_id"], (row["event_timestamp"] - AT) / timedelta(hours=1))
                for row in rows
            )
        return found

    @property
    def duplicates(self):
        return self.places(DUPLICATES)


@pytest.fixture
def lake(spark, services, settings):
    return OncePerEvent(spark, settings, Topic(services))


@pytest.fixture
def send(lake):
    """Produces events: game, gamer, hours after `AT`; where they are."""
    known = lake.topic.register(0)

    def go(*events):
        values = [
            framed(known, game, gamer=gamer, at=AT + timedelta(hours=hours))
            for game, gamer, hours in events
        ]
        return Counter(lake.topic.produce(*values))

    return go


def test_events_are_once_in_silver_over_batches_and_starts_and_each_row_is_somewhere(lake, send):
    first = send(("uno", "ann", 0), ("uno", "bob", 0), ("uno", "ann", 0), ("go_fish", "ann", 0))
    lake.stream()
    again = send(("uno", "ann", 0.9), ("uno", "bob", 1.5), ("uno", "ann", -0.5))
    lake.stream()
    once = {("uno", "ann", 0), ("uno", "bob", 0), ("uno", "bob", 1.5), ("go_fish", "ann", 0)}
    assert lake.events() == Counter(once)
    assert lake.silver + lake.duplicates == first + again
    batches = [report for report in lake.reports if report.duplicates]
    assert [report.duplicates for report in batches] == [{"uno": 1}, {"uno": 2}]
    assert batches[-1].keys_held
    assert lake.quarantine == Counter()


def test_so_they_are_if_a_batch_goes_to_bronze_and_silver_in_one_job(lake, send):
    first = send(("uno", "ann", 0), ("uno", "ann", 0), ("uno", "bob", 0))
    lake.stream_in_one_job()
    again = send(("uno", "bob", 0.5), ("uno", "cyd", 0.5))
    lake.stream_in_one_job()
    assert lake.events() == Counter(
        {("uno", who, at) for who, at in (("ann", 0), ("bob", 0), ("cyd", 0.5))}
    )
    assert lake.silver + lake.duplicates == first + again
    assert all("job" in r.seconds for r in lake.reports)


def test_a_batch_that_was_cut_off_is_finished_without_its_duplicates(lake, send):
    first = send(("uno", "ann", 0))
    lake.stream()
    kept = lake.keep(lake.folder(quarantine_of("games")))
    again = send(("uno", "ann", 0.5), ("uno", "bob", 0.5), ("uno", "bob", 0.6))
    lake.stream()
    before, reports = lake.events(), len(lake.reports)
    lake.put_back(kept)  # as if the batch had died before its last commit
    lake.demux()
    assert lake.events() == before
    assert lake.silver + lake.duplicates == first + again
    assert [r.duplicates for r in lake.reports[reports:]] == [{"uno": 2}]


def test_so_is_one_that_is_undone_and_runs_again(lake, send):
    first = send(("uno", "ann", 0))
    lake.stream()
    kept = lake.keep(lake.folder(quarantine_of("games")))
    again = send(("uno", "ann", 0.5), ("uno", "bob", 0.5), ("uno", "bob", 0.6))
    lake.stream()
    before = lake.events()
    lake.put_back(kept)
    shutil.rmtree(lake.settings.state_dir / "journals")
    lake.demux()
    assert lake.events() == before
    assert lake.silver + lake.duplicates == first + again


def test_a_rebuild_leaves_the_rows_that_silver_had(lake, send):
    late = send(("uno", "ann", 0.9), ("uno", "bob", 0))
    lake.stream()
    early = send(("uno", "ann", 0), ("uno", "bob", 0))
    lake.stream()
    silver, duplicates = lake.silver, lake.duplicates
    assert (silver, duplicates) == (late, early)
    for chosen in ({}, {"keys": ["uno"]}, {"since": AT}):
        lake.rebuild(**chosen)
        assert (lake.silver, lake.duplicates) == (silver, duplicates), chosen
    third = send(("uno", "bob", 0.5))
    lake.stream()
    assert (lake.silver, lake.duplicates) == (silver, duplicates + third)


def test_a_rebuild_from_nothing_leaves_each_event_once(lake, send):
    sent = send(("uno", "ann", 0.9), ("uno", "ann", 0), ("uno", "ann", 0.4), ("uno", "bob", 0))
    lake.stream()
    shutil.rmtree(lake.folder(silver_of("uno")))
    lake.rebuild()
    assert sorted(who for _, who, _ in lake.events().elements()) == ["ann", "bob"]
    assert lake.silver + lake.duplicates == sent


def test_a_feed_that_has_rows_lets_no_more_in_and_a_rebuild_takes_out_those_that_are_there(
    lake, send
):
    plain = lake.topic.feed()
    sent = send(("uno", "ann", 0), ("uno", "ann", 0.1))
    lake.stream(plain)
    sent += send(("uno", "ann", 0.2), ("uno", "bob", 0))
    lake.stream()
    assert lake.events().total() == 3
    lake.rebuild()
    assert {who for _, who, _ in lake.events()} == {"ann", "bob"}
    assert lake.events().total() == 2
    assert lake.silver + lake.duplicates == sent
    lake.stream(plain)  # which knows the table of duplicates, though it makes none


def test_a_row_that_an_expectation_refuses_is_nobodys_first_and_a_requeue_compares_it(lake, send):
    judged = lake.topic.feed(
        deduplicate=RULE,
        expectations=(
            Expectation(
                name="on_time",
                sql="event_timestamp > '2026-11-21 01:30:00'",
                action=Action.QUARANTINE,
            ),
        ),
    )
    early = send(("uno", "ann", 0), ("uno", "bob", 0))
    lake.stream(judged)
    assert lake.quarantine == early
    late = send(("uno", "ann", 0.9))
    lake.stream(judged)
    assert lake.silver == late
    with lake.redo() as redo:
        done = redo.requeue()
    assert done.duplicates == {"uno": 1}
    assert lake.events() == Counter({("uno", "ann", 0.9): 1, ("uno", "bob", 0): 1})
    assert lake.quarantine == Counter()
    assert lake.silver + lake.duplicates == early + late


def test_a_requeue_and_a_batch_wait_for_each_other(lake, send):
    send(("chess", "ann", 0))
    lake.stream()  # to quarantine, since nobody knows the game
    chess = Route(column="game_name", keys=("uno", "go_fish", "chess"))
    known = lake.topic.feed(deduplicate=RULE, route=chess)
    send(("chess", "ann", 0.5))
    lake.ingest()
    with lake.redo(known) as redo, lake.following(known) as follower:
        both = [threading.Thread(target=act) for act in (redo.requeue, follower.drain)]
        for one in both:
            one.start()
        for one in both:
            one.join()
    assert lake.places(silver_of("chess")).total() == 1


def test_a_trace_tells_of_which_row_one_is_a_duplicate(lake, send):
    ((partition, offset),) = send(("uno", "ann", 0))
    lake.stream()
    ((other, at),) = send(("uno", "ann", 0.5))
    lake.stream()
    found = trace(lake.settings, lake.feed, Origin(lake.topic.name, other, at), None)
    assert found.whereabouts is Whereabouts.DUPLICATE
    assert found.words == f"a duplicate of {lake.topic.name}/{partition}/{offset}, which stays"
    assert [place.key for place in found.places] == [None, "uno"]


def test_a_feed_whose_key_silver_has_not_is_refused_before_a_row_comes(lake, send):
    send(("uno", "ann", 0))
    rule = Deduplicate(key=("event_id",), within=timedelta(hours=1))
    feed = lake.topic.feed(deduplicate=rule)
    with pytest.raises(FeedError, match="names event_id, which silver has not"):
        lake.stream(feed)
