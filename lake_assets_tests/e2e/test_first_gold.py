"""A view's first rows, through Dagster's own daemon: one run for both kinds, and no second one."""

import shutil
import signal

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.settings.schema import KafkaSettings, RegistrySettings
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.e2e.dev import ROOT, Dev, wait_for
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]

# A schedule that does not tick while anybody waits.
FEED = """
feed: games
source: {kafka: {topic: nothing-comes}}
payload: {protobuf: {subject: nothing-comes-value}}
route: {column: game_name, keys: [uno, poker]}
gold:
  - {name: of_a_game, sql: select count(*) as n from silver, schedule: "0 0 1 1 *"}
  - {name: of_all, sql: select count(*) as n from silver_all, schedule: "0 0 1 1 *"}
"""

TABLES = ("gold_uno_of_a_game", "gold_poker_of_a_game", "all_games_of_all")


def looks(instance):
    """How often the sensor has looked."""
    found = instance.all_instigator_state()
    (state,) = (state for state in found if state.instigator_name == "first_gold_of_games")
    ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id)
    return sum(tick.is_completed for tick in ticks)


@pytest.mark.long
def test_a_new_view_is_refreshed_at_once_and_once(settings, tmp_path):
    feeds, home = tmp_path / "feeds", tmp_path / "dagster"
    for folder in (feeds, home):
        folder.mkdir()
    (feeds / "games.yaml").write_text(FEED)
    shutil.copy(ROOT / "dagster.yaml", home)
    # Nobody listens there, so the streams wait.
    nowhere = {
        "feeds": feeds,
        "kafka": KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        "registry": RegistrySettings(url="http://127.0.0.1:1"),
    }
    here = settings.model_copy(update=nowhere)
    for key in ("uno", "poker"):
        row = pa.table({"game_name": [key], "gamer_id": ["ann"]})
        write_deltalake(here.lake_dir / silver_of(key).relative, row)
    dev = Dev(here, home)
    dev.start()
    try:
        gold = here.lake_dir / "gold"
        logs = [gold / name / "_delta_log" / f"{1:020}.json" for name in TABLES]
        wait_for(lambda: all(log.exists() for log in logs), "gold", within_s=600)
        refreshes = dg.RunsFilter(tags={"lake_assets/refresh": lake_id(here)})
        with dg.DagsterInstance.from_config(str(home)) as instance:
            enough = looks(instance) + 3
            wait_for(lambda: looks(instance) >= enough, "three looks of the sensor", within_s=300)
            wait_for(
                lambda: all(run.is_finished for run in instance.get_runs(refreshes)),
                "the refresh over",
                within_s=300,
            )
            assert [run.status for run in instance.get_runs(refreshes)] == [
                dg.DagsterRunStatus.SUCCESS
            ]
    finally:
        dev.signal_group(signal.SIGINT)
        dev.wait_until_gone(within_s=300)
