"""Which lines of which files a micro-batch has, and how its tasks share them. Asks nobody."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.reading import Part

_TASK_LINES = 20_000
"""Below which a task is not worth its start."""


def batch_end(entries: Iterable[Entry], start: int, max_rows: int) -> int:
    """Where a batch ends that begins at an offset: at a file's end, or a mark in a large one.

    Args:
        entries: files from that offset on, in their order.
        start: the offset.
        max_rows: that it may have, about: one file, or what is between two marks, it has at least.
    """
    end = start
    for entry in entries:
        for place in (*(entry.first + line for line, _ in entry.marks), entry.end):
            if place <= end:
                continue
            if place - start > max_rows and end > start:
                return end
            end = place
    return end


def parts_of(entries: Iterable[Entry], start: int, end: int, tasks: int) -> list[list[Part]]:
    """The lines between two offsets, shared among tasks: files, and parts of large ones.

    Args:
        entries: files in their order, all that have one of the offsets.
        start: the first offset.
        end: the one after the last.
        tasks: as many at most.
    """
    parts = [part for entry in entries for part in _parts(entry, start, end)]
    lines = sum(part.end - part.start for part in parts)
    count = max(1, min(tasks, len(parts), -(-lines // _TASK_LINES)))
    shares: list[list[Part]] = [[] for _ in range(count)]
    sizes = [0] * count
    for part in sorted(parts, key=lambda part: part.start - part.end):
        least = sizes.index(min(sizes))
        shares[least].append(part)
        sizes[least] += part.end - part.start
    return [share for share in shares if share]


def _parts(entry: Entry, start: int, end: int) -> Iterable[Part]:
    places: Sequence[int] = sorted(
        {0, entry.lines, *(line for line, _ in entry.marks), start - entry.first, end - entry.first}
    )
    low, high = max(0, start - entry.first), min(entry.lines, end - entry.first)
    inside = [place for place in places if low <= place <= high]
    for begin, until in pairwise(inside):
        yield Part(entry=entry, start=begin, end=until)
