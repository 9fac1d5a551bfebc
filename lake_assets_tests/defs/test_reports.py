from collections.abc import Mapping

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.reports import evaluation_of, events_of, unreported
from lake_assets.model.reports import Judged
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of, silver_of
from lake_assets.streams.tally import Change
from lake_assets_tests.sample import GAMES

UNO = silver_of("uno")
ROWS = pa.table({"n": [1, 2]})


@pytest.fixture
def lake(settings):
    for table in (bronze_of("games"), quarantine_of("games"), UNO):
        write_deltalake(table.path(settings.lake_dir), ROWS)
    return settings.lake_dir


def change(
    table: TableRef = UNO,
    game: str | None = "uno",
    *,
    rows: int = 2,
    dropped: int = 0,
    judged: Mapping[str, Judged] | None = None,
) -> Change:
    return Change(
        feed="games", table=table, game=game, rows=rows, dropped=dropped, judged=judged or {}
    )


@pytest.mark.usefixtures("lake")
def test_a_game_gets_a_materialization_and_its_checks(settings, instance):
    judged = {"gamer_is_known": Judged(seen=8, violated=2)}
    found = change(rows=2, dropped=2, judged=judged)
    table, check = events_of(settings, GAMES, found, instance, "run")
    assert isinstance(table, dg.AssetMaterialization)
    assert (table.asset_key, table.partition) == (dg.AssetKey("silver_events"), "uno")
    numbers = {name: table.metadata[name].value for name in ("rows_added", "rows_dropped")}
    assert numbers == {"rows_added": 2, "rows_dropped": 2}
    assert isinstance(check, dg.AssetCheckEvaluation)
    assert (check.check_name, check.partition, check.passed) == ("gamer_is_known", "uno", False)


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    ("table", "key"),
    [(bronze_of("games"), "bronze_games"), (quarantine_of("games"), "quarantine_games")],
)
def test_bronze_and_quarantine_have_no_partitions(settings, instance, table, key):
    (event,) = events_of(settings, GAMES, change(table, None, rows=2), instance, "run")
    assert (event.asset_key.to_user_string(), event.partition) == (key, None)


def test_a_result_tells_how_many_rows_it_is_about():
    check = dg.AssetCheckKey(dg.AssetKey("silver_events"), "known")
    found = evaluation_of(check, "uno", Judged(seen=8, violated=2), run_id="r", storage_id=1)
    assert {name: value.value for name, value in found.metadata.items()} == {
        "rows_seen": 8,
        "rows_violated": 2,
        "per_cent_violated": 25.0,
    }


def test_nothing_seen_is_nothing_violated():
    check = dg.AssetCheckKey(dg.AssetKey("silver_events"), "known")
    found = evaluation_of(check, "uno", Judged(seen=0, violated=0), run_id="r", storage_id=None)
    assert found.passed
    assert found.metadata["per_cent_violated"].value == 0


@pytest.mark.usefixtures("lake")
def test_tables_that_dagster_never_heard_of_are_unreported(settings, instance):
    found = [(c.table.name, c.game) for c in unreported(settings, GAMES, instance)]
    assert found == [
        ("bronze_games", None),
        ("quarantine_games", None),
        ("silver_uno_events", "uno"),
    ]


def test_a_table_is_unreported_again_once_it_has_a_new_version(lake, settings, instance):
    for found in list(unreported(settings, GAMES, instance)):
        for event in events_of(settings, GAMES, found, instance, "run"):
            instance.report_runless_asset_event(event)
    assert list(unreported(settings, GAMES, instance)) == []
    write_deltalake(UNO.path(lake), ROWS, mode="append")
    assert [c.game for c in unreported(settings, GAMES, instance)] == ["uno"]


def test_an_empty_lake_has_nothing_to_report(settings, instance):
    assert list(unreported(settings, GAMES, instance)) == []
