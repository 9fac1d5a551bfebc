"""A person's rows erased from a lake whose streams run now and then, in the test's Spark."""

from collections import Counter
from datetime import timedelta

import pytest
from deltalake import DeltaTable

from lake_assets.erasure.run import Request, erase
from lake_assets.erasure.wanted import Wanted
from lake_assets.gold.run import Warm
from lake_assets.model.erasures import ErasureState
from lake_assets.model.tables import TableRef
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.refresh import refresh_gold
from lake_assets_tests.events import AT, framed
from lake_assets_tests.sample import silver_of

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
        feeds, endpoints = [lake.feed], lake.topic.endpoints
        with open_lake(lake.settings, lake.spark) as context:
            warm = Warm(session=lake.spark, context=context)
            return erase(lake.settings, feeds, endpoints, given, warm=warm)

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
