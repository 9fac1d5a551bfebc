from collections.abc import Mapping
from itertools import pairwise

import pytest

from lake_assets.model.origins import Origin
from lake_assets.model.reports import BatchReport, Judged, Stage
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.streams.batch_totals import BatchTotals, Change, Pace, changes_of
from lake_assets_tests.sample import GAMES, RENAMED, gold_of, silver_of


def change(
    key: str, rows: int = 1, *, dropped: int = 0, judged: Mapping[str, Judged] | None = None
) -> Change:
    return Change(
        feed="games",
        table=silver_of(key),
        key=key,
        rows=rows,
        dropped=dropped,
        judged=judged or {},
    )


def batch_totals(at_most: int = 100, events_a_day: float = 1e9) -> BatchTotals:
    return BatchTotals(every_s=30, at_most=at_most, events_a_day=events_a_day)


def test_an_ingest_batch_changes_bronze():
    report = BatchReport(feed="games", stage=Stage.INGEST, batch_id=1, rows={"bronze_games": 5})
    assert changes_of(GAMES, report) == [Change(feed="games", table=bronze_of("games"), rows=5)]


def test_how_long_batches_took_is_known_of_each_table_they_changed():
    report = BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=1,
        rows={"silver_uno_events": 3, "quarantine_games": 2},
        seconds={"job": 0.5, "commit": 0.25},
        lag_rows=7,
        lag_s=1.5,
    )
    pace = Pace(batches=1, seconds=0.75, lag_rows=7, lag_s=1.5)
    assert [change.pace for change in changes_of(GAMES, report)] == [pace, pace]


def test_the_pace_of_several_batches_is_their_time_together_and_the_last_lag():
    first = Change(feed="games", table=bronze_of("games"), rows=1, pace=Pace(seconds=1, lag_rows=9))
    unknown = Change(feed="games", table=bronze_of("games"), rows=1)
    last = Change(feed="games", table=bronze_of("games"), rows=1, pace=Pace(seconds=3, lag_rows=2))
    together = first.plus(unknown).plus(last)
    assert together.pace == Pace(batches=2, seconds=4, lag_rows=2)


def test_an_empty_batch_changes_nothing():
    assert (
        changes_of(GAMES, BatchReport(feed="games", stage=Stage.INGEST, batch_id=1, rows={})) == []
    )
    assert (
        changes_of(GAMES, BatchReport(feed="games", stage=Stage.DEMUX, batch_id=1, rows={})) == []
    )


def test_a_demux_batch_changes_its_games_and_the_quarantine():
    report = BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=1,
        rows={"silver_uno_events": 3, "silver_go_fish_events": 0, "quarantine_games": 2},
        dropped={"uno": 1, "go_fish": 4},
        judged={
            ("uno", "known"): Judged(seen=4, violated=1),
            ("go_fish", "known"): Judged(seen=4, violated=4),
        },
    )
    assert changes_of(GAMES, report) == [
        change("go_fish", 0, dropped=4, judged={"known": Judged(seen=4, violated=4)}),
        change("uno", 3, dropped=1, judged={"known": Judged(seen=4, violated=1)}),
        Change(feed="games", table=quarantine_of("games"), rows=2),
    ]


def test_a_refused_batch_is_a_finding_about_its_games():
    judged = {("uno", "known"): Judged(seen=4, violated=1)}
    report = BatchReport(
        feed="games", stage=Stage.DEMUX, batch_id=1, rows={}, judged=judged, is_committed=False
    )
    (found,) = changes_of(GAMES, report)
    assert found == change("uno", 0, judged={"known": Judged(seen=4, violated=1)})
    assert found.is_finding
    assert not found.plus(change("uno", 1)).is_finding


def test_the_first_examples_are_kept():
    def judged(*offsets):
        examples = tuple(Origin("t", 0, offset) for offset in offsets)
        return {"a": Judged(seen=9, violated=len(offsets), examples=examples)}

    found = change("uno", judged=judged(1, 2)).plus(change("uno", judged=judged(3, 4)))
    assert [origin.offset for origin in found.judged["a"].examples] == [1, 2, 3]


def test_at_the_end_all_that_is_left_comes_out():
    counts = batch_totals(at_most=1)
    counts.add([change("a"), change("b")])
    assert counts.take(100) == [change("a")]
    counts.add([change("a", 2)])
    assert counts.rest() == [change("b"), change("a", 2)]
    assert (counts.rest(), counts.take(999)) == ([], [])


