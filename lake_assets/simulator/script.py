"""What one run of the simulator produces: how many events, of which versions, at which times."""

from dataclasses import dataclass

CHUNK = 5000
"""Events made and sent at once: enough to hide the cost of a call, few enough to stop quickly."""

_CHUNK_S = 0.1
"""Seconds between chunks at a steady rate; a viewer sees a stream, not bursts."""

_NOMINAL_RATE = 1000.0
"""Events/s that event times pretend where no rate is set: a burst of 100,000 covers 100 s."""

_SHARE_S = 60.0
"""Seconds until an endless run moves on to its next version."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """How much to produce, and when."""

    versions: int = 3
    """Schema versions; version v comes up when v/versions of the run is over."""

    events: int | None = None
    """None: until stopped."""

    rate: float | None = None
    """Events/s; None: as fast as possible."""

    @property
    def spacing_s(self) -> float:
        """Seconds between the times of two events."""
        return 1.0 / (self.rate or _NOMINAL_RATE)

    @property
    def lead_s(self) -> float:
        """How long before its start the run's first event happened.

        A run at a rate happens as it is sent; a burst has happened by the time it is sent, since
        an event from tomorrow would be wrong.
        """
        return 0.0 if self.rate or not self.events else self.events * self.spacing_s

    def chunk(self, sent: int) -> int:
        """How many events come next; 0 at the end. A chunk is of one set of versions."""
        size = CHUNK if self.rate is None else max(1, min(CHUNK, round(self.rate * _CHUNK_S)))
        if self.events is not None:
            size = min(size, self.events - sent)
        reached = self.versions_at(sent)
        if reached < self.versions:
            size = min(size, self._starts(reached) - sent)
        return size

    def versions_at(self, sent: int) -> int:
        """How many versions are in use after `sent` events, at least 1."""
        return sum(self._starts(version) <= sent for version in range(self.versions))

    def _starts(self, version: int) -> int:
        """Events before the first one that may be of `version`."""
        share = self.events / self.versions if self.events is not None else self._endless_share
        return int(version * share)

    @property
    def _endless_share(self) -> float:
        return _SHARE_S * (self.rate or _NOMINAL_RATE)
