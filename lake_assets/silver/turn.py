"""What is held from the look at silver until rows are committed: nobody else adds any meanwhile.

Who gives turns is `streams.deduplication_turn`.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Turn(Protocol):
    """Takes the turn of a feed."""

    def __call__(self, *, finishes: bool = True) -> AbstractContextManager[None]:
        """Held within the block.

        Args:
            finishes: a change of the feed that was cut off, and that is noted, first; not where
                all of its silver is derived again in its place, since that mends also what cannot
                be finished. What others that fill the tables have noted is finished then, too, if
                it can be.

        Raises:
            LakeError: such a change cannot be finished, unless that is not asked for.
        """


def no_turn(*, finishes: bool = True) -> AbstractContextManager[None]:  # noqa: ARG001 - nothing to
    """Where nobody else is."""
    return nullcontext()