def test_a_batch_that_was_only_finished_names_its_games_by_their_tables():
    report = BatchReport(
        feed="games", stage=Stage.DEMUX, batch_id=1, rows={"silver_go_fish_events": 3}
    )
    assert changes_of(GAMES, report) == [change("go_fish", 3)]


def test_the_first_change_of_a_table_is_due_at_once():
    counts = batch_totals()
    counts.add([change("uno")])
    assert counts.take(100) == [change("uno")]
    counts.add([change("uno"), change("poker")])
    assert counts.take(101) == [change("poker")]


def test_later_changes_add_up_until_they_are_due():
    counts = batch_totals()
    counts.add([change("uno")])
    counts.take(100)
    counts.add([change("uno", 2, dropped=1, judged={"a": Judged(seen=3, violated=1)})])
    counts.add([change("uno", 3, judged={"a": Judged(seen=3, violated=0)})])
    assert counts.take(129) == []
    assert counts.take(130) == [
        change("uno", 5, dropped=1, judged={"a": Judged(seen=6, violated=1)})
    ]
    assert counts.take(999) == []


@pytest.mark.parametrize(
    ("keys", "most", "pause_s"),
    [
        (7, 100_000, 31),
        (100, 150_000, 360),
        pytest.param(1000, 1_500_000, 600, marks=pytest.mark.long),
    ],
)
def test_a_day_of_many_games_comes_to_few_events(keys, most, pause_s):
    """Silver and a live view of each, two expectations, a change of each every ten seconds."""
    counts = batch_totals(at_most=10_000, events_a_day=100_000)
    ok = {"a": Judged(seen=9, violated=0), "b": Judged(seen=9, violated=0)}
    changes = [change(f"g{n}", judged=ok) for n in range(keys)]
    changes += [
        Change(feed="games", table=gold_of(f"g{n}", "top"), key=f"g{n}", rows=1)
        for n in range(keys)
    ]
    reports = []
    for second in range(0, 7200, 10):
        counts.add(changes)
        if taken := counts.take(second):
            reports.append((second, sum(each.events for each in taken)))
    later = reports[1:]
    a_day = sum(events for _, events in later) * 86_400 / (later[-1][0] - reports[0][0])
    assert a_day <= most
    assert min(after[0] - before[0] for before, after in pairwise(reports)) >= min(pause_s, 30)
    assert max(after[0] - before[0] for before, after in pairwise(reports)) <= pause_s + 10


def test_what_changes_a_verdict_does_not_wait():
    counts = batch_totals(events_a_day=1)
    met, violated = {"a": Judged(seen=1, violated=0)}, {"a": Judged(seen=1, violated=1)}
    counts.add([change("uno", judged=met), change("chess", judged=met)])
    assert len(counts.take(100)) == 2
    counts.add([change("uno", judged=violated), change("chess", judged=met)])
    assert counts.take(129) == []
    assert counts.take(130) == [change("uno", judged=violated)]
    counts.add([change("uno", judged=violated)])
    assert counts.take(500) == []
    counts.add([change("uno", judged=met)])
    assert counts.take(501) == []  # of both batches together it is still violated
    assert len(counts.take(100 + 600)) == 2
    counts.add([change("uno", judged=met)])
    assert counts.take(731) == [change("uno", judged=met)]


def test_many_changes_come_out_a_few_at_a_time():
    counts = batch_totals(at_most=2)
    counts.add([change("a"), change("b"), change("c")])
    assert counts.take(100) == [change("a"), change("b")]
    counts.add([change("d")])
    assert counts.take(100) == [change("c")]
    assert counts.take(100) == [change("d")]


def test_a_feeds_own_names_tell_its_keys():
    feed = RENAMED.model_copy(
        update={"tables": RENAMED.tables.model_copy(update={"silver": "{key}"})}
    )
    rows = {"uno": 3, "quarantine_renamed": 1, "bronze_renamed_waiting": 2}
    report = BatchReport(feed="renamed", stage=Stage.DEMUX, batch_id=1, rows=rows)
    assert changes_of(feed, report) == [
        Change(feed="renamed", table=feed.silver_table("uno"), key="uno", rows=3),
        Change(feed="renamed", table=quarantine_of("renamed"), rows=1),
    ]
