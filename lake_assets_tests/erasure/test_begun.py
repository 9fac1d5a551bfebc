"""Two erasures of one person, of which the first was cut off."""

import pytest

from lake_assets.erasure.asked import Request, ledger_of
from lake_assets.erasure.run import erase
from lake_assets.erasure.wanted import Wanted
from lake_assets.feeds.load import load_feeds
from lake_assets.model.erasures import ErasureState
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.erasure.bytes_of_everything import files_of, holders
from lake_assets_tests.erasure.lakes import PeopledLake, gamers_in

ANN, BOB, EVE = "ann-7f3a-41c0", "bob-11aa-90ee", "eve-55d1-0c0c"


class KilledError(BaseException):
    """As a kill is: nothing catches it."""


def dies(*_, **__):
    raise KilledError


@pytest.fixture
def lake(settings):
    made = PeopledLake(settings)
    made.take(ANN, BOB, EVE)
    yield made
    made.committer.close()


def forget(settings, *gamers):
    """Of a feed whose silver has all rows that bronze has, so that nobody looks into bronze."""
    plain = {"expectations": (), "where": None}
    feeds = [feed.model_copy(update=plain) for feed in load_feeds(settings.feeds)]
    request = Request(wanted=[Wanted(column="gamer_id", values=gamers)])
    return erase(settings, feeds, dies, request)


@pytest.mark.parametrize(
    "step",
    [
        "remove.remove_rows",  # silver has none any more, and bronze has
        "run.end_histories",  # older versions have
    ],
)
def test_the_second_is_not_done_before_rows_of_the_first_are_gone(lake, monkeypatch, step):
    with monkeypatch.context() as patch:
        patch.setattr(f"lake_assets.erasure.{step}", dies)
        with pytest.raises(KilledError):
            forget(lake.settings, ANN)
    done = forget(lake.settings, ANN, EVE)  # others, so it is not the same erasure
    assert done.left == []
    assert gamers_in(lake.store) == [BOB]
    assert holders(files_of(lake.settings.home), ANN) == []
    with open_lake(lake.settings) as context:
        states = {one.state for one in ledger_of(context).read().every}
    assert states == {ErasureState.DONE}
