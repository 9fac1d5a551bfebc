"""From which versions of a view a batch goes to which, and what is recorded; without Spark."""

import os
import shutil
from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.maintenance.holds import holds_of
from lake_assets.maintenance.run import maintain
from lake_assets.model.tables import deliveries_of
from lake_assets.sinks import view_batches
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.standing import standing_of
from lake_assets.sinks.view_batches import next_batch
from lake_assets.sinks.view_position import begin_notes
from lake_assets.sinks.view_rows import progress_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.clock import wall_clock
from lake_assets_tests.sample import gold_of
from lake_assets_tests.sinks.views import SCHEMA, folder_of, refresh, to_api

TABLE, OTHER = gold_of("uno", "best"), gold_of("go_fish", "best")


@pytest.fixture
def deliveries(settings):
    with open_lake(settings) as context:
        yield Deliveries(context, deliveries_of("games", "out"), has_offsets=False)


def _next(settings, deliveries, *key):
    return next_batch(lake_of(settings), deliveries, [OTHER, TABLE], key or ["gamer_id"])


def _begin(deliveries, batch):
    deliveries.note(begin_notes(batch.begun, batch.unknown))


def _end(deliveries, batch):
    deliveries.record(batch.begun.number, [], progress_of(batch))


def _files(batch):
    return [(len(one.came.files), len(one.went.files)) for one in batch.changes]


def test_a_batch_has_the_files_that_only_one_version_has(settings, deliveries):
    assert _next(settings, deliveries) is None
    refresh(settings, {"ann": 1})
    refresh(settings, {"bob": 1}, "go_fish")
    first = _next(settings, deliveries)
    assert [one.table for one in first.changes] == [OTHER, TABLE]
    assert _files(first) == [(1, 0), (1, 0)]
    _end(deliveries, first)
    assert _next(settings, deliveries) is None
    refresh(settings, {"ann": 2})
    refresh(settings, {"ann": 3})
    second = _next(settings, deliveries)
    assert (_files(second), second.changes[0].until.version) == ([(1, 1)], 2)
    assert second.changes[0].columns.names == ["gamer_id", "score"]
    assert second.begun.time_us > first.begun.time_us


def test_what_was_begun_is_the_same_in_another_process(settings, deliveries):
    refresh(settings, {"ann": 1})
    first = _next(settings, deliveries)
    _begin(deliveries, first)
    refresh(settings, {"ann": 2})
    refresh(settings, {"bob": 2}, "go_fish")
    with open_lake(settings) as context:
        again = Deliveries(context, deliveries.table, has_offsets=False)
        found = _next(settings, again)
    assert (found.is_noted, found.was_begun) == (True, True)
    assert (found.begun.number, found.begun.time_us) == (1, first.begun.time_us)
    assert [(one.table, one.until.version) for one in found.changes] == [(TABLE, 0)]


def test_what_a_version_of_ours_began_that_knew_no_keys_is_begun_anew(settings, deliveries):
    refresh(settings, {"ann": 1})
    first = _next(settings, deliveries)
    notes = begin_notes(first.begun)
    deliveries.note([note for note in notes if note.app_id != "lake_assets:sink-key"])
    again = _next(settings, deliveries)
    assert (again.is_noted, again.was_begun, again.begun.number) == (False, True, 1)
    assert (_files(again), again.begun.time_us) == ([(1, 0)], first.begun.time_us + 1)


def test_the_time_of_a_batch_grows_though_a_clock_is_set_back(settings, deliveries):
    refresh(settings, {"ann": 1})
    first = _next(settings, deliveries)
    _begin(deliveries, first)
    _end(deliveries, first)
    refresh(settings, {"ann": 2})
    os.utime(folder_of(settings) / "_delta_log" / f"{1:020}.json", (1_000, 1_000))
    second = _next(settings, deliveries)
    assert second.begun.time_us == first.begun.time_us + 1


def test_a_table_that_is_gone_in_the_midst_of_it_holds_up_no_other(settings, deliveries):
    refresh(settings, {"ann": 1})
    refresh(settings, {"bob": 1}, "go_fish")
    first = _next(settings, deliveries)
    _end(deliveries, first)
    refresh(settings, {"ann": 2})
    refresh(settings, {"bob": 2}, "go_fish")
    batch = _next(settings, deliveries)
    _begin(deliveries, batch)
    folder = folder_of(settings)
    folder.rename(folder.with_name("away"))
    again = _next(settings, deliveries)
    assert [one.table for one in again.changes] == [OTHER]
    assert (again.unknown, again.is_noted) == ((TABLE,), False)
    _begin(deliveries, again)
    _end(deliveries, again)
    assert _next(settings, deliveries) is None
    # It comes back, and nobody knows what of its last version was sent.
    folder.with_name("away").rename(folder)
    assert _files(_next(settings, deliveries)) == [(1, 0)]


