"""Which rows are duplicates, and of which: the rule of `deduplicate`. Pure.

A row is a duplicate if a row of the same key that stays is at most the window away from it in time,
before or after. Rows of silver stay. The new ones are asked in this order: those that silver had
before they were derived again; then, within a partition of the source, by offset, and between
partitions by the newest time up to there, then by source and partition.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd  # type: ignore[import-untyped]  # comes with PySpark

from lake_assets.silver.key_hashes import Mask
from lake_assets.silver.keyed_rows import Ints, KeyedRows, concatenated


@dataclass(frozen=True, kw_only=True, slots=True)
class Duplicates:
    """Rows that do not stay."""

    rows: npt.NDArray[np.intp]
    """Which of the new ones."""

    first: KeyedRows
    """For each, a row that stays and that it is a duplicate of."""


_MANY = 8
"""Of so many rows one that has another's key: then all are sorted, which looks for none first."""


def repeated(rows: KeyedRows) -> Mask:
    """Which rows may have the key of another one; those that may not certainly have not."""
    ordered = np.sort(rows.high)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(again) > len(ordered) // _MANY:
        return np.ones(len(rows), np.bool_)
    return is_among(rows.high, again)


def in_order(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Sorted, each once. NumPy's `unique` takes a hundred times as long for hashes."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    distinct: npt.NDArray[np.uint64] = ordered[is_new]
    return distinct


def is_among(values: npt.NDArray[np.uint64], ordered: npt.NDArray[np.uint64]) -> Mask:
    """Which values are among some that are sorted."""
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    at = np.searchsorted(ordered, values)
    at[at == len(ordered)] = 0
    found: Mask = ordered[at] == values
    return found


def find_duplicates(
    new: KeyedRows,
    seen: KeyedRows,
    window_us: int,
    ranks: npt.NDArray[np.int32],
    was_there: Mask | None = None,
) -> Duplicates:
    """Which of the new rows are duplicates of one that stays.

    Args:
        new: rows, each with a key and a time.
        seen: rows of silver that stay whatever comes.
        window_us: how far apart two rows may be, in microseconds.
        ranks: by number, a partition's rank (`Numbers.ranks`).
        was_there: which of the new rows silver had before.
    """
    both = concatenated([seen, new])
    maybe = np.flatnonzero(repeated(both))
    rows = both.take(maybe)
    is_new = maybe >= len(seen)
    stage = np.where(is_new, 2, 0)
    if was_there is not None:
        stage[is_new] -= was_there[maybe[is_new] - len(seen)]
    order = _order(rows, stage, ranks)
    rows, is_new, maybe = rows.take(order), is_new[order], maybe[order]
    stays_at = _staying(rows, is_new, window_us)
    gone = np.flatnonzero(stays_at >= 0)
    return Duplicates(rows=maybe[gone] - len(seen), first=rows.take(stays_at[gone]))


def _order(
    rows: KeyedRows, stage: npt.NDArray[np.int_], ranks: npt.NDArray[np.int32]
) -> npt.NDArray[np.intp]:
    """The rows by key, and those of a key in the order in which they are asked."""
    if not len(rows):
        return np.zeros(0, np.intp)
    place = ranks[rows.place]
    order = np.lexsort((rows.offset, place, stage))
    order = order[np.argsort(rows.high[order], kind="stable")]
    high, low = rows.high[order], rows.low[order]
    if ((high[1:] == high[:-1]) & (low[1:] != low[:-1])).any():
        # Halves of two keys met: the sort by one of them has mixed their rows.
        order = np.lexsort((rows.offset, place, stage, rows.low, rows.high))
    # Within a partition by offset; now between partitions, wherever that makes a difference.
    own = rows.take(order)
    same_key = (own.high[1:] == own.high[:-1]) & (own.low[1:] == own.low[:-1])
    same_stage = same_key & (stage[order][1:] == stage[order][:-1])
    same_place = same_stage & (own.place[1:] == own.place[:-1])
    reached = _newest_so_far(own.time, same_place)
    is_late = same_stage & (reached[1:] < reached[:-1])
    if is_late.any():
        key = np.concatenate(([0], np.cumsum(~same_key)))
        moved = np.flatnonzero(np.isin(key, key[1:][is_late]))
        keys = (own.offset, place[order], reached, stage[order], key)
        order[moved] = order[moved[np.lexsort([each[moved] for each in keys])]]
    return order


def _newest_so_far(times: Ints, is_next: Mask) -> Ints:
    """For each time the newest of its run up to it; `is_next` tells which follow in a run."""
    if not (is_next & (times[1:] < times[:-1])).any():
        return times
    run = np.concatenate(([0], np.cumsum(~is_next)))
    reached: Ints = pd.Series(times).groupby(run, sort=False).cummax().to_numpy()
    return reached


def _staying(rows: KeyedRows, is_new: Mask, window_us: int) -> Ints:
    """For each row the number of one that stays and that it is a duplicate of, or -1.

    Args:
        rows: those of a key together, in the order in which they are asked.
        is_new: which of them may be duplicates.
        window_us: how far apart two rows may be.
    """
    found = np.full(len(rows), -1, np.int64)
    if not len(rows):
        return found
    is_other = (rows.high[1:] != rows.high[:-1]) | (rows.low[1:] != rows.low[:-1])
    starts = np.concatenate(([0], np.flatnonzero(is_other) + 1))
    ends = np.append(starts[1:], len(rows))
    least, most = np.minimum.reduceat(rows.time, starts), np.maximum.reduceat(rows.time, starts)
    # Without a sign the difference of any two times has room in 64 bits.
    near = most.view(np.uint64) - least.view(np.uint64) <= np.uint64(window_us)
    first = np.repeat(starts, ends - starts)
    quick = np.repeat(near, ends - starts) & is_new & (first != np.arange(len(rows)))
    found[quick] = first[quick]
    for start, end in zip(starts[~near].tolist(), ends[~near].tolist(), strict=True):
        _judge(rows.time[start:end].tolist(), is_new[start:end].tolist(), window_us, start, found)
    return found


def _judge(times: list[int], is_new: list[bool], window_us: int, start: int, found: Ints) -> None:
    """The rows of one key, one after the other."""
    stay: list[int] = []
    numbers: list[int] = []
    for row, time in enumerate(times):
        at = bisect_left(stay, time - window_us)
        if is_new[row] and at < len(stay) and stay[at] <= time + window_us:
            found[start + row] = numbers[at]
        else:
            at = bisect_left(stay, time)
            stay.insert(at, time)
            numbers.insert(at, start + row)
