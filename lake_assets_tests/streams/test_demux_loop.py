"""Streams that meet state which is old, copied or gone: nothing is lost, nothing is there twice."""

import shutil
from collections import Counter

import pytest

from lake_assets.errors import StreamError
from lake_assets.model.routes import Route
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.streams.pipeline import demux_journal
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake
from lake_assets_tests.table_logs import commit_file

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def lake(spark, services, settings):
    return StreamedLake(spark, settings, Topic(services))


@pytest.fixture
def produce(lake):
    """Produces rows of two games, and some bad ones; returns where they are by kind."""
    known = lake.topic.register(0)

    def go(count):
        values = [framed(known, ("uno", "go_fish")[i % 2], gamer=f"g{i}") for i in range(count)]
        bad = [b"bad"] * (count // 10)
        places = lake.topic.produce(*values, *bad)
        return Counter(places[:count]), Counter(places[count:])

    return go


@pytest.fixture
def go_on_from_a_copy(lake, produce):
    """Streams, with a folder put back meanwhile as it was earlier; returns the rows by kind."""

    def go(folder):
        first, bad = produce(20)
        lake.stream()
        kept = lake.keep(folder)
        second, _ = produce(9)
        lake.stream()
        lake.put_back(kept)
        third, _ = produce(5)
        lake.stream()
        return first + second + third, bad

    return go


def test_a_state_folder_older_than_the_tables_loses_nothing(lake, go_on_from_a_copy):
    good, bad = go_on_from_a_copy(lake.settings.state_dir)
    assert lake.silver == good
    assert lake.bronze == good + bad


def test_a_state_folder_that_is_gone_loses_nothing_and_doubles_nothing(lake, produce):
    first, bad = produce(20)
    lake.stream()
    shutil.rmtree(lake.settings.state_dir)
    second, _ = produce(5)
    lake.stream()
    assert lake.silver == first + second
    assert lake.quarantine == bad


def test_a_lake_put_back_from_a_copy_goes_on_from_there(lake, go_on_from_a_copy):
    good, bad = go_on_from_a_copy(lake.settings.lake_dir)
    assert lake.silver == good
    assert lake.quarantine == bad


def test_bronze_put_back_from_a_copy_is_filled_again_and_silver_gets_only_what_is_new(
    lake, go_on_from_a_copy
):
    good, _ = go_on_from_a_copy(lake.folder(bronze_of("games")))
    assert lake.silver == good
    assert Counter(lake.bronze.values()).keys() == {1}


def test_a_batch_that_was_cut_off_is_finished_from_the_journal(lake, produce):
    first, _ = produce(20)
    lake.stream()
    kept = lake.keep(lake.folder(quarantine_of("games")))
    second, _ = produce(9)
    lake.stream()
    versions = lake.version(silver_of("uno"))
    lake.put_back(kept)  # as if the last batch had died before its last commit
    lake.demux()
    assert lake.silver == first + second
    assert lake.version(silver_of("uno")) == versions


def test_a_batch_from_the_journal_is_placed_as_it_was_though_the_feed_changed_since(lake, produce):
    produce(2)
    lake.stream()
    kept = [lake.keep(lake.folder(t)) for t in (quarantine_of("games"), silver_of("uno"))]
    known = lake.topic.register(0)
    lake.topic.produce(framed(known, "uno"), framed(known, "chess"))
    lake.stream()
    refused = lake.quarantine
    folders = [lake.folder(t) for t in (quarantine_of("games"), silver_of("uno"))]
    files = [path for folder in folders for path in folder.glob("*.parquet")]
    written = [(path, path.read_bytes()) for path in files]
    for copy in kept:
        lake.put_back(copy)
    for path, content in written:
        path.write_bytes(content)
    chess = Route(column="game_name", keys=("chess", "uno", "go_fish"))
    lake.demux(lake.topic.feed(route=chess))
    assert (lake.quarantine, lake.silver.total()) == (refused, 3)


@pytest.mark.parametrize("journal", ["gone", "torn", "of another batch"])
def test_a_batch_that_was_cut_off_runs_again_if_the_journal_is_no_help(lake, produce, journal):
    first, bad = produce(20)
    lake.stream()
    path = demux_journal(lake.settings.state_dir, lake.feed).path
    old = path.read_text()
    kept = lake.keep(lake.folder(quarantine_of("games")))
    second, more_bad = produce(10)
    lake.stream()
    lake.put_back(kept)
    if journal == "gone":
        path.unlink()
    else:
        path.write_text(old if journal == "of another batch" else old[:50])
    third, _ = produce(5)
    lake.stream()
    assert lake.silver == first + second + third
    assert lake.quarantine == bad + more_bad


def test_a_journal_whose_files_are_gone_is_not_believed(lake, produce):
    first, _ = produce(20)
    lake.stream()
    kept = [lake.keep(lake.folder(t)) for t in (quarantine_of("games"), silver_of("uno"))]
    second, _ = produce(10)
    lake.stream()
    for copy in kept:
        lake.put_back(copy)
    lake.stream()
    assert lake.silver == first + second


def test_a_silver_table_put_back_alone_is_refused_until_silver_is_rebuilt(lake, produce):
    first, _ = produce(20)
    lake.stream()
    kept = lake.keep(lake.folder(silver_of("uno")))
    second, _ = produce(10)
    lake.stream()
    lake.put_back(kept)
    third, _ = produce(5)
    with pytest.raises(StreamError, match=r"do not fit together.*rebuild silver"):
        lake.stream()
    lake.rebuild()
    lake.stream()
    assert lake.silver == first + second + third


def test_a_quarantine_table_that_is_gone_is_refused_until_silver_is_rebuilt(lake, produce):
    first, bad = produce(20)
    lake.stream()
    shutil.rmtree(lake.folder(quarantine_of("games")))
    with pytest.raises(StreamError, match="do not fit together"):
        lake.stream()
    lake.rebuild()
    lake.stream()
    assert (lake.silver, lake.quarantine) == (first, bad)


def test_a_bronze_table_made_anew_is_refused(lake, produce):
    produce(4)
    lake.stream()
    shutil.rmtree(lake.folder(bronze_of("games")))
    with pytest.raises(StreamError, match="another bronze table"):
        lake.stream()


def test_a_topic_made_anew_is_refused(lake, produce):
    produce(4)
    lake.stream()
    lake.topic.delete()
    produce(8)
    with pytest.raises(StreamError, match="created again"):
        lake.stream()


def test_the_end_of_a_topic_is_the_end_at_the_first_start(lake, produce):
    produce(4)
    feed = lake.topic.feed(source=lake.topic.source(starting_offsets="latest"))
    lake.stream(feed)
    later, _ = produce(5)
    lake.stream(feed)
    assert lake.silver == later


def test_bronze_whose_commits_record_no_offsets_is_continued_by_its_rows(lake, produce):
    first, bad = produce(20)
    lake.stream()
    lake.forget_transactions(bronze_of("games"))
    second, _ = produce(5)
    lake.ingest()
    assert lake.bronze == first + bad + second


@pytest.mark.parametrize("torn", [bronze_of("games"), quarantine_of("games")], ids=str)
def test_a_power_cut_that_tears_the_newest_commit_loses_nothing(lake, produce, torn):
    first, bad = produce(20)
    lake.stream()
    commit_file(lake.folder(torn), lake.version(torn)).write_bytes(b"")
    (lake.settings.state_dir / "checked_logs.json").unlink()  # as after another start
    second, _ = produce(5)
    lake.stream()
    assert (lake.silver, lake.quarantine) == (first + second, bad)
    assert lake.bronze == first + second + bad


def test_a_silver_table_that_lost_its_newest_commit_is_refused_until_it_is_rebuilt(lake, produce):
    first, _ = produce(20)
    lake.stream()
    uno = silver_of("uno")
    commit_file(lake.folder(uno), lake.version(uno)).write_bytes(b"")
    (lake.settings.state_dir / "checked_logs.json").unlink()  # as after another start
    with pytest.raises(StreamError, match="do not fit together"):
        lake.stream()
    lake.rebuild()
    lake.stream()
    assert lake.silver == first