def test_all_rows_are_sent_where_a_version_is_gone_however_often_that_is_cut_off(
    settings, deliveries
):
    refresh(settings, {"ann": 1, "bob": 1})
    _end(deliveries, _next(settings, deliveries))
    refresh(settings, {"ann": 2, "bob": 1})
    _begin(deliveries, _next(settings, deliveries))
    table = refresh(settings, {"ann": 1, "bob": 1})
    options = {"retention_hours": 0, "enforce_retention_duration": False, "dry_run": False}
    kept = {path.name: path.read_bytes() for path in folder_of(settings).glob("*.parquet")}
    table.vacuum(**options)
    lost = _next(settings, deliveries)
    assert (_files(lost), lost.is_noted, lost.unknown) == ([(1, 0)], False, (TABLE,))
    _begin(deliveries, lost)
    for name, content in kept.items():  # also if they come back
        (folder_of(settings) / name).write_bytes(content)
    again = _next(settings, deliveries)
    assert (_files(again), again.is_noted) == ([(1, 0)], True)
    assert again.changes[0].until.version == lost.changes[0].until.version
    _end(deliveries, again)
    refresh(settings, {"ann": 3, "bob": 1})
    assert _files(_next(settings, deliveries)) == [(1, 1)]


def test_a_batch_that_lacks_a_column_of_the_key_by_now_holds_nothing_up(settings, deliveries):
    refresh(settings, {"ann": 1})
    _begin(deliveries, _next(settings, deliveries))
    wider = pa.schema([*SCHEMA, ("level", pa.string())])
    refresh(settings, [{"gamer_id": "ann", "score": 1, "level": "gold"}], schema=wider)
    found = _next(settings, deliveries, "gamer_id", "level")
    assert (_files(found), found.changes[0].until.version, found.is_noted) == ([(1, 0)], 1, False)


def test_a_table_that_left_a_batch_with_its_key_is_sent_whole_when_it_is_back(settings, deliveries):
    refresh(settings, {"ann": 1})
    refresh(settings, {"bob": 1}, "go_fish")
    _end(deliveries, _next(settings, deliveries))
    refresh(settings, {"ann": 2})
    refresh(settings, {"bob": 2}, "go_fish")
    _begin(deliveries, _next(settings, deliveries))
    lake = lake_of(settings)
    _end(deliveries, next_batch(lake, deliveries, [OTHER], ["gamer_id"]))
    back = _next(settings, deliveries)
    assert _files(back) == [(1, 0)]
    _begin(deliveries, back)  # and cut off
    assert _files(_next(settings, deliveries)) == [(1, 0)]
    _end(deliveries, back)
    refresh(settings, {"ann": 3})
    assert _files(_next(settings, deliveries)) == [(1, 1)]


def test_a_large_change_is_a_batch_of_its_own_in_shares(settings, deliveries, monkeypatch):
    monkeypatch.setattr(view_batches, "_MOST_ROWS", 10)
    refresh(settings, {f"p{number}": 1 for number in range(4)}, "go_fish")
    refresh(settings, {f"p{number}": 1 for number in range(25)})
    small = _next(settings, deliveries)
    assert ([one.table for one in small.changes], small.begun.shares) == ([OTHER], 1)
    _end(deliveries, small)
    large = _next(settings, deliveries)
    assert (large.begun.share, large.begun.shares) == (0, 3)
    _begin(deliveries, large)
    number = large.begun.number
    _end(deliveries, large)
    monkeypatch.setattr(view_batches, "_MOST_ROWS", 1_000)
    second = _next(settings, deliveries)
    assert (second.begun.number, second.begun.share, second.begun.shares) == (number + 1, 1, 3)
    assert second.begun.time_us == large.begun.time_us


def test_a_batch_that_is_all_rows_by_now_is_begun_anew_in_enough_shares(
    settings, deliveries, monkeypatch
):
    many = refresh(settings, {f"p{number}": 1 for number in range(25)}).to_pyarrow_table()
    _end(deliveries, _next(settings, deliveries))
    monkeypatch.setattr(view_batches, "_MOST_ROWS", 10)
    write_deltalake(folder_of(settings), many.slice(0, 5), mode="append")
    small = _next(settings, deliveries)
    assert small.begun.shares == 1
    _begin(deliveries, small)
    DeltaTable(folder_of(settings)).create_checkpoint()
    (folder_of(settings) / "_delta_log" / f"{0:020}.json").unlink()
    again = _next(settings, deliveries)
    assert (_files(again), again.begun.shares, again.is_noted) == ([(2, 0)], 3, False)
    assert (again.begun.number, again.was_begun) == (small.begun.number, True)
    assert again.begun.time_us > small.begun.time_us


