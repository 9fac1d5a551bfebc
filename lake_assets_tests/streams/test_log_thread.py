import logging
import time

import pytest
from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.tables import QUALITY_LOG, STREAM_LOG
from lake_assets.settings.upkeep import LogSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.local import LocalStore
from lake_assets.streams.log_thread import LogThread, keep_log_thread, spool_folder
from lake_assets.streams.watch import Watch
from lake_assets_tests.logs.reports import demuxed
from lake_assets_tests.sample import GAMES

NOBODY = Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")


def logged(settings, table=STREAM_LOG):
    found = open_table(LocalStore.at(settings.lake_dir), table)
    rows = found.to_pyarrow_table().to_pylist() if found else []
    return sorted((row["batch"], row.get("lag_rows")) for row in rows)


def test_batches_are_logged_at_the_end(settings):
    with keep_log_thread(settings, [GAMES], NOBODY) as log_thread:
        log_thread.add(demuxed(0))
        log_thread.add(demuxed(1))
    assert logged(settings) == [(0, 0), (1, 0)]
    assert DeltaTable(settings.lake_dir / STREAM_LOG.relative).version() == 1
    assert len(logged(settings, QUALITY_LOG)) == 2
    assert list(spool_folder(settings).iterdir()) == []


def test_streams_without_a_batch_make_no_log(settings):
    with keep_log_thread(settings, [GAMES], NOBODY):
        pass
    assert open_table(LocalStore.at(settings.lake_dir), STREAM_LOG) is None


def test_batches_are_logged_every_so_often(settings):
    often = settings.model_copy(update={"log": LogSettings(append_every_s=0.05)})
    with keep_log_thread(often, [GAMES], NOBODY) as log_thread:
        log_thread.add(demuxed(0))
        deadline = time.monotonic() + 20
        while not logged(settings) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [batch for batch, _ in logged(settings)] == [0]


def test_what_a_killed_process_kept_is_logged_by_the_next(settings):
    LogThread(settings, [GAMES], NOBODY).add(demuxed(0))
    assert logged(settings) == []
    with keep_log_thread(settings, [GAMES], NOBODY) as log_thread:
        log_thread.add(demuxed(0))
        log_thread.add(demuxed(1))
    assert [batch for batch, _ in logged(settings)] == [0, 1]


def test_logs_that_cannot_be_written_wait_and_stop_nothing(settings, caplog):
    folder = settings.lake_dir / STREAM_LOG.relative
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    with caplog.at_level(logging.WARNING), keep_log_thread(settings, [GAMES], NOBODY) as log_thread:
        log_thread.add(demuxed(0))
    assert "the logs wait: " in caplog.text
    folder.unlink()
    with keep_log_thread(settings, [GAMES], NOBODY):
        pass
    assert [batch for batch, _ in logged(settings)] == [0]


def test_a_spool_that_cannot_be_written_stops_no_batch(settings, caplog):
    spool_folder(settings).parent.mkdir(parents=True)
    spool_folder(settings).write_text("in the way")
    with caplog.at_level(logging.WARNING), keep_log_thread(settings, [GAMES], NOBODY) as log_thread:
        log_thread.add(demuxed(0))
    assert "a batch is missing in the logs" in caplog.text


@pytest.mark.parametrize("days", [1, 30])
def test_upkeep_is_done_on_the_way(settings, days):
    kept = settings.model_copy(update={"log": LogSettings(keep_days=days, compact_above_files=2)})
    for batch in range(4):
        with keep_log_thread(kept, [GAMES], NOBODY) as log_thread:
            log_thread.add(demuxed(batch))
    assert [batch for batch, _ in logged(settings)] == [0, 1, 2, 3]
    with open_lake(settings) as context:
        assert len(context.committer.fresh(STREAM_LOG).file_uris()) <= 2


def test_it_tells_whether_its_thread_lives(settings):
    with keep_log_thread(settings, [GAMES], NOBODY) as log_thread:
        assert log_thread.is_alive()
    assert not log_thread.is_alive()


def test_who_watches_is_told_of_the_lag_that_was_measured(settings):
    class Noting(Watch):
        told = None

        def lag(self, report, rows):
            self.told = (report, rows)

    watch, report = Noting(settings, [GAMES], None), demuxed(1)
    with keep_log_thread(settings, [GAMES], NOBODY, watch) as log_thread:
        log_thread.add(report)
    assert watch.told == (report, 0)  # there is no bronze to be behind of
