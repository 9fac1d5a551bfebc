import pytest

from lake_assets.alerts.forecast_samples import is_due, read_samples, write_samples
from lake_assets.alerts.forecasts import Offsets, Sample


def sample(at, boot="b"):
    feeds = {"games": {"t/0": Offsets(begin=1, reached=2, end=3)}}
    took = {"games.top": [(1.8e9, 3.5)]}
    return Sample(at=at, boot=boot, free_bytes=5, feeds=feeds, refreshes=took)


def test_samples_come_back_as_they_were(tmp_path):
    write_samples(tmp_path, [sample(1), sample(61)])
    (first, last) = read_samples(tmp_path, boot="b", now=70)
    assert (first.at, last.at) == (1, 61)
    assert last.feeds["games"]["t/0"] == Offsets(begin=1, reached=2, end=3)
    assert [tuple(one) for one in last.refreshes["games.top"]] == [(1.8e9, 3.5)]


def test_old_ones_those_of_another_boot_and_those_to_come_do_not_count(tmp_path):
    write_samples(tmp_path, [sample(1), sample(5_000), sample(6_000, "a"), sample(9_000)])
    assert [one.at for one in read_samples(tmp_path, boot="b", now=8_000)] == [5_000]


@pytest.mark.parametrize("text", ["", "{", '[{"at": 1}]'])
def test_what_cannot_be_read_is_none(tmp_path, text):
    assert read_samples(tmp_path, boot="b", now=1) == []
    (tmp_path / "forecast.json").write_text(text)
    assert read_samples(tmp_path, boot="b", now=1) == []


def test_a_look_is_due_each_minute():
    assert is_due([], 5)
    assert not is_due([sample(5)], 64)
    assert is_due([sample(5)], 65)
