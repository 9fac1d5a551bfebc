"""What a requeue, a rebuild or a catching up has changed, in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lake_assets.delta.source_offsets import Offsets


@dataclass(frozen=True, kw_only=True, slots=True)
class Redone:
    """What a requeue or a rebuild changed."""

    rows: Mapping[str, int]
    """Rows derived again, by table."""

    number: int = 0
    """Of the change, among those of the feed; 0 if there was nothing to change."""

    duplicates: Mapping[str, int] = field(default_factory=dict)
    """Rows left out since their event was there, by key."""

    removed: Mapping[str, int]
    """Rows that left each table: what they were before, or where they were before."""

    retained: Offsets = field(default_factory=dict)
    """By source and partition, the offset below which nothing was derived again: bronze lost rows
    there for their age, and what they had become stays."""
