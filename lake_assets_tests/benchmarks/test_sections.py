"""In a file of its own: a module's tests run in one process, and those of `test_run` beside it."""

import json

import pytest

from benchmarks.sections import SECTIONS
from lake_assets_tests.commandline import benchmarks_here


def ensure_ways(in_both, out):
    kafka, files = in_both["kafka"], in_both["files"]
    assert kafka["seconds"] > 0
    assert kafka["export_s"] is None
    assert files["seconds"] > files["export_s"] > 0
    assert all(0 < way["mean_way_s"] < 60 for way in (kafka, files))
    assert out["34"]["1"]["4"]["1"]["rows_per_s"] > 0


def ensure_cases(of_clusters):
    for spark in ("one JVM", "cluster"):
        (case,) = of_clusters[spark].values()
        assert min(case[name] for name in ("batch_s", "jvm_s", "python_s")) > 0


def ensure_refreshes(found):
    shares = [f"after {share} new rows" for share in ("0.1%", "1.0%", "10.0%")]
    ways = ["all games in one job", "a query a game"]
    assert set(found) == {"note", *shares, *ways}
    added = [found[share]["new_rows"] for share in shares]
    # Of each of two games so many rows, rounded up.
    assert all(n <= rows < n + 2 for n, rows in zip((4, 40, 400), added, strict=True))


def ensure_erasures(found):
    assert all(way["seconds"] > 0 for name, way in found.items() if name != "note")
    assert found["1 late"]["rows"] >= 2  # of silver and of bronze


@pytest.mark.bench
@pytest.mark.slow
@pytest.mark.timeout(2_400)  # one section after another, most of which wait for a clock
@pytest.mark.kafka
@pytest.mark.spark
def test_all_sections_are_measured(connected):
    sections = ("--history", "4000", "--batches", "10", "--seconds", "3", "--rates", "200")
    only = ("--only", ",".join([*SECTIONS, "floor"]))
    asked = ("--quick", "--events", "2000", "--tables", "2", "--json", *only, *sections)
    done = benchmarks_here(connected, *asked)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    ensure_refreshes(found["refresh"])
    assert all(found["keyed"]["2"][rows]["merge_s"] > 0 for rows in ("1800", "180", "20"))
    for small, rows in ((found["small-batches"]["2"], 3_000), (found["store"]["2"]["20"], 2_000)):
        assert small["rows"] == pytest.approx(rows, rel=0.05)
        assert small["seconds"] >= small["job_s"] > 0
    latency = found["latency"]["200"]
    assert all(500 <= arrived["events"] <= 600 for arrived in latency.values())
    assert all(0 < arrived["p50_s"] <= arrived["p99_s"] for arrived in latency.values())
    for live in (latency["live"], latency["live, slow"]):
        assert live["p50_s"] <= live["gold_p50_s"] <= live["gold_p99_s"]
    assert "gold_p50_s" not in latency["none"]
    # Of a busy machine three seconds may be too few for one of the slow view.
    assert latency["live, slow"]["slow_refreshes"] >= latency["live"]["slow_refreshes"] == 0
    assert found["memory"]["floor"]["peak_mb"] > found["memory"]["floor"]["jvm_mb"] > 100
    maintained, left = (found["endurance"][way] for way in ("maintained", "left alone"))
    assert maintained["batches"] == left["batches"] == 24
    assert maintained["live_files"] < left["live_files"]
    assert maintained["last_batch_s"] > 0
    ensure_cases(found["cluster"])
    assert found["scheduled"]["2"]["ticks"] >= 1
    assert min(found["scheduled"]["2"]["median_s"], found["file-formats"]["csv"]["read_s"]) > 0
    ensure_ways(found["files"], found["rest-sinks"])
    assert not connected.home.exists()
    ensure_erasures(found["erasure"])
