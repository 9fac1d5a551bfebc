import json
from dataclasses import replace

import pytest

from benchmarks.report import BenchReport, Machine
from benchmarks.section import Section


def report(**runs) -> BenchReport:
    return BenchReport(
        events=1000,
        value_bytes=110_000,
        machine=Machine(cpus=2, memory_gb=8.0, load_before=0.1),
        runs={7: runs},
    )


@pytest.fixture
def found() -> BenchReport:
    return report(floor=[4.0, 2.0, 9.0], demux=[5.0, 6.0, 1.0])


def test_a_measure_is_its_median(found):
    assert (found.seconds("floor", 7), found.seconds("demux", 7)) == (4.0, 5.0)


def test_a_ratio_is_of_the_medians(found):
    assert found.ratio("demux", 7) == 1.25


def test_without_the_floor_there_is_no_ratio():
    alone = report(demux=[5.0])
    assert alone.ratio("demux", 7) is None
    assert alone.as_json()["ratio_to_floor"] == {}


def test_json_has_every_figure_by_measure_and_number_of_tables(found):
    assert json.loads(json.dumps(found.as_json())) == {
        "events": 1000,
        "value_bytes": 110_000,
        "machine": {"cpus": 2, "memory_gb": 8.0, "load_before": 0.1},
        "ratio_to_floor": {"demux": {"7": 1.25}},
        "seconds": {"floor": {"7": 4.0}, "demux": {"7": 5.0}},
        "events_per_s": {"floor": {"7": 250}, "demux": {"7": 200}},
        "tables": {"7": {"floor": 4.0, "demux": 5.0}},
        "runs": {"7": {"floor": [4.0, 2.0, 9.0], "demux": [5.0, 6.0, 1.0]}},
        "files": {},
        "notes": [],
    }


def test_a_peer_that_ran_with_some_numbers_of_tables_has_no_figure_for_others(found):
    both = {**found.runs, 1000: {"demux": [8.0], "floor": [4.0]}}
    both[7] = {**both[7], "n-queries": [12.0]}
    figures = replace(found, runs=both).as_json()
    assert figures["ratio_to_floor"] == {
        "demux": {"7": 1.25, "1000": 2.0},
        "n-queries": {"7": 3.0},
    }
    assert figures["seconds"]["n-queries"] == {"7": 12.0}


def test_sections_files_and_notes_are_told():
    section = Section(name="latency", keys=("rate",), rows=[{"rate": 2000, "p50_s": 1.5}])
    told = replace(
        report(floor=[1.0]), sections=[section], files={7: {"floor": 2}}, notes=["why"]
    ).as_json()
    assert (told["latency"], told["files"], told["notes"]) == (
        {"2000": {"p50_s": 1.5}},
        {"7": {"floor": 2}},
        ["why"],
    )
