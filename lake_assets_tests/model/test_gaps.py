import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.model.gaps import Gap, GapReason, unrecorded
from lake_assets.model.origins import Origin


def gap(start, end, *, source="t", partition=0, reason=GapReason.DELETED):
    return Gap(source=source, partition=partition, offset_from=start, offset_to=end, reason=reason)


@pytest.mark.parametrize(
    ("recorded", "left"),
    [
        ([], [(10, 20)]),
        ([(10, 20)], []),
        ([(5, 30)], []),
        ([(10, 15)], [(15, 20)]),
        ([(15, 25)], [(10, 15)]),
        ([(12, 14), (16, 18)], [(10, 12), (14, 16), (18, 20)]),
        ([(16, 18), (11, 17)], [(10, 11), (18, 20)]),
        ([(0, 10), (20, 30)], [(10, 20)]),
    ],
)
def test_what_is_recorded_of_a_gap_is_not_recorded_again(recorded, left):
    assert unrecorded(gap(10, 20), [gap(*one) for one in recorded]) == [gap(*one) for one in left]


@pytest.mark.parametrize("other", [{"source": "u"}, {"partition": 1}])
def test_what_is_recorded_of_another_partition_is_of_another(other):
    assert unrecorded(gap(10, 20), [gap(10, 20, **other)]) == [gap(10, 20)]


ranges = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted)


@given(ranges, st.lists(ranges, max_size=6))
def test_recorded_and_unrecorded_parts_cover_a_gap_and_do_not_overlap(whole, recorded):
    parts = unrecorded(gap(*whole), [gap(*one) for one in recorded])
    new = [offset for part in parts for offset in range(part.offset_from, part.offset_to)]
    known = {offset for start, end in recorded for offset in range(start, end)}
    assert sorted(new) == sorted(set(range(*whole)) - known)


def test_a_gap_has_the_rows_from_its_first_offset_to_before_its_last():
    has = [o for o in range(8, 22) if gap(10, 20).has(Origin("t", 0, o))]
    assert has == list(range(10, 20))
    assert not gap(10, 20).has(Origin("u", 0, 15))
    assert not gap(10, 20).has(Origin("t", 1, 15))


def test_a_gap_says_its_last_offset_and_not_the_one_after():
    assert str(gap(10, 20, partition=3)) == "offsets 10 to 19 of partition 3"


def test_rows_are_lost_once_whichever_way_and_told_of_where_bronze_refuses_them():
    deleted, skipped = gap(10, 20), gap(12, 14, reason=GapReason.SKIPPED)
    refused = gap(16, 17, reason=GapReason.REFUSED)
    assert unrecorded(deleted, [skipped, refused]) == [gap(10, 12), gap(14, 16), gap(17, 20)]
    assert unrecorded(refused, [deleted]) == [refused]
    assert [g.is_loss for g in (deleted, skipped, refused)] == [True, True, False]
