import struct

import pytest

from benchmarks.chart import draw, ensure_drawable
from benchmarks.report import BenchReport, Machine
from lake_assets.errors import SettingsError

MACHINE = Machine(cpus=2, memory_gb=8.0, load_before=0.1)


def report(**runs) -> BenchReport:
    by_tables = {
        1: {name: [1.0] for name in runs},
        100: {name: [seconds] for name, seconds in runs.items()},
    }
    return BenchReport(events=1000, value_bytes=110_000, machine=MACHINE, runs=by_tables)


def test_a_chart_is_a_png_of_a_readable_size(tmp_path):
    ensure_drawable()
    path = tmp_path / "images" / "bench.png"
    draw(report(**{"floor": 4.0, "demux": 4.4, "n-queries": 400.0}), path)
    head = path.read_bytes()[:24]
    width, height = struct.unpack(">II", head[16:])
    assert (head[:4], width, height) == (b"\x89PNG", 1200, 750)


def test_a_report_without_ratios_has_no_chart(tmp_path):
    with pytest.raises(SettingsError, match="--chart: has nothing to show"):
        draw(report(demux=4.0), tmp_path / "bench.png")


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "bench.png").mkdir()
    with pytest.raises(SettingsError, match=r"bench.png cannot be written \(Is a directory\)"):
        draw(report(floor=4.0, demux=4.0), tmp_path / "bench.png")
