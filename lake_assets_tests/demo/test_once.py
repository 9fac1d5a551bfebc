import json

import duckdb
import pytest
from deltalake import DeltaTable

from lake_assets_tests.commandline import lake_assets_here, result_of

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

EVENTS = 3000


@pytest.fixture(scope="module")
def runs(services, tmp_path_factory):
    """Two demos into one lake, one after the other, with games that the shipped feed lacks."""
    from lake_assets.settings.load import load_settings
    from lake_assets.settings.schema import KafkaSettings, RegistrySettings, Settings

    home = tmp_path_factory.mktemp("demo")
    settings = Settings(
        home=home / "home",
        runtime=load_settings().runtime,
        kafka=KafkaSettings(bootstrap_servers=services.kafka),
        registry=RegistrySettings(url=services.registry),
    )
    command = [
        "demo",
        "--once",
        "--events",
        str(EVENTS),
        "--key",
        "chess",
        "--key",
        "go",
        "--versions",
        "2",
    ]
    command += ["--lake", str(home / "tables"), "--json"]
    done = [lake_assets_here(settings, *command) for _ in range(2)]
    assert [run.returncode for run in done] == [0, 0], done[-1].stderr
    return [result_of(run) for run in done]


def test_a_new_lake_holds_just_what_was_produced(runs):
    first = runs[0]
    assert first["produced"] == first["bronze"] == EVENTS
    assert sum(first["silver"].values()) == EVENTS
    assert (first["quarantined"], first["dropped"]) == (0, 0)


def test_a_lake_that_was_there_goes_on(runs):
    assert runs[1]["bronze"] == 2 * EVENTS
    assert sum(runs[1]["silver"].values()) == 2 * EVENTS


def test_each_asked_for_game_has_its_tables(runs):
    assert set(runs[0]["silver"]) == set(runs[0]["gold"]) == {"chess", "go"}
    assert set(runs[0]["paths"]) == {
        "bronze_games",
        "quarantine_games",
        *(f"silver_{game}_events" for game in ("chess", "go")),
        *(
            f"gold_{game}_{view}"
            for game in ("chess", "go")
            for view in ("player_agg", "daily_activity", "activity_by_minute", "leaderboard")
        ),
        "all_games_suspicious_players",
        "quality_log",
        "schema_log",
        "stream_log",
    }


def test_gold_equals_what_another_engine_computes(runs):
    paths = runs[1]["paths"]
    silver = DeltaTable(paths["silver_chess_events"]).to_pyarrow_table()  # noqa: F841 - DuckDB
    gold = DeltaTable(paths["gold_chess_player_agg"]).to_pyarrow_table()  # noqa: F841 - reads both
    theirs = duckdb.execute(
        "select gamer_id, count(*) session_count, min(event_timestamp) min_timestamp, "
        "max(event_timestamp) max_timestamp from silver group by all order by all"
    ).fetchall()
    assert duckdb.execute("select * from gold order by all").fetchall() == theirs


def test_a_later_schema_version_added_its_column(runs):
    columns = DeltaTable(runs[0]["paths"]["silver_go_events"]).schema().fields
    assert "col_custom_1" in {field.name for field in columns}


def test_the_report_names_its_phases(runs):
    assert list(runs[0]["seconds"]) == ["services", "produce", "stream", "refresh", "check"]


def test_a_demo_holds_back_the_gold_of_a_game_that_fails_something_blocking(services, tmp_path):
    from lake_assets.feeds.load import find_feed, load_feeds
    from lake_assets.settings.load import load_settings
    from lake_assets.settings.schema import KafkaSettings, RegistrySettings, Settings

    feed = find_feed(load_feeds(None), "games")
    shown = feed.model_dump(mode="json", exclude_none=True, by_alias=True)
    shown["checks"] = [
        {"name": "many", "row_count": {"min": 500}, "keys": ["go"], "blocking": True}
    ]
    (tmp_path / "games.yaml").write_text(json.dumps(shown))
    settings = Settings(
        home=tmp_path / "home",
        feeds=tmp_path,
        runtime=load_settings().runtime,
        kafka=KafkaSettings(bootstrap_servers=services.kafka),
        registry=RegistrySettings(url=services.registry),
    )
    command = ["demo", "--once", "--events", "600", "--key", "chess", "--key", "go", "--json"]
    done = lake_assets_here(settings, *command, "--lake", str(tmp_path / "tables"))
    assert done.returncode == 4, done.stderr
    assert "error: gold of go: is left as it is: " in done.stderr
    found = result_of(done)
    assert set(found["gold"]) == {"chess"}
    assert set(found["held"]) == {"go", "*"}
    assert "all_games_suspicious_players" not in found["paths"]
