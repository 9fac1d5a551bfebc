"""Older names of columns that several subjects fill: those that no other one has for more. Pure.

Rows of one table may be of any of them, so a name that one subject gave up and another has still
says nothing of a stored value.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from lake_assets.delta.renamed_columns import Renames

OfSubject: TypeAlias = tuple[Renames, frozenset[str]]
"""What a subject renamed, and all names that its versions have."""


def merged_renames(subjects: Sequence[OfSubject]) -> Renames:
    """The renames of all subjects that hold whichever of them a row is of."""
    if len(subjects) == 1:
        return subjects[0][0]
    now = {
        old: new
        for renames, _ in subjects
        for old, new in renames.now.items()
        if all(_agrees(old, new, other) for other in subjects)
    }
    within = {
        name: inner
        for renames, _ in subjects
        for name, inner in renames.within.items()
        if all(_within(name, other) in (None, inner) for other in subjects)
    }
    return Renames(now=now, within=within)


def _agrees(old: str, new: str, other: OfSubject) -> bool:
    """Whether a subject has the names for the same field, or has them not at all."""
    renames, names = other
    if old in names and renames.now.get(old) != new:
        return False
    return renames.now.get(new) is None


def _within(name: str, other: OfSubject) -> Renames | None:
    """What a subject renamed within a column; None if it has no such column."""
    renames, names = other
    known: Mapping[str, Renames] = renames.within
    return known.get(name, Renames()) if name in names or name in known else None
