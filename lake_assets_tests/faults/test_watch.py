import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from faults.journal import Acked, Reading, append
from faults.lake import NAMES
from faults.places import on_disk
from faults.watch import Sample, Watch
from lake_assets_tests.e2e.dev import wait_for


@pytest.fixture
def watch(tmp_path):
    (tmp_path / "lake").mkdir()
    one = Watch(on_disk(str(tmp_path / "lake")), NAMES, Reading(tmp_path / "journal"), print)
    one.start()
    yield one
    one.end()


def note(tmp_path, *offsets, at=100.0):
    with (tmp_path / "journal").open("a") as file:
        append(file, [Acked(at, "t", 0, offset, f"e{offset}", "uno", "ann") for offset in offsets])


def write(tmp_path, *offsets, table="silver/silver_uno_events"):
    columns = {"_partition": [0] * len(offsets), "_offset": [*offsets]}
    write_deltalake(tmp_path / "lake" / table, pa.table(columns), mode="append")


def test_events_are_visible_once_a_commit_of_silver_has_them(watch, tmp_path):
    note(tmp_path, 0, 1)
    wait_for(lambda: watch.waiting == 2, "the journal", within_s=120)
    assert watch.examples()[0] == "e0 of uno at 0/0"
    write(tmp_path, 0)
    wait_for(lambda: watch.visible == 1, "a row", within_s=120)
    note(tmp_path, 2, at=200.0)
    assert not watch.is_visible_after(100.0)
    write(tmp_path, 1, 2)
    wait_for(lambda: watch.waiting == 0, "the rest", within_s=120)
    assert watch.is_visible_after(150.0)
    assert watch.failure is None


def test_what_is_visible_before_it_is_in_the_journal_counts_then(watch, tmp_path):
    write(tmp_path, 5)
    DeltaTable(tmp_path / "lake" / "silver" / "silver_uno_events").optimize.compact()
    wait_for(lambda: len(watch.samples) > 1, "a look", within_s=120)
    note(tmp_path, 5)
    wait_for(lambda: watch.visible == 1, "the event", within_s=120)


def sample(at, acked, visible):
    return Sample(at=at, acked=acked, visible=visible, lag_s=0.0, blind=False)


@pytest.mark.parametrize(
    ("samples", "outage_s"),
    [
        ([sample(0, 5, 5), sample(1, 5, 5), sample(9, 5, 5)], 0),  # nothing to do
        ([sample(0, 5, 5), sample(1, 9, 5), sample(4, 20, 5), sample(5, 30, 30)], 4),
        ([sample(0, 9, 5), sample(3, 20, 5)], 3),  # not over yet
    ],
)
def test_the_longest_outage_is_the_longest_wait_for_any_row(tmp_path, samples, outage_s):
    watch = Watch(on_disk(str(tmp_path)), NAMES, Reading(tmp_path / "journal"), print)
    watch.samples += samples
    assert watch.longest_outage_s() == outage_s
