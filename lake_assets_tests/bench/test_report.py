import json

import pytest

from lake_assets.bench.report import BenchReport, Machine


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
    }