def test_rows_that_are_told_apart_otherwise_are_sent_once_more(
    settings, deliveries, monkeypatch, caplog
):
    refresh(settings, {"ann": 1, "bob": 1})
    _end(deliveries, _next(settings, deliveries))
    refresh(settings, {"ann": 2, "bob": 1})
    assert _files(_next(settings, deliveries)) == [(1, 1)]
    other = _next(settings, deliveries, "gamer_id", "score")
    assert _files(other) == [(1, 0)]
    assert "told apart by other columns" in caplog.text
    _end(deliveries, other)
    refresh(settings, {"ann": 3, "bob": 1})
    assert _files(_next(settings, deliveries, "gamer_id", "score")) == [(1, 1)]
    # In the midst of it: rows of a share that is done would be in others.
    monkeypatch.setattr(view_batches, "_MOST_ROWS", 2)
    share = _next(settings, deliveries, "gamer_id", "score")
    assert (share.begun.share, share.begun.shares) == (0, 2)
    _begin(deliveries, share)
    _end(deliveries, share)
    assert _next(settings, deliveries, "gamer_id", "score").begun.share == 1
    anew = _next(settings, deliveries)
    assert (_files(anew), anew.begun.share, anew.is_noted) == ([(1, 0)], 0, False)


def test_versions_that_a_sink_needs_are_kept(settings, deliveries):
    feed = to_api("https://example.com")
    refresh(settings, {"ann": 1})
    _end(deliveries, _next(settings, deliveries))
    assert TABLE not in holds_of(settings, feed)
    assert standing_of(lake_of(settings), feed, feed.sinks[0], 0.0).behind_since is None
    refresh(settings, {"ann": 2})
    refresh(settings, {"ann": 3})
    first = folder_of(settings) / "_delta_log" / f"{1:020}.json"
    since = pytest.approx(first.stat().st_mtime)
    assert holds_of(settings, feed)[TABLE]["sink out is behind"] == since
    assert standing_of(lake_of(settings), feed, feed.sinks[0], 0.0).behind_since == since


def test_maintenance_leaves_the_files_that_a_sink_compares_with(settings, deliveries):
    feed = to_api("https://example.com")
    refresh(settings, {"ann": 1})
    _end(deliveries, _next(settings, deliveries))
    refresh(settings, {"ann": 2})
    with wall_clock() as clock:
        clock.ahead = timedelta(days=2)
        (upkeep,) = (one for one in maintain(settings, feed) if one.table == TABLE)
        assert (upkeep.deleted, upkeep.log_files) == (0, 0)
        batch = _next(settings, deliveries)
        assert _files(batch) == [(1, 1)]
        _end(deliveries, batch)
        clock.ahead = timedelta(days=3)
        (upkeep,) = (one for one in maintain(settings, feed) if one.table == TABLE)
        assert upkeep.deleted == 1


def test_what_a_compaction_did_keeps_no_sink_back_and_rows_that_went_do(settings, deliveries):
    feed = to_api("https://example.com")

    def behind_since():
        return standing_of(lake_of(settings), feed, feed.sinks[0], 0.0).behind_since

    write_deltalake(
        folder_of(settings), refresh(settings, {"ann": 1}).to_pyarrow_table(), mode="append"
    )
    _end(deliveries, _next(settings, deliveries))
    DeltaTable(folder_of(settings)).optimize.compact()
    assert behind_since() is None
    compacted = _next(settings, deliveries)
    assert (_files(compacted), compacted.has_rows) == ([(0, 0)], False)
    _end(deliveries, compacted)
    assert _next(settings, deliveries) is None
    DeltaTable(folder_of(settings)).delete()
    last = folder_of(settings) / "_delta_log" / f"{3:020}.json"
    assert behind_since() == pytest.approx(last.stat().st_mtime)
    DeltaTable(folder_of(settings)).restore(1)
    _end(deliveries, _next(settings, deliveries))
    shutil.rmtree(folder_of(settings))
    assert behind_since() is None
    refresh(settings, {"ann": 1})
    assert behind_since() is not None


def test_a_log_that_has_forgotten_the_commit_but_not_the_version_compares_all_the_same(
    settings, deliveries
):
    refresh(settings, {"ann": 0})
    refresh(settings, {"ann": 1})
    DeltaTable(folder_of(settings)).create_checkpoint()
    _end(deliveries, _next(settings, deliveries))
    refresh(settings, {"ann": 2})
    for version in (0, 1):
        (folder_of(settings) / "_delta_log" / f"{version:020}.json").unlink()
    assert _files(_next(settings, deliveries)) == [(1, 1)]


def test_a_copy_of_the_same_version_with_another_commit_is_sent_whole(settings, deliveries, caplog):
    folder = folder_of(settings)
    refresh(settings, {"ann": 1})
    shutil.copytree(folder, folder.with_name("copy"))
    refresh(settings, {"ann": 2})
    _end(deliveries, _next(settings, deliveries))
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)
    # Older than what was sent, then as new by its number alone.
    assert _files(_next(settings, deliveries)) == [(1, 0)]
    assert "its log has forgotten it" in caplog.text
    refresh(settings, {"ann": 3})
    assert _files(_next(settings, deliveries)) == [(1, 0)]
    assert "went on otherwise" in caplog.text
