from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.reports import (
    Target,
    evaluation_of,
    events_of,
    latest_metadata,
    result_of,
    unreported,
)
from lake_assets.defs.told_columns import ToldColumns
from lake_assets.model.checks import Severity
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.origins import Origin
from lake_assets.model.reports import CheckResult, Judged
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of
from lake_assets.state.failing_expectations import Verdict, note_verdicts
from lake_assets.streams.batch_totals import Change, Pace
from lake_assets_tests.sample import GAMES, gold_of, silver_of

UNO = silver_of("uno")
KNOWN = Expectation(name="known", sql="true")
TARGET = Target(run_id="r", storage_id=1)
SINCE = datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC)
ROWS = pa.table({"n": [1, 2]})


@pytest.fixture
def lake(settings):
    for table in (bronze_of("games"), quarantine_of("games"), UNO):
        write_deltalake(settings.lake_dir / table.relative, ROWS)
    return settings.lake_dir


def change(
    table: TableRef = UNO,
    key: str | None = "uno",
    *,
    rows: int = 2,
    dropped: int = 0,
    judged: Mapping[str, Judged] | None = None,
) -> Change:
    return Change(
        feed="games", table=table, key=key, rows=rows, dropped=dropped, judged=judged or {}
    )


@pytest.mark.usefixtures("lake")
def test_a_game_gets_a_materialization_and_its_checks(settings, instance):
    judged = {"gamer_is_known": Judged(seen=8, violated=2)}
    found = change(rows=2, dropped=2, judged=judged)
    table, check = events_of(settings, GAMES, [found], instance, "run", ToldColumns())
    assert isinstance(table, dg.AssetMaterialization)
    assert (table.asset_key, table.partition) == (dg.AssetKey("silver_events"), "uno")
    numbers = {name: table.metadata[name].value for name in ("rows_added", "rows_dropped")}
    assert numbers == {"rows_added": 2, "rows_dropped": 2}
    assert isinstance(check, dg.AssetCheckEvaluation)
    assert (check.check_name, check.partition, check.passed) == ("gamer_is_known", "uno", False)


@pytest.mark.usefixtures("lake")
def test_rows_of_a_feed_that_fills_anothers_tables_are_told_of_these(settings, instance):
    flow = GAMES.model_copy(update={"feed": "twin", "into": "games", "gold": ()})
    twin = flow.beside([GAMES, flow])
    found = replace(change(judged={"gamer_is_known": Judged(seen=2, violated=0)}), feed="twin")
    table, check = events_of(settings, twin, [found], instance, "run", ToldColumns())
    assert (table.asset_key, table.partition) == (dg.AssetKey("silver_events"), "uno")
    assert table.metadata["feed"].value == "twin"
    assert check.asset_key == dg.AssetKey("silver_events")
    assert list(unreported(settings, twin, instance)) == []


@pytest.mark.usefixtures("lake")
def test_what_is_plotted_over_time_is_a_number(settings, instance):
    pace = Pace(batches=4, seconds=3.0, lag_rows=7, lag_s=1.5)
    found = replace(change(rows=2), pace=pace)
    (event,) = events_of(settings, GAMES, [found], instance, "run", ToldColumns())
    plotted = {
        name: value.value
        for name, value in event.metadata.items()
        if isinstance(value, dg.IntMetadataValue | dg.FloatMetadataValue)
    }
    assert plotted.keys() >= {"dagster/partition_row_count", "files", "size_bytes", "delta_version"}
    assert (
        plotted.items()
        >= {
            "rows_added": 2,
            "seconds_per_batch": 0.75,
            "lag_rows": 7,
            "lag_seconds": 1.5,
        }.items()
    )


@pytest.mark.usefixtures("lake")
def test_a_lag_that_is_not_known_is_not_told(settings, instance):
    found = replace(change(rows=2), pace=Pace(seconds=3.0))
    (event,) = events_of(settings, GAMES, [found], instance, "run", ToldColumns())
    assert "seconds_per_batch" in event.metadata
    assert not {"lag_rows", "lag_seconds"} & event.metadata.keys()


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    ("table", "key"),
    [(bronze_of("games"), "bronze_games"), (quarantine_of("games"), "quarantine_games")],
)
def test_bronze_and_quarantine_have_no_partitions(settings, instance, table, key):
    changes = [change(table, None, rows=2)]
    event, *_ = events_of(settings, GAMES, changes, instance, "run", ToldColumns())
    assert (event.asset_key.to_user_string(), event.partition) == (key, None)


def test_a_result_tells_how_many_rows_it_is_about():
    check = dg.AssetCheckKey(dg.AssetKey("silver_events"), "known")
    judged = Judged(seen=8, violated=2, examples=(Origin("t", 0, 7), Origin("t", 1, 9)))
    found = evaluation_of(check, "uno", KNOWN, judged, TARGET, failing_since=SINCE)
    assert {name: value.value for name, value in found.metadata.items()} == {
        "rows_seen": 8,
        "rows_violated": 2,
        "per_cent_violated": 25.0,
        "examples": "t/0/7, t/1/9",
        "failing_since": SINCE.timestamp(),
    }


