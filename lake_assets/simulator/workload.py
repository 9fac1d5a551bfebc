"""What a simulator sends: the contract that `simulator.produce` asks for messages by."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Indexes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """Messages that are sent at once, and what they are."""

    messages: list[dict[str, Any]]
    """As `Producer.produce_batch` takes them: `key` and `value`, bytes."""

    keys: Indexes
    """Of each message, which of the workload's keys it is routed by."""

    versions: Indexes
    """Of each message, its schema version."""


class Workload(Protocol):
    """Made-up events of one kind. The same seed makes the same ones, their times aside."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What the events are routed by."""

    def prepare(self) -> None:
        """Get ready to send.

        Raises:
            RegistryError: the workload needs a registry, which gives no answer or refuses us.
        """

    def chunk(
        self, count: int, versions: int, *, first: int, first_s: float, spacing_s: float
    ) -> Chunk:
        """Make the next events.

        Args:
            count: how many.
            versions: they are of schema versions below this.
            first: number of the first of them in the run.
            first_s: time of the first, in seconds since 1970.
            spacing_s: seconds from one to the next.

        Raises:
            RegistryError: the registry does not take a version that comes up.
        """
