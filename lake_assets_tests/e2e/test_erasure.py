"""A person's rows erased from a lake whose streams run now and then, in the test's Spark."""

from collections import Counter
from datetime import timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.erasure.asked import Request
from lake_assets.erasure.run import erase
from lake_assets.erasure.wanted import Wanted
from lake_assets.gold.run import Warm
from lake_assets.model.erasures import ErasureState, Later
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.tables import TableRef, bronze_of, erased_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.refresh import refresh_gold
from lake_assets_tests.events import AT, Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ANN, BOB = "ann-7f3a-41c0", "bob-11aa-90ee"
GAMES = ("uno", "go_fish")


@pytest.fixture
def send(lake, known):
    """Produces events of a game and a gamer, one an hour; tells where they are."""

    def go(*events, bad=()):
        values = [
            framed(known, game, gamer=gamer, at=AT + timedelta(hours=hour))
            for hour, (game, gamer) in enumerate(events)
        ]
        return Counter(lake.topic.produce(*values, *bad))

    return go


@pytest.fixture
def forget(lake):
    """Erases values of `gamer_id`, as the command does."""

    def go(*values, **chosen):
        given = Request(
            wanted=[Wanted(column="gamer_id", values=values)] if values else [], **chosen
        )
        feeds = [lake.feed]
        with open_lake(lake.settings, lake.spark) as context:
            warm = Warm(session=lake.spark, context=context)
            return erase(lake.settings, feeds, lambda: lake.topic.endpoints, given, warm=warm)

    return go


def gamers(lake, table: TableRef):
    return Counter(DeltaTable(lake.folder(table)).to_pyarrow_table()["gamer_id"].to_pylist())


def refresh(lake):
    with open_lake(lake.settings, lake.spark) as context:
        refresh_gold(lake.settings, lake.feed, warm=Warm(session=lake.spark, context=context))


def silver(lake):
    return {game: gamers(lake, silver_of(game)) for game in GAMES}


def everything(lake, value):
    """Files of the lake and its state that have a text, parquet files decoded."""
    import pyarrow.parquet as pq

    needle, found = value.encode(), []
    for root in (lake.settings.lake_dir, lake.settings.state_dir):
        for file in (path for path in root.rglob("*") if path.is_file()):
            content = file.read_bytes()
            if file.suffix == ".parquet":
                rows = pq.read_table(file).to_pylist()
                content += repr(rows).encode()
            if needle in content:
                found.append(file.relative_to(root.parent))
    return found


def test_a_person_is_nowhere_and_everybody_else_is_where_they_were(lake, send, forget):
    send(
        ("uno", ANN), ("uno", BOB), ("go_fish", ANN), ("go_fish", BOB), bad=[b"bad " + ANN.encode()]
    )
    lake.stream()
    refresh(lake)
    assert everything(lake, ANN)
    done = forget(ANN)
    assert done.left == []
    assert [one.state for one in done.erasures] == [ErasureState.DONE]
    assert silver(lake) == {game: Counter({BOB: 1}) for game in GAMES}
    assert sum(lake.bronze.values()) == 2
    assert everything(lake, ANN) == []
    again = forget(ANN)
    assert again.taken.rows == {}


class WithoutAnn(StreamedLake):
    """A lake whose feed drops rows of one gamer."""

    @property
    def feed(self):
        dropping = Expectation(name="no_ann", sql=f"gamer_id <> '{ANN}'", action=Action.DROP)
        return self.topic.feed(expectations=(dropping,))


class TestDropped:
    @pytest.fixture
    def lake(self, spark, services, settings):
        return WithoutAnn(spark, settings, Topic(services))

    def test_rows_that_an_expectation_dropped_leave_bronze(self, lake, send, forget):
        send(("uno", ANN), ("uno", BOB))
        lake.stream()
        assert silver_gamers(lake) == Counter({BOB: 1})
        assert forget(ANN).taken.rows == {bronze_of("games").name: 1}
        assert everything(lake, ANN) == []


def test_rows_that_silver_has_no_longer_leave_bronze(lake, send, forget):
    send(("uno", ANN), ("uno", BOB))
    lake.stream()
    with lake.pipeline() as pipeline:  # as for their age, or by hand
        pipeline.context.committer.delete(silver_of("uno"), f"gamer_id = '{ANN}'")
    done = forget(ANN)
    assert done.taken.rows == {bronze_of("games").name: 1}
    # What silver had before is its history's; a scan ends that where something is found.
    assert not any(file.is_relative_to("lake/bronze") for file in everything(lake, ANN))


def test_rows_that_come_later_are_left_out_or_kept_as_it_was_asked(lake, send, forget):
    send(("uno", ANN), ("uno", BOB))
    lake.stream()
    forget(ANN, later=Later.DROP)
    forget(BOB, later=Later.KEEP)
    send(("uno", ANN), ("uno", BOB), ("go_fish", ANN))
    lake.stream()
    assert silver(lake)["uno"] == Counter({BOB: 1})
    erased = lake.places(erased_of("games"))
    assert sum(erased.values()) == 2
    assert everything(lake, ANN)  # bronze has them until they are swept
    swept = forget(is_again=True)
    assert swept.taken.rows == {bronze_of("games").name: 2}
    assert everything(lake, ANN) == []
    assert silver(lake)["uno"] == Counter({BOB: 1})


def test_rows_that_wait_for_demux_are_told_and_left_out_when_it_comes(lake, send, forget):
    send(("uno", ANN), ("uno", BOB))
    lake.ingest()
    done = forget(ANN)
    assert [one.state for one in done.erasures] == [ErasureState.NOTED]
    assert "rows of its source are not in silver yet" in done.left[0]
    lake.demux()
    assert silver_gamers(lake) == Counter({BOB: 1})
    again = forget(is_again=True)
    assert [one.state for one in again.erasures] == [ErasureState.DONE]
    assert everything(lake, ANN) == []


def test_a_rebuild_and_a_requeue_bring_nobody_back(lake, send, forget):
    send(("uno", ANN), ("uno", BOB), bad=[b"bad " + ANN.encode(), b"bad"])
    lake.stream()
    forget(ANN)
    lake.rebuild()
    with lake.redo() as redo:
        redo.requeue()
    assert silver_gamers(lake) == Counter({BOB: 1})
    assert sum(lake.quarantine.values()) == 1
    assert everything(lake, ANN) == []


def silver_gamers(lake):
    return gamers(lake, silver_of("uno"))