@pytest.mark.parametrize(
    ("action", "violated", "severity"),
    [
        (Action.WARN, 8, "WARN"),
        (Action.DROP, 8, "WARN"),
        (Action.QUARANTINE, 2, "WARN"),
        (Action.QUARANTINE, 3, "ERROR"),
        (Action.FAIL, 1, "ERROR"),
    ],
)
def test_how_bad_a_failure_is_depends_on_what_becomes_of_the_rows(action, violated, severity):
    share = {"max_share": 0.25} if action is Action.QUARANTINE else {}
    expectation = Expectation(name="known", sql="true", action=action, **share)
    check = dg.AssetCheckKey(dg.AssetKey("silver_events"), "known")
    found = evaluation_of(check, "uno", expectation, Judged(seen=8, violated=violated), TARGET)
    assert (found.passed, found.severity.value) == (False, severity)


def test_a_dataset_checks_result_has_value_and_limit():
    result = CheckResult(
        key="uno",
        table=UNO,
        name="some",
        severity=Severity.ERROR,
        passed=False,
        found=2.0,
        limit=">= 3",
        words="2 rows; asked for is >= 3",
        version=4,
    )
    found = result_of(dg.AssetKey("silver_events"), result, TARGET)
    assert (found.partition, found.passed, found.severity.value) == ("uno", False, "ERROR")
    assert {name: value.value for name, value in found.metadata.items()} == {
        "limit": ">= 3",
        "found": "2 rows; asked for is >= 3",
        "value": 2.0,
        "delta_version": 4,
    }


@pytest.mark.usefixtures("lake")
def test_a_refused_batch_is_a_failed_check_and_no_materialization(settings, instance):
    judged = {"gamer_is_known": Judged(seen=8, violated=2)}
    found = change(rows=0, judged=judged)
    at = datetime(2026, 11, 21, tzinfo=UTC)
    verdict = Verdict(key="uno", name="gamer_is_known", severity=Severity.ERROR)
    note_verdicts(settings.state_dir, "games", [verdict], at)
    (check,) = events_of(settings, GAMES, [found], instance, "run", ToldColumns())
    assert isinstance(check, dg.AssetCheckEvaluation)
    assert (check.passed, check.metadata["failing_since"].value) == (False, at.timestamp())


@pytest.mark.usefixtures("lake")
def test_what_is_not_expected_any_more_is_not_reported(settings, instance):
    found = change(judged={"gone": Judged(seen=8, violated=2)})
    (table,) = events_of(settings, GAMES, [found], instance, "run", ToldColumns())
    assert isinstance(table, dg.AssetMaterialization)


def test_nothing_seen_is_nothing_violated():
    check = dg.AssetCheckKey(dg.AssetKey("silver_events"), "known")
    found = evaluation_of(check, "uno", KNOWN, Judged(seen=0, violated=0), TARGET)
    assert found.passed
    assert found.metadata["per_cent_violated"].value == 0


@pytest.mark.usefixtures("lake")
def test_tables_that_dagster_never_heard_of_are_unreported(settings, instance):
    found = [(c.table.name, c.key) for c in unreported(settings, GAMES, instance)]
    assert found == [
        ("bronze_games", None),
        ("quarantine_games", None),
        ("silver_uno_events", "uno"),
    ]


def test_a_table_is_unreported_again_once_it_has_a_new_version(lake, settings, instance):
    for found in list(unreported(settings, GAMES, instance)):
        for event in events_of(settings, GAMES, [found], instance, "run", ToldColumns()):
            instance.report_runless_asset_event(event)
    assert list(unreported(settings, GAMES, instance)) == []
    write_deltalake(lake / UNO.relative, ROWS, mode="append")
    assert [c.key for c in unreported(settings, GAMES, instance)] == ["uno"]


def test_a_view_that_is_up_to_date_is_unreported_only_where_dagster_lost_it(
    lake, settings, instance
):
    """Its own refresh tells of what is new, and of nothing where nothing is."""
    gold = gold_of("uno", "player_agg")
    write_deltalake(lake / gold.relative, ROWS)
    (found,) = [c for c in unreported(settings, GAMES, instance) if c.table == gold]
    for event in events_of(settings, GAMES, [found], instance, "run", ToldColumns()):
        assert (event.asset_key.path, event.partition) == (["gold_player_agg"], "uno")
        instance.report_runless_asset_event(event)
    write_deltalake(lake / gold.relative, ROWS, mode="append")
    assert gold not in [c.table for c in unreported(settings, GAMES, instance)]


def test_an_empty_lake_has_nothing_to_report(settings, instance):
    assert list(unreported(settings, GAMES, instance)) == []


def test_the_latest_metadata_is_that_of_the_partition(instance):
    asset = dg.AssetKey("silver_events")
    assert latest_metadata(instance, asset, "uno") == {}
    for key, rows in (("uno", 3), ("poker", 4)):
        event = dg.AssetMaterialization(asset, partition=key, metadata={"rows": rows})
        instance.report_runless_asset_event(event)
    assert latest_metadata(instance, asset, "uno") == {"rows": dg.MetadataValue.int(3)}
    assert latest_metadata(instance, asset, None) == {"rows": dg.MetadataValue.int(4)}


@pytest.mark.usefixtures("lake")
def test_bronze_comes_with_what_was_passed_over(settings, instance):
    found = change(bronze_of("games"), None)
    table, check = events_of(settings, GAMES, [found], instance, "run", ToldColumns())
    assert (table.asset_key, check.check_name) == (dg.AssetKey("bronze_games"), "no_rows_lost")
    assert check.passed
