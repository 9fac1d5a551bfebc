import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lake_assets.silver.first_rows import find_duplicates
from lake_assets.silver.keyed_rows import KeyedRows, Numbers
from lake_assets_tests.silver.duplicates import Sent, ensure_kept, kept_of

WINDOW = 10

sent_rows = st.lists(
    st.builds(
        Sent,
        key=st.sampled_from("abc"),
        time=st.integers(-30, 60),
        partition=st.integers(0, 2),
        offset=st.integers(0, 10_000),
        table=st.integers(0, 1),
        had=st.booleans(),
    ),
    max_size=40,
    unique_by=lambda row: (row.partition, row.offset),
)


def numbered():
    """Partitions that came along in another order than they have."""
    numbers = Numbers()
    return {part: numbers.of(("t", part)) for part in (2, 0, 1)}, numbers


def keyed(rows):
    places, _ = numbered()
    return KeyedRows(
        high=np.array([ord(row.key) for row in rows], np.uint64),
        low=np.array([row.table for row in rows], np.uint64),
        time=np.array([row.time for row in rows], np.int64),
        offset=np.array([row.offset for row in rows], np.int64),
        place=np.array([places[row.partition] for row in rows], np.int32),
        table=np.array([row.table for row in rows], np.int32),
    )


def judged(new, stored):
    had = np.array([row.had for row in new], np.bool_)
    _, numbers = numbered()
    return find_duplicates(keyed(new), keyed(stored), WINDOW, numbers.ranks(), had)


def kept(new, stored):
    gone = set(judged(new, stored).rows.tolist())
    return [row for number, row in enumerate(new) if number not in gone]


@given(sent_rows, sent_rows)
def test_rows_stay_as_the_rule_says_one_by_one(new, stored):
    assert kept(new, stored) == kept_of(new, stored, WINDOW)


@given(sent_rows, st.lists(st.integers(0, 40)))
def test_however_batches_are_cut_one_row_of_an_event_stays_and_no_event_is_lost(sent, cuts):
    sent = [Sent(r.key, r.time, r.partition, r.offset, r.table) for r in sent]
    stored = []
    for first, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(sent)], strict=True):
        stored += kept(sent[first:end], stored)
    ensure_kept(stored, sent, WINDOW)


@given(sent_rows, st.lists(st.integers(0, 40)))
def test_of_one_partition_batches_may_be_cut_anywhere_with_the_same_result(sent, cuts):
    rows = [Sent(r.key, r.time, 0, number) for number, r in enumerate(sent)]
    stored = []
    for first, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(rows)], strict=True):
        stored += kept(rows[first:end], stored)
    assert stored == kept(rows, [])


@given(sent_rows)
def test_what_was_derived_again_stays_as_it_was(sent):
    first = kept(sent, [])
    again = [Sent(r.key, r.time, r.partition, r.offset, r.table, had=r in first) for r in sent]
    assert [r.offset for r in kept(again, [])] == [r.offset for r in first]


@example(
    [Sent("a", 0, 0, 0), Sent("a", 0, 0, 1)],
    [Sent("a", 0, 0, 0, table=1)],
)
@given(sent_rows, sent_rows)
def test_a_duplicate_is_told_with_a_row_that_stays(new, stored):
    found = judged(new, stored)
    places, _ = numbered()
    stay = [*kept(new, stored), *stored]
    for number, place, offset in zip(
        found.rows.tolist(), found.first.place.tolist(), found.first.offset.tolist(), strict=True
    ):
        stays = [row for row in stay if new[number].is_near(row, WINDOW)]
        assert (place, offset) in {(places[row.partition], row.offset) for row in stays}


def test_times_at_both_ends_of_what_there_is_are_far_apart():
    ends = (-(2**63), 2**63 - 1)
    rows = [Sent("a", time, 0, offset) for offset, time in enumerate(ends)]
    assert kept(rows, []) == rows
