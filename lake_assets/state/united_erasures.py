"""Ledgers of erasures brought together: what one of them knows, the other obeys from then on.

Backups have a ledger, their place has one, and a lake that gives way to a backup has one. What is
in any of them holds afterwards; nothing is ever taken out.
"""

from collections.abc import Sequence

from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasures
from lake_assets.model.origins import Spans
from lake_assets.state.erasure_ledger import ErasureLedger


def united(ledger: ErasureLedger, others: Sequence[ErasureLedger]) -> Erasures:
    """What several ledgers hold together; all of them are read, and nothing is written.

    Raises:
        LakeError: one is damaged or cannot be read, or has hashes of another key.
    """
    found = ledger.read()
    for other in others:
        erasures = other.read()
        if found and erasures and found.key != erasures.key:
            raise LakeError(
                str(other.lake.root),
                f"has erasures of another key than {ledger.lake.root}, so that neither knows whose "
                "rows the other's are",
                "Keep them apart: an empty folder as the lake, a place of its own for backups",
            )
        found = found.united(erasures)
    for one in (ledger, *others):
        for feed, name in one.notes():
            one.spans_of(feed, name)
    return found


def unite(ledger: ErasureLedger, others: Sequence[ErasureLedger]) -> Erasures:
    """Have a ledger hold what others do; what is cut off is done again by the next call.

    Args:
        ledger: is written, if it lacks something.
        others: are read.

    Returns:
        What it holds then.

    Raises:
        LakeError: as `united`, and nothing was written then; or the ledger cannot be written.
    """
    every = united(ledger, others)
    if every:
        ledger.begin()
    for other in others:
        for feed, name in other.notes():
            before = ledger.spans_of(feed, name)
            spans = merged(before, other.spans_of(feed, name))
            if spans != merged(before, {}):
                ledger.record(feed, name, spans)
    if every:
        ledger.take_key(every.key)
    if every != ledger.read():
        ledger.write(every)
    return every


def merged(one: Spans, other: Spans) -> Spans:
    """The rows of both."""
    found = {}
    for place in sorted({*one, *other}):
        its: list[tuple[int, int]] = []
        for first, end in sorted([*one.get(place, ()), *other.get(place, ())]):
            if its and first <= its[-1][1]:
                its[-1] = (its[-1][0], max(end, its[-1][1]))
            else:
                its.append((first, end))
        found[place] = its
    return found
