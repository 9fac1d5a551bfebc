from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.model.origins import Origin
from lake_assets.model.reports import BatchReport, Judged, Stage
from lake_assets.silver.apply_expectations import Outcome
from lake_assets.silver.batch_notes import note_of, replayed
from lake_assets.silver.demuxed import Demuxed
from lake_assets.spark.fan_out import Written
from lake_assets_tests.sample import silver_of

FILE = DataFile(path="a.parquet", size=1, rows=3, stats="{}")
COMMIT = Commit(table=silver_of("uno"), files=[FILE])
BATCH = Batch("query", 7)


def test_a_batch_that_is_finished_later_is_reported_as_it_was_judged():
    judged = Judged(seen=4, violated=1, examples=(Origin("t", 0, 9),))
    outcome = Outcome(seen=4, dropped=1, judged={"known": judged})
    demuxed = Demuxed(written={silver_of("uno"): Written(files=[FILE])}, outcomes={"uno": outcome})
    assert replayed("games", BATCH, [COMMIT], note_of(demuxed)) == BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=7,
        rows={"silver_uno_events": 3},
        dropped={"uno": 1},
        judged={("uno", "known"): judged},
        files=1,
    )


def test_a_batch_of_an_older_release_is_reported_by_its_commits():
    found = replayed("games", BATCH, [COMMIT], "")
    assert (found.rows, found.judged) == ({"silver_uno_events": 3}, {})
