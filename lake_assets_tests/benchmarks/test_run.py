import json

import pytest
from rich.console import Console

from benchmarks.peers import MEASURES
from benchmarks.run import run_bench
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
