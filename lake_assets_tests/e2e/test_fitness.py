"""The shipped feed of fitness trackers, as the commands run it."""

import json
from datetime import UTC
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from lake_assets import feeds as shipped_feeds
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.schema import KafkaSettings, Settings
from lake_assets.simulator.fitness import MODELS
from lake_assets_tests.commandline import lake_assets_here, sparkless_here

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

EVENTS = 3_000

LATER = """
feed: later
source: {kafka: {topic: nobody-made-this-topic}}
payload: {json: {schema: "x int"}}
"""


@pytest.fixture
def trackers(settings: Settings, services, tmp_path) -> Settings:
    """The shipped feed, and one whose topic nobody has made; there is no registry."""
    folder = tmp_path / "feeds"
    folder.mkdir()
    shipped = Path(shipped_feeds.__file__).with_name("fitness.yaml").read_text()
    (folder / "fitness.yaml").write_text(shipped.replace("tracker-events", tmp_path.name))
    (folder / "later.yaml").write_text(LATER)
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    return settings.model_copy(update={"feeds": folder, "kafka": kafka})


def run(command, settings, *arguments):
    done = command(settings, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(settings, table):
    return DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table()


def recomputed(silver):
    """By hour, what the view should have, by another engine."""
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        found = db.from_arrow(silver).query(
            "silver",
            """select date_trunc('hour', "time") as hour, count(*) as events,
                quantile_disc(heart_bpm, 0.5) as median_bpm,
                quantile_disc(heart_bpm, 0.95) as p95_bpm, sum(kcal)::bigint as kcal
            from silver group by 1""",
        )
        return {row[0].astimezone(UTC): row[1:] for row in found.fetchall()}


def test_trackers_go_from_the_simulator_to_gold_without_a_registry(trackers):
    made = ("produce", "--feed", "fitness", "--events", str(EVENTS), "--versions", "2")
    run(sparkless_here, trackers, *made)
    caught_up = lake_assets_here(trackers, "stream", "--until-caught-up")
    assert caught_up.returncode == 0, caught_up.stderr
    assert "feed 'later' failed, and others go on: topic 'nobody-made-this" in caught_up.stderr
    run(lake_assets_here, trackers, "refresh")
    feed = find_feed(load_feeds(trackers.feeds), "fitness")
    (view,) = feed.gold
    assert feed.keys == MODELS
    assert rows(trackers, bronze_of("fitness")).num_rows == EVENTS
    assert rows(trackers, quarantine_of("fitness")).num_rows == 0
    silver = {model: rows(trackers, feed.silver_table(model)) for model in MODELS}
    events = [event for table in silver.values() for event in table.to_pylist()]
    assert len(events) == EVENTS
    # What no number is stands in `_rescued`, and so does what only newer software sends.
    broken = [event for event in events if event["heart_bpm"] is None]
    assert len(broken) == EVENTS // 1_000
    assert {json.loads(event["_rescued"])["heart_bpm"] for event in broken} == {"--"}
    rescued = {event["version"] for event in events if "spo2" in (event["_rescued"] or "")}
    assert rescued == {"1.1"}
    for model, of_model in silver.items():
        gold = rows(trackers, feed.gold_table(view, model)).to_pylist()
        assert {row["model"] for row in gold} == {model}
        wanted = recomputed(of_model)
        found = {row["hour"].astimezone(UTC): row for row in gold}
        assert found.keys() == wanted.keys()
        for hour, (events, median, p95, kcal) in wanted.items():
            row = found[hour]
            assert (row["events"], row["kcal"]) == (events, kcal)
            # Sketches err by about 1 % of the rank, which at the far end is some beats.
            assert row["median_bpm"] == pytest.approx(median, abs=2)
            assert row["p95_bpm"] == pytest.approx(p95, abs=8)
