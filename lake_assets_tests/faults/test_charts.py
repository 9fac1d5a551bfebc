import struct

import pytest

from faults.charts import apart, draw, per_second
from lake_assets.errors import SettingsError


def sample(at, acked, visible, lag_s=0.0, *, blind=False):
    return {"at": at, "acked": acked, "visible": visible, "lag_s": lag_s, "blind": blind}


def fault(name, at, ended, recovered_s):
    return {"name": name, "what": "", "at": at, "ended": ended, "recovered_s": recovered_s}


def venue(name, *faults, samples=()):
    return {
        "venue": name,
        "samples": list(samples),
        "faults": list(faults),
        "acked": 400,
        "lost": 0,
        "doubled": 0,
        "longest_outage_s": 12.0,
    }


SAMPLES = [sample(float(at), 100 * at, 90 * at, 1.0, blind=at == 2) for at in range(5)]


def size_of(path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head[:4] == b"\x89PNG"
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_a_chart_is_a_png_that_grows_with_its_venues_and_kinds(tmp_path):
    kill, pause = fault("kill -9 of the JVM", 1, 2, 3.5), fault("pause of the broker", 3, 3, None)
    one = {"seed": 1, "venues": [venue("disk", kill, samples=SAMPLES)]}
    two = {"seed": 1, "venues": [venue(at, kill, pause, samples=SAMPLES) for at in ("disk", "s3")]}
    draw(one, tmp_path / "images" / "one.png")
    draw(two, tmp_path / "two.png")
    (width, of_one), (as_wide, of_two) = map(size_of, tmp_path.rglob("*.png"))
    assert width == as_wide == 1430
    assert abs(of_one - of_two) > 700


def test_a_run_that_ended_before_anything_happened_has_a_chart(tmp_path):
    draw({"seed": 1, "venues": [venue("disk")]}, tmp_path / "one.png")
    assert size_of(tmp_path / "one.png")[0] == 1430


def test_a_report_without_venues_has_no_chart(tmp_path):
    with pytest.raises(SettingsError, match="--chart: has nothing to show"):
        draw({"seed": 1, "venues": []}, tmp_path / "one.png")


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "one.png").mkdir()
    with pytest.raises(SettingsError, match=r"one.png cannot be written \(Is a directory\)"):
        draw({"seed": 1, "venues": [venue("disk")]}, tmp_path / "one.png")


def test_rates_add_up_to_the_total_also_over_seconds_in_which_nobody_looked():
    rates, edges = per_second([*SAMPLES[:2], *SAMPLES[4:]], "acked", bins=4)
    assert edges == [0, 1, 2, 3, 4]
    assert rates == [100, 0, 0, 300]


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([], []),
        ([1, 5], [1, 5]),
        ([1, 1.5, 1.6, 8], [1, 2, 3, 8]),
        ([9, 9.5, 10], [8, 9, 10]),
    ],
)
def test_names_stand_apart_and_within_the_chart(wanted, placed):
    assert apart(wanted, 1, 10) == placed
