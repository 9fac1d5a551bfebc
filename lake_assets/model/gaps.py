"""Offsets that a feed passed over without their rows; `logs.gaps` keeps them."""

from dataclasses import dataclass
from enum import StrEnum

from lake_assets.model.origins import Origin

NEW_FOR_S = 86_400.0
"""Seconds for which rows that were lost are a problem: nothing ends it but that it was told."""


class GapReason(StrEnum):
    """Value of the column `reason` of the table `gaps`."""

    DELETED = "deleted"  # the source deleted them before they were read: retention, DeleteRecords
    SKIPPED = "skipped"  # somebody had their batch skipped, and the source cannot give them
    REFUSED = "refused"  # likewise, and bronze refuses them: they are in quarantine as they came
    RECREATED = "recreated"  # the source was deleted, and another one of its name was gone on with


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Gap:
    """A range of offsets of one partition. How many of them had rows nobody can say any more."""

    source: str
    """Its name within its kind: a topic."""

    partition: int
    offset_from: int
    offset_to: int
    """The first that was read again, or is to be."""

    reason: GapReason

    def has(self, origin: Origin) -> bool:
        """Whether a row would be in it."""
        return (origin.name, origin.partition) == (self.source, self.partition) and (
            self.offset_from <= origin.offset < self.offset_to
        )

    @property
    def is_loss(self) -> bool:
        """Whether its rows are nowhere in the lake."""
        return self.reason is not GapReason.REFUSED

    def __str__(self) -> str:
        """In a sentence: `offsets 100 to 149 of partition 0`."""
        return f"offsets {self.offset_from} to {self.offset_to - 1} of partition {self.partition}"


def unrecorded(gap: Gap, recorded: list[Gap]) -> list[Gap]:
    """The parts of a gap that none of some others has, in their order.

    A row is lost once, whichever way; that bronze refuses one is told even if it was lost before.

    Args:
        gap: a range that is about to be passed over.
        recorded: any, of any source and partition.
    """
    others = sorted(
        (known.offset_from, known.offset_to)
        for known in recorded
        if (known.source, known.partition) == (gap.source, gap.partition)
        and (gap.is_loss or known.reason is gap.reason)
    )
    parts, at = [], gap.offset_from
    for start, end in [*others, (gap.offset_to, gap.offset_to)]:
        until = min(start, gap.offset_to)
        if at < until:
            parts.append(
                Gap(
                    source=gap.source,
                    partition=gap.partition,
                    offset_from=at,
                    offset_to=until,
                    reason=gap.reason,
                )
            )
        at = max(at, end)
    return parts
