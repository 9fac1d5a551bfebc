"""Whoever opens a lake for writing refuses another lake's state folder, and changes neither."""

import logging
from pathlib import Path

import pytest

from lake_assets.alerts.alert_round import go_round
from lake_assets.alerts.decide import Look
from lake_assets.definitions import assemble
from lake_assets.errors import ForeignStateError
from lake_assets.gold.run import refresh_views
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.retention import Reset
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.lake_id import ensure_bound
from lake_assets.streams.refresh import check_silver
from lake_assets.streams.reprocess import rebuild_silver, requeue
from lake_assets.streams.reset import reset_bronze
from lake_assets.streams.run import stream_events
from lake_assets.streams.wait_for_services import wait_for_services
from lake_assets_tests.sample import GAMES

NOWHERE = Endpoints(kafka="127.0.0.1:9", registry="http://127.0.0.1:9")

FEED = GAMES.model_copy(update={"reset": Reset.ALLOWED})


def opened(settings):
    with open_lake(settings):
        pass


OPENERS = {
    "streams": lambda s: next(stream_events(s, [FEED], NOWHERE, owner="test")),
    "streams that wait": lambda s: next(
        wait_for_services(s, [FEED], lambda: NOWHERE, owner="test")
    ),
    "refresh": lambda s: refresh_views(s, FEED),
    "checks": lambda s: check_silver(s, FEED, (), ()),
    "requeue": lambda s: requeue(s, FEED, NOWHERE),
    "rebuild": lambda s: rebuild_silver(s, FEED, NOWHERE),
    "reset": lambda s: reset_bronze(s, FEED),
    "committer": opened,
    "alerts": lambda s: go_round(
        s, lambda _: Look(now=0.0, utc_now=0.0, problems=()), logging.getLogger()
    ),
    "Dagster": lambda s: assemble(s, [FEED]),
}


def below(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("opener", OPENERS)
def test_a_state_folder_of_another_lake_is_refused_by(opener, settings, tmp_path):
    ensure_bound(settings.model_copy(update={"lake": tmp_path / "a", "state": tmp_path / "state"}))
    ensure_bound(settings.model_copy(update={"lake": tmp_path / "b"}))
    mixed = settings.model_copy(update={"lake": tmp_path / "b", "state": tmp_path / "state"})
    before = below(tmp_path)
    with pytest.raises(ForeignStateError) as caught:
        OPENERS[opener](mixed)
    assert below(tmp_path) == before
    assert f"state folder {tmp_path}/state: has id " in str(caught.value)
    assert f", and lake {tmp_path}/b has id " in str(caught.value)
