"""A lake that is put back to before an erasure, and whose streams and views go on."""

from collections import Counter

import pytest
from deltalake import DeltaTable

from lake_assets.backup.create import back_up
from lake_assets.backup.progress import Progress
from lake_assets.erasure.asked import Request
from lake_assets.erasure.obeyed_restore import restore
from lake_assets.erasure.run import erase
from lake_assets.erasure.wanted import Wanted
from lake_assets.gold.run import Warm
from lake_assets.model.erasures import ErasureState
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.refresh import refresh_gold
from lake_assets_tests.backup.lakes import place_at
from lake_assets_tests.events import framed
from lake_assets_tests.sample import gold_of, silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ANN, BOB = "ann-7f3a-41c0", "bob-11aa-90ee"


def refresh(lake):
    with open_lake(lake.settings, lake.spark) as context:
        refresh_gold(lake.settings, lake.feed, warm=Warm(session=lake.spark, context=context))


def erased(lake, **chosen):
    with open_lake(lake.settings, lake.spark) as context:
        warm = Warm(session=lake.spark, context=context)
        endpoints = lake.topic.endpoints
        request = Request(**chosen)
        return erase(lake.settings, [lake.feed], lambda: endpoints, request, warm=warm)


def gamers(lake, table):
    return Counter(DeltaTable(lake.folder(table)).to_pyarrow_table()["gamer_id"].to_pylist())


def test_streams_and_views_go_on_from_an_older_backup_without_who_was_erased(lake, known, tmp_path):
    def send(*who, key="uno"):
        lake.topic.produce(*[framed(known, key, gamer=one) for one in who])

    uno, gold = silver_of("uno"), gold_of("uno", "player_agg")
    send(ANN, BOB)
    send(ANN, key="go_fish")
    lake.topic.produce(b"bad " + ANN.encode())
    lake.stream()
    refresh(lake)
    place = place_at(tmp_path / "place")
    back_up(lake.settings, place, Progress())
    send(ANN, BOB)
    lake.stream()
    wanted = [Wanted(column="gamer_id", values=(ANN,))]
    assert len(erased(lake, wanted=wanted).left) == 1
    done = restore(lake.settings, place, Progress(), number=None, force=True)
    assert gold.relative in done.obeyed.dropped
    assert gamers(lake, uno) == Counter([BOB])
    send(ANN, BOB)
    lake.stream()  # takes again what came since, and what comes
    refresh(lake)
    assert gamers(lake, uno) == Counter([BOB] * 3)
    assert gamers(lake, gold) == Counter([BOB])
    done = erased(lake, is_again=True, prunes_backups=True)
    assert done.left == []
    assert [one.state for one in done.erasures] == [ErasureState.DONE]
    assert place.numbers() == [2]
    assert gamers(lake, uno) == Counter([BOB] * 3)
