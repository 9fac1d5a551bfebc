import numpy as np
import pyarrow as pa
import pytest

from lake_assets.model.expectations import Action
from lake_assets.model.origins import Origin
from lake_assets.model.reports import Judged
from lake_assets.parquet.writer import TABLE
from lake_assets.silver.apply_expectations import Judge, Outcome, Rule, outcomes
from lake_assets.silver.rows import DETAIL, REASON
from lake_assets_tests.columns import KAFKA

UNO, POKER, QUARANTINE = 0, 1, 2

EVERYWHERE = (True, True)

DROP = Rule(name="drop", action=Action.DROP, keys=EVERYWHERE)
WARN = Rule(name="warn", action=Action.WARN, keys=EVERYWHERE)
KEEP = Rule(name="refuse", action=Action.QUARANTINE, keys=EVERYWHERE)
KEEP_TOO = Rule(name="refuse_too", action=Action.QUARANTINE, keys=EVERYWHERE)
FAIL = Rule(name="fail", action=Action.FAIL, keys=EVERYWHERE)


@pytest.fixture
def acted():
    """Judges rows by their places and marks."""

    def act(rules, *batches):
        def meet(pairs):
            start = 0
            for places, bits in pairs:
                yield rows(places, start), [np.array(bits)] if any(bits) else []
                start += len(places)

        judging = Judge(rules, 2, meet, KAFKA.in_silver)
        found = pa.Table.from_batches(judging(batches)).to_pylist()
        return found, outcomes(judging.notes(), rules)

    return act


def rows(places, start=0):
    total = len(places)
    reason = ["undecodable" if place == QUARANTINE else None for place in places]
    return pa.RecordBatch.from_pydict(
        {
            TABLE: pa.array(places, pa.int32()),
            REASON: pa.array(reason, pa.string()),
            DETAIL: pa.nulls(total, pa.string()),
            "_topic": ["t"] * total,
            "_partition": pa.array([0] * total, pa.int32()),
            "_offset": pa.array(range(start, start + total), pa.int64()),
        }
    )


def places(found):
    return [row[TABLE] for row in found]


def origins(*offsets):
    return tuple(Origin("t", 0, offset) for offset in offsets)


def test_a_row_that_violates_nothing_stays(acted):
    found, _ = acted([DROP, KEEP], ([UNO, POKER], [0, 0]))
    assert places(found) == [UNO, POKER]


def test_a_warning_keeps_the_row_and_counts_it(acted):
    found, outcome = acted([WARN], ([UNO, UNO, POKER], [1, 0, 1]))
    assert places(found) == [UNO, UNO, POKER]
    assert outcome == {
        UNO: Outcome(
            seen=2,
            dropped=0,
            judged={"warn": Judged(seen=2, violated=1, examples=origins(0))},
        ),
        POKER: Outcome(
            seen=1,
            dropped=0,
            judged={"warn": Judged(seen=1, violated=1, examples=origins(2))},
        ),
    }


def test_a_dropped_row_has_no_table_and_is_counted_once(acted):
    found, outcome = acted(
        [DROP, WARN, Rule(name="d2", action=Action.DROP, keys=EVERYWHERE)], ([UNO, UNO], [7, 0])
    )
    assert places(found) == [None, UNO]
    assert outcome[UNO].dropped == 1
    assert {name: j.violated for name, j in outcome[UNO].judged.items()} == {
        "drop": 1,
        "warn": 1,
        "d2": 1,
    }


def test_a_quarantined_row_names_all_that_refuse_it(acted):
    found, outcome = acted([KEEP, KEEP_TOO], ([UNO, UNO, POKER], [1, 3, 0]))
    assert places(found) == [QUARANTINE, QUARANTINE, POKER]
    assert [row[REASON] for row in found] == ["expectation", "expectation", None]
    assert [row[DETAIL] for row in found][:2] == ["refuse", "refuse, refuse_too"]
    assert outcome[UNO].dropped == 0


