from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.delta.commit import DataFile
from lake_assets.maintenance.policy import (
    MOST_HELD_S,
    Limits,
    Unused,
    WrittenFile,
    files_to_join,
    kept_since,
    may_go,
    within,
)

KB, MB = 1024, 1024 * 1024
DAY = 86_400.0


def written(number, size, day=None):
    partition = {} if day is None else {"day": day}
    return WrittenFile(
        DataFile(path=f"{number:06}", size=size, rows=1, stats="", partition=partition), number
    )


def paths(bins):
    return [[file.path for file in bin_] for bin_ in bins]


def test_small_files_are_joined_by_age_where_there_are_enough():
    files = [written(number, 10 * KB) for number in (3, 1, 2, 0)]
    assert files_to_join(files, target=MB, at_least=5) == []
    assert paths(files_to_join(files, target=MB, at_least=4)) == [[f"{n:06}" for n in range(4)]]


def test_what_has_half_of_the_target_is_left():
    files = [written(number, 512 * KB) for number in range(20)]
    assert files_to_join(files, target=MB, at_least=2) == []
    assert files_to_join(files, target=MB + 2, at_least=2) != []


def test_files_of_several_times_are_not_joined_and_of_past_ones_two_are_enough():
    old = [WrittenFile(written(n, 10 * KB).file, n, slice=1) for n in range(2)]
    new = [WrittenFile(written(5 + n, 10 * KB).file, n, slice=2) for n in range(3)]
    assert paths(files_to_join(old + new, target=MB, at_least=4)) == [["000000", "000001"]]


def test_files_of_several_partitions_or_of_other_sizes_are_not_joined():
    files = [written(n, 10 * KB, day=n % 2) for n in range(8)]
    bins = files_to_join(files, target=MB, at_least=4)
    assert [{file.partition["day"] for file in bin_} for bin_ in bins] == [{0}, {1}]
    mixed = [written(n, 10 * KB) for n in range(3)] + [written(9 + n, 100 * KB) for n in range(3)]
    assert files_to_join(mixed, target=MB, at_least=4) == []


def test_of_partitions_to_which_nothing_comes_any_more_two_files_are_enough():
    hour = 3_600_000

    def at(number, day, time):
        return WrittenFile(written(number, 10 * KB, day=day).file, time)

    past = [at(0, "1", 0), at(1, "1", 1)]
    late = [at(2, "2", 2 * hour), at(3, "2", 2 * hour + 1)]
    now = [at(4, "3", 2 * hour + 2), at(5, "3", 2 * hour + 3)]
    bins = files_to_join([*past, *late, *now], target=MB, at_least=3)
    assert paths(bins) == [["000000", "000001"]]


@given(
    st.lists(st.tuples(st.integers(0, 200 * MB), st.sampled_from([None, "a", "b"])), max_size=200),
    st.integers(2, 20),
)
def test_each_file_is_in_one_bin_that_is_no_larger_than_the_target(sizes, at_least):
    files = [written(number, size, day) for number, (size, day) in enumerate(sizes)]
    bins = files_to_join(files, target=128 * MB, at_least=at_least)
    assert all(len(bin_) > 1 for bin_ in bins)
    assert all(sum(file.size for file in bin_) <= 128 * MB for bin_ in bins)
    assert all(len({tuple(file.partition.items()) for file in bin_}) == 1 for bin_ in bins)
    assert max(Counter(file.path for bin_ in bins for file in bin_).values(), default=1) == 1


@given(st.lists(st.integers(1, 300 * KB), min_size=1, max_size=2000))
def test_a_table_that_is_appended_to_keeps_few_files_and_rewrites_a_row_a_few_times(sizes):
    """As maintenance does: each ten commits it joins what there is to join."""
    files, rewritten, number = [], 0, 0
    for start in range(0, len(sizes), 10):
        for size in sizes[start : start + 10]:
            number += 1
            files.append(written(number, size))
        for bin_ in files_to_join(files, target=128 * MB, at_least=8):
            number += 1
            rewritten += sum(file.size for file in bin_)
            files = [each for each in files if each.file not in bin_]
            files.append(written(number, sum(file.size for file in bin_)))
    assert len(files) <= 7 * 5 + 10 + sum(sizes) // (64 * MB)
    assert rewritten <= 8 * sum(sizes)


def test_a_run_takes_the_most_files_within_its_bytes():
    bins = files_to_join(
        [written(n, 10 * KB, "a") for n in range(9)] + [written(n, 10 * KB, "b") for n in range(5)],
        target=MB,
        at_least=5,
    )
    assert paths(within(bins, 100 * KB)[0]) == paths([bins[0]])
    assert within(bins, 140 * KB)[1] == 140 * KB
    assert len(within(bins, 1)[0]) == 1  # else a large one would never be taken


def test_versions_are_kept_for_time_travel_and_longer_for_who_needs_them():
    now = 100 * DAY
    assert kept_since(now, 3600, {}).since == now - 3600
    held = kept_since(now, 3600, {"a": now - 10, "b": now - DAY, "c": now - 2 * DAY})
    assert (held.since, held.because) == (now - 2 * DAY, "c")
    ahead = kept_since(now, 3600, {"a": now + DAY})
    assert (ahead.since, ahead.because) == (now - MOST_HELD_S, "a")
    for_ever = kept_since(now, 3600, {"a": now - MOST_HELD_S - 1})
    assert (for_ever.since, for_ever.because) == (now - 3600, "")


LIMITS = Limits(oldest_kept=7, keep_deleted_s=7 * DAY, watched_s=3600)


@pytest.mark.parametrize(
    ("fact", "goes"),
    [
        ({"removed_in": 7}, True),
        ({"removed_in": 8}, False),
        ({"removed_in": 7, "is_noted": True}, False),
        ({"removed_in": 7, "is_rearranged": False}, False),
        ({"removed_in": 7, "is_rearranged": False, "unused_for_s": 8 * DAY}, True),
        ({"removed_in": 8, "is_rearranged": False, "unused_for_s": 8 * DAY}, False),
        ({"removed_in": None}, False),
        ({"removed_in": None, "unused_for_s": 8 * DAY}, True),
        ({"removed_in": None, "unused_for_s": 8 * DAY, "is_noted": True}, False),
        ({"removed_in": None, "unused_for_s": 8 * DAY, "watched_s": 3599.0}, False),
    ],
)
def test_what_goes(fact, goes):
    facts = {"is_rearranged": True, "unused_for_s": 0.0, "watched_s": 3600.0, "is_noted": False}
    assert may_go(Unused(**{**facts, **fact}), LIMITS) is goes
