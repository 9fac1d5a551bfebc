"""What is to be done about a table: which files are joined, and which deleted. Pure.

Sizes are bytes, times seconds since 1970.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log

from lake_assets.delta.commit import DataFile

_SMALLEST = 64 * 1024
"""Bytes of a file below which all are alike: opening one takes longer than reading it."""

_GROWTH = 8
"""How much larger the files of the next tier are. A row is rewritten about once a tier."""

_QUIET_MS = 3_600_000
"""Milliseconds without a new file after which a partition counts as one to which nothing comes, by
the table's own newest file: shorter joins files that the next hour would bring enough of, longer
leaves many small ones in each partition of the past."""

MOST_HELD_S = 7 * 86_400.0
"""Seconds after which nobody's lag holds anything back any more: what lags more is computed anew,
and costs less than keeping all for it."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of a table's newest version."""

    file: DataFile
    written_ms: int
    """When it was written, milliseconds since 1970."""

    slice: int = 0
    """Which part of time its rows are of, where rows leave for their age."""


def files_to_join(
    files: Sequence[WrittenFile], *, target: int, at_least: int
) -> list[tuple[DataFile, ...]]:
    """Which files are to become one, in the order of their rows' age.

    Files of one partition, slice and size, about, are joined where there are enough of them, so a
    table has fewer than `at_least` small files a tier (64 kB, 512 kB, 4 MB, …), and a row is
    rewritten once a tier. What has half of the target is big enough. Of slices before the newest,
    and of partitions to which nothing came for an hour, two files are enough: there are as many
    files as slices and partitions, and not as many times more.

    Args:
        files: of the table.
        target: of a file that is joined.
        at_least: files that are worth a rewrite.
    """
    small = [each for each in files if each.file.size * 2 < target]
    ordered = sorted(small, key=_group)
    newest = max((each.slice for each in files), default=0)
    busy = _busy(files)
    return [
        bin_
        for (partition, time, _), group in groupby(ordered, key=_group)
        for bin_ in _bins(
            list(group), target, at_least if time == newest and partition in busy else 2
        )
    ]


def _busy(files: Sequence[WrittenFile]) -> set[str]:
    """The partitions to which something came lately; of a table without, the one that there is."""
    last: dict[str, int] = {}
    for each in files:
        partition = _partition(each)
        last[partition] = max(last.get(partition, 0), each.written_ms)
    since = max(last.values(), default=0) - _QUIET_MS
    return {partition for partition, at in last.items() if at >= since}


def _group(written: WrittenFile) -> tuple[str, int, int]:
    return _partition(written), written.slice, _tier(written.file.size)


def _partition(written: WrittenFile) -> str:
    return repr(sorted(written.file.partition.items()))


def _tier(size: int) -> int:
    return max(0, int(log(max(1, size) / _SMALLEST, _GROWTH)) + (size >= _SMALLEST))


def _bins(
    group: Sequence[WrittenFile], target: int, at_least: int
) -> Iterator[tuple[DataFile, ...]]:
    if len(group) < at_least:
        return
    bin_: list[DataFile] = []
    size = 0
    for written in sorted(group, key=lambda each: (each.written_ms, each.file.path)):
        if bin_ and size + written.file.size > target:
            yield tuple(bin_)
            bin_, size = [], 0
        bin_.append(written.file)
        size += written.file.size
    if len(bin_) > 1:
        yield tuple(bin_)


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """Since when all of a table must stay readable, and why."""

    since: float
    because: str = ""
    """What holds it back longer than time travel, in words; empty if nothing does."""


def kept_since(now: float, keep_s: float, holds: Mapping[str, float]) -> Kept:
    """Since when the versions of a table are kept.

    Args:
        now: the time.
        keep_s: how long each version stays readable after the next has come.
        holds: by what needs it, in words, the time since when that needs the table's versions. One
            to come, by a clock that was ahead, may be any.
    """
    since, first = now - keep_s, now - MOST_HELD_S
    known = {why: at if at <= now else first for why, at in holds.items()}
    longest = {why: at for why, at in known.items() if first <= at < since}
    if not longest:
        return Kept(since=since)
    why = min(longest, key=lambda reason: longest[reason])
    return Kept(since=longest[why], because=why)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unused:
    """What decides about a file that a table's newest version does not have."""

    removed_in: int | None
    """The version that removed it; None if no commit that is there names it."""

    is_rearranged: bool
    """Whether its rows are in other files of that version, or derived from other tables."""

    unused_for_s: float
    """How long it has been known to be unused, by the clock."""

    watched_s: float
    """The same by a clock that nobody sets, since the machine's start."""

    is_noted: bool
    """Whether a journal names it: what it is about may yet be committed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What an unused file must be past to be deleted."""

    oldest_kept: int
    """The table's oldest version that must stay readable."""

    keep_deleted_s: float
    """How long rows that somebody deleted stay, and files that may be a running job's."""

    watched_s: float
    """How long it must have been watched: the clock may have been set ahead."""


def may_go(file: Unused, limits: Limits) -> bool:
    """Whether an unused file is deleted."""
    if file.is_noted or (file.removed_in is not None and file.removed_in > limits.oldest_kept):
        return False
    if file.removed_in is not None and file.is_rearranged:
        return True
    return file.unused_for_s >= limits.keep_deleted_s and file.watched_s >= limits.watched_s


def within(
    bins: Sequence[tuple[DataFile, ...]], most: int
) -> tuple[list[tuple[DataFile, ...]], int]:
    """Those of the bins that a run takes, most files first, and how many bytes they have."""
    taken: list[tuple[DataFile, ...]] = []
    size = 0
    for bin_ in sorted(bins, key=len, reverse=True):
        more = sum(file.size for file in bin_)
        if taken and size + more > most:
            continue
        taken.append(bin_)
        size += more
    return taken, size