def test_a_row_that_is_dropped_and_quarantined_is_kept_in_quarantine(acted):
    found, outcome = acted([DROP, KEEP], ([UNO], [3]))
    assert places(found) == [QUARANTINE]
    assert outcome[UNO].dropped == 0


def test_a_row_that_fails_is_counted_for_the_driver_to_stop(acted):
    _, outcome = acted([FAIL], ([UNO, UNO], [1, 1]))
    assert outcome[UNO].judged["fail"] == Judged(seen=2, violated=2, examples=origins(0, 1))


def test_of_a_row_that_violates_a_final_rule_nothing_else_is_expected(acted):
    where = Rule(name="where", action=Action.DROP, keys=EVERYWHERE, is_final=True)
    found, outcome = acted([where, KEEP, FAIL], ([UNO, UNO], [0b111, 0b110]))
    assert places(found) == [None, QUARANTINE]
    assert outcome[UNO].dropped == 1
    assert {name: judged.violated for name, judged in outcome[UNO].judged.items()} == {
        "where": 1,
        "refuse": 1,
        "fail": 1,
    }


def test_refused_rows_are_judged_by_nothing(acted):
    found, outcome = acted([DROP], ([QUARANTINE, None, UNO], [1, 1, 0]))
    assert places(found) == [QUARANTINE, None, UNO]
    assert found[0][REASON] == "undecodable"
    assert set(outcome) == {UNO}


def test_a_rule_judges_only_its_games(acted):
    poker_only = Rule(name="p", action=Action.DROP, keys=(False, True))
    found, outcome = acted([poker_only], ([UNO, POKER], [1, 1]))
    assert places(found) == [UNO, None]
    assert (outcome[UNO].judged, set(outcome[POKER].judged)) == ({}, {"p"})


def test_three_examples_a_game_are_kept_over_all_batches_and_tasks(acted):
    _, outcome = acted([WARN], ([UNO, POKER], [1, 1]), ([UNO] * 4, [1] * 4))
    assert outcome[UNO].judged["warn"].examples == origins(0, 2, 3)
    assert outcome[POKER].judged["warn"].examples == origins(1)


def test_the_notes_of_tasks_add_up():
    first = '{"0": [2, 1, [1], [[["t", 0, 1]]]]}'
    second = '{"0": [3, 0, [2], [[["t", 1, 5], ["t", 1, 6], ["t", 1, 7]]]], "1": [1, 0, [0], [[]]]}'
    found = outcomes([first, second], [WARN])
    assert (found[0].seen, found[0].dropped, found[0].judged["warn"].violated) == (5, 1, 3)
    assert found[0].judged["warn"].examples == (
        Origin("t", 0, 1),
        Origin("t", 1, 5),
        Origin("t", 1, 6),
    )
    assert found[1].judged["warn"] == Judged(seen=1, violated=0)


def test_a_task_without_rows_has_no_note():
    assert list(Judge([WARN], 2, iter, KAFKA.in_silver).notes()) == []


def test_without_rules_rows_are_counted_and_stay_as_they_are():
    marked = lambda batches: ((batch, ()) for batch in batches)  # noqa: E731
    judging = Judge([], 2, marked, KAFKA.in_silver)
    (found,) = judging([rows([UNO, QUARANTINE, UNO])])
    assert found[TABLE].to_pylist() == [UNO, QUARANTINE, UNO]
    assert outcomes(judging.notes(), []) == {UNO: Outcome(seen=2, dropped=0, judged={})}


def test_a_rule_that_fails_puts_rows_aside_as_skipped_when_it_is_to_be_skipped(acted):
    skipped = Rule(name="fail", action=Action.FAIL, keys=EVERYWHERE, is_skipped=True)
    found, _ = acted([skipped, KEEP], ([UNO, UNO, UNO, POKER], [1, 2, 3, 0]))
    assert places(found) == [QUARANTINE] * 3 + [POKER]
    assert [(row[REASON], row[DETAIL]) for row in found] == [
        ("skipped", "fail"),
        ("expectation", "refuse"),
        ("skipped", "fail, refuse"),
        (None, None),
    ]
