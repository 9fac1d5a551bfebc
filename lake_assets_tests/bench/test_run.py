import json

import pytest
from rich.console import Console

from lake_assets.bench.peers import MEASURES
from lake_assets.bench.run import run_bench
from lake_assets.bench.venue import Options
from lake_assets.errors import SettingsError
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import lake_assets


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.spark
def test_all_peers_are_measured_for_every_number_of_tables(connected):
    every = ",".join(MEASURES)
    asked = ("--events", "2000", "--runs", "1", "--tables", "1,3", "--only", every, "--json")
    done = lake_assets(connected, "bench", *asked)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["events"], found["value_bytes"] > 2000 * 50) == (2000, True)
    assert {m: set(by) for m, by in found["seconds"].items()} == {m: {"1", "3"} for m in MEASURES}
    assert {n: set(by) for n, by in found["tables"].items()} == {
        n: set(MEASURES) for n in ("1", "3")
    }
    assert {m: set(by) for m, by in found["ratio_to_floor"].items()} == {
        m: {"1", "3"} for m in MEASURES if m != "floor"
    }
    assert set(found["events_per_s"]) == set(MEASURES)
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
    kafka = KafkaSettings(bootstrap_servers="h:1", options={"sasl.username": "me"})
    wrong = settings.model_copy(update={"kafka": kafka})
    assert refused(wrong).startswith("LAKE_ASSETS_KAFKA_OPTIONS:")
