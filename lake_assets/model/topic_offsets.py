"""Where partitions of topics are begun: which numbers may say it."""

from collections.abc import Mapping
from typing import Any

_MOST = 2**63 - 1

_EARLIEST = -2
"""As Spark's `startingOffsets` has it for one partition; -1 is its latest."""


def ensure_offsets(starts: Mapping[Any, Any]) -> None:
    """Refuse numbers that no partition, or no offset of one, has.

    Raises:
        ValueError: there is one.
    """
    for key, start in starts.items():
        if isinstance(start, Mapping):
            ensure_offsets(start)
            continue
        wrong = [
            number
            for number, least in ((key, 0), (start, _EARLIEST))
            if isinstance(number, int) and not least <= number <= _MOST
        ]
        if wrong:
            message = (
                f"starting_offsets: {wrong[0]} is no partition, or no offset of one\nuse whole "
                "numbers from 0 (of offsets, -2 is the earliest and -1 the latest), or "
                "`earliest` or `latest` for all"
            )
            raise ValueError(message)
