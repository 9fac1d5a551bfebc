"""Where partitions of topics are begun: which numbers may say it."""

from collections.abc import Mapping
from typing import Any

_MOST_OFFSET = 2**63 - 1


def ensure_offsets(starts: Mapping[Any, Any]) -> None:
    """Refuse numbers that no partition, or no offset of one, has.

    Raises:
        ValueError: there is one.
    """
    for key, start in starts.items():
        if isinstance(start, Mapping):
            ensure_offsets(start)
            continue
        wrong = [n for n in (key, start) if isinstance(n, int) and not 0 <= n <= _MOST_OFFSET]
        if wrong:
            message = (
                f"starting_offsets: {wrong[0]} is no partition, or no offset of one: use whole "
                "numbers from 0, or `earliest` or `latest` for all"
            )
            raise ValueError(message)
