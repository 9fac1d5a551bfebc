"""`lake-assets backfill`, as far as it goes without Spark."""

import pytest

from lake_assets.cli import backfill
from lake_assets.model.reports import BatchReport, Stage
from lake_assets_tests.commandline import result_of, sparkless_here

OLD = """feed: old_games
source: {files: {path: /data/old, pattern: "*.jsonl", format: jsonl}}
payload: {json: {schema: "game string"}}
run: manual
"""


@pytest.mark.parametrize("stops", [True, False])
def test_one_that_was_stopped_ends_with_an_error_so_that_nobody_deletes_the_files(
    settings, tmp_path, monkeypatch, stops
):
    def run(*_given, **_named):
        yield BatchReport(
            feed="old_games", stage=Stage.INGEST, batch_id=0, rows={"bronze_old_games": 3}
        )
        if stops:
            raise KeyboardInterrupt

    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "old_games.yaml").write_text(OLD)
    settings = settings.model_copy(update={"feeds": tmp_path / "feeds"})
    monkeypatch.setattr(backfill, "run_feed", run)
    done = sparkless_here(settings, "backfill", "--feed", "old_games", "--json")
    told = result_of(done)
    assert (done.returncode, told["rows_taken"], told["is_whole"]) == (int(stops), 3, not stops)
