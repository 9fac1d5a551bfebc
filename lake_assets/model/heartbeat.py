"""What the process that runs a lake's streams says of itself; `state` keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lake_assets.model.processes import ProcessId


@dataclass(frozen=True, kw_only=True, slots=True)
class Heartbeat:
    """What the process that runs the streams says of itself.

    Times are seconds by the monotonic clock, which nobody sets, which all processes of a boot share
    and which stands still while the machine sleeps. They mean something within one boot only.
    """

    process: ProcessId
    owner: str
    """Who started it: the Dagster run's id, or `cli`."""

    began_at: float
    """When the process began."""

    at: float
    progressed_at: float
    """When a batch last ended, or there was last nothing to do."""

    waiting_for: str | None = None
    """What the streams wait for, in words, if they do: a broker, the registry."""

    refreshing: Mapping[str, float] = field(default_factory=dict)
    """By gold view (`feed.view`) that is being refreshed, since when."""

    metrics: str | None = None
    """Address of its metrics, `http://host:port`; None where none are served."""
    stopped: Mapping[str, str] = field(default_factory=dict)
    """By feed that stands still while others go on, why, in words."""

    stopped_by: Mapping[str, str] = field(default_factory=dict)
    """By feed whose stream somebody stopped, and that has ended its last batch, who, in words."""

    @property
    def pid(self) -> int:
        """The process's pid; it may be another one's by now."""
        return self.process.pid
