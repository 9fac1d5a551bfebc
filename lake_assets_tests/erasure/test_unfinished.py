import json
import shutil
import threading

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.history_end import end_history
from lake_assets.delta.table_log import log_of
from lake_assets.erasure import end as end_module
from lake_assets.erasure.end import end_histories
from lake_assets.erasure.unfinished import Unfinished
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.files import streams_lock
from lake_assets_tests.maintenance.lakes import SCHEMA, WrittenLake, later
from lake_assets_tests.sample import GAMES, gold_of, silver_of

UNO, AGG = silver_of("uno"), gold_of("uno", "player_agg")


@pytest.fixture
def lake(settings):
    made = WrittenLake(settings, "games")
    for table in (UNO, AGG):
        made.create(table, "uno")
        made.append(table, 2)
    yield made
    made.committer.close()


def end(lake, table=UNO):
    known = Unfinished.of(lake.settings, lake.store, [GAMES])
    log = log_of(lake.store, table)
    done = end_history(log, lambda: lake.committer.fresh(table), known.in_use(table))
    known.save()
    return done


def written(lake, table=UNO):
    return lake.file(table, pa.table({"n": [99], "text": ["y"]}, schema=SCHEMA))


def test_a_file_that_no_commit_names_goes_after_an_hour(lake):
    file = written(lake)
    (left,) = end(lake).left
    assert left.path == file.path
    assert "in 60 minutes" in left.why
    assert end(lake).left
    later(lake.settings, feed="-erasure", wall_s=8 * 86_400, monotonic_s=3500)
    (left,) = end(lake).left
    assert "in 2 minutes" in left.why
    later(lake.settings, feed="-erasure", wall_s=0, monotonic_s=101)
    done = end(lake)
    assert (done.files, done.left) == (1, ())
    assert lake.numbers(UNO) == [1, 2]


def test_one_that_is_committed_meanwhile_stays(lake):
    file = written(lake)
    end(lake)
    lake.committer.append([Commit(table=UNO, files=[file])], Batch("stream", 99))
    later(lake.settings, feed="-erasure")
    assert end(lake).files == 0
    assert lake.numbers(UNO) == [1, 2, 99]


def test_one_that_a_journal_names_stays(lake):
    file = written(lake)
    end(lake)
    later(lake.settings, feed="-erasure")
    journals = lake.settings.state_dir / "journals"
    journals.mkdir()
    (journals / "demux_games.json").write_text(json.dumps({"files": [file.path]}))
    (left,) = end(lake).left
    assert "start the streams" in left.why


@pytest.fixture
def batch(lake):
    """The streams have a batch in hand: its file is written and noted; commits it when told."""
    file = written(lake)
    journal = lake.settings.state_dir / "journals" / "demux_games.json"
    journal.parent.mkdir(parents=True)
    journal.write_text(json.dumps({"files": [file.path]}))

    def commit():
        lake.committer.append([Commit(table=UNO, files=[file])], Batch("stream", 99))
        lake.committer.settle()
        journal.unlink()

    with streams_lock(lake.settings.state_dir):
        yield commit


def end_all(lake):
    context = LakeContext(committer=lake.committer, buffer_bytes=1)
    return end_histories(lake.settings, context, [GAMES], [UNO], ())


def test_a_batch_that_streams_have_in_hand_is_waited_for(lake, batch):
    committing = threading.Timer(1.0, batch)
    committing.start()
    done = end_all(lake)
    committing.join()
    assert done.left == []
    assert lake.numbers(UNO) == [1, 2, 99]


@pytest.mark.usefixtures("batch")
def test_one_that_does_not_end_is_told_as_the_streams(lake, monkeypatch):
    monkeypatch.setattr(end_module, "_BATCHES_WITHIN_S", 0.2)
    (left,) = end_all(lake).left
    assert left.endswith(": a batch of the streams has it: ask again")


def test_files_of_a_view_that_is_being_refreshed_stay(lake):
    written(lake, AGG)
    end(lake, AGG)
    later(lake.settings, feed="-erasure")
    with turn_of_views(lake.settings.state_dir, GAMES, GAMES.gold):
        (left,) = end(lake, AGG).left
    assert "player_agg is being refreshed" in left.why
    assert end(lake, AGG).files == 1


def test_files_that_left_the_table_go_at_once(lake):
    lake.committer.delete(UNO, "n = 1")
    assert end(lake).files == 1
    assert lake.numbers(UNO) == [2]


def test_what_maintenance_has_known_for_long_goes_at_once(lake):
    file = written(lake)
    end(lake)
    noted = lake.settings.state_dir / "unused_files"
    shutil.move(noted / "-erasure.json", noted / "games.json")
    later(lake.settings)
    assert end(lake).files == 1
    assert not (lake.path(UNO) / file.path).exists()
