import json

import pytest
from rich.console import Console

from benchmarks.peers import MEASURES
from benchmarks.run import run_bench
from benchmarks.sections import SECTIONS
from benchmarks.venue import Options
from lake_assets.errors import SettingsError
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import benchmarks_here


@pytest.mark.bench
@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.spark
def test_all_peers_are_measured(connected, tmp_path):
    every, output, chart = ",".join(MEASURES), tmp_path / "bench.json", tmp_path / "bench.png"
    asked = ("--quick", "--events", "2000", "--tables", "3", "--only", every, "--json")
    files = ("--output", str(output), "--chart", str(chart))
    done = benchmarks_here(connected, *asked, *files)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["events"], found["value_bytes"] > 2000 * 50) == (2000, True)
    assert {m: set(by) for m, by in found["seconds"].items()} == {m: {"3"} for m in MEASURES}
    assert set(found["tables"]["3"]) == set(MEASURES)
    assert {m: set(by) for m, by in found["ratio_to_floor"].items()} == {
        m: {"3"} for m in MEASURES if m != "floor"
    }
    assert set(found["events_per_s"]) == set(MEASURES)
    # Both of the topic's partitions have rows of every game, and a view a game has one file.
    assert found["files"]["3"].items() >= {"floor": 2, "n-queries": 6, "foreach-batch": 6}.items()
    assert found["files"]["3"]["declarative-pipelines"] == 6 + 3
    assert found["notes"] == []
    assert json.loads(output.read_text()) == found
    assert chart.stat().st_size > 0
    assert not connected.home.exists()


@pytest.mark.bench
@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.spark
def test_all_sections_are_measured(connected):
    sections = ("--history", "4000", "--batches", "10", "--seconds", "3", "--rates", "200")
    only = ",".join([*SECTIONS, "floor"])
    asked = ("--quick", "--events", "2000", "--tables", "2", "--only", only, "--json", *sections)
    done = benchmarks_here(connected, *asked)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    shares = [f"after {share} new rows" for share in ("0.1%", "1.0%", "10.0%")]
    ways = ["all games in one job", "a query a game"]
    assert set(found["refresh"]) == {"note", *shares, *ways}
    added = [found["refresh"][share]["new_rows"] for share in shares]
    # Of each of two games so many rows, rounded up.
    assert all(n <= rows < n + 2 for n, rows in zip((4, 40, 400), added, strict=True))
    assert all(found["keyed"]["2"][rows]["merge_s"] > 0 for rows in ("1800", "180", "20"))
    small = found["small-batches"]["2"]
    assert small["rows"] == pytest.approx(3_000, rel=0.05)
    assert small["seconds"] >= small["job_s"] > 0
    latency = found["latency"]["200"]
    for arrived in latency.values():
        assert 500 <= arrived["events"] <= 600
        assert 0 < arrived["p50_s"] <= arrived["p99_s"]
    for live in (latency["live"], latency["live, slow"]):
        assert live["p50_s"] <= live["gold_p50_s"] <= live["gold_p99_s"]
    assert "gold_p50_s" not in latency["none"]
    assert latency["live, slow"]["slow_refreshes"] > latency["live"]["slow_refreshes"] == 0
    assert found["memory"]["floor"]["peak_mb"] > found["memory"]["floor"]["jvm_mb"] > 100
    maintained, left = found["endurance"]["maintained"], found["endurance"]["left alone"]
    assert maintained["batches"] == left["batches"] == 24
    assert maintained["live_files"] < left["live_files"]
    assert maintained["last_batch_s"] > 0
    assert found["scheduled"]["2"]["ticks"] >= 1
    assert found["scheduled"]["2"]["median_s"] > 0
    assert not connected.home.exists()


def refused(settings, **options) -> str:
    with pytest.raises(SettingsError) as caught:
        run_bench(settings, Options(**options), console=Console(), announce=print)
    return str(caught.value)


def test_an_unknown_measure_is_refused(settings):
    assert "--only: 'gold' is not measured. Choose from floor" in refused(settings, only=("gold",))


def test_no_tables_are_refused(settings):
    assert refused(settings, tables=(0,)).startswith("--tables:")


def test_properties_that_the_floor_cannot_use_are_refused(settings):
    kafka = KafkaSettings(bootstrap_servers="h:1", options={"client.id": "me"})
    wrong = settings.model_copy(update={"kafka": kafka})
    assert refused(wrong).startswith("LAKE_ASSETS_KAFKA_OPTIONS:")
