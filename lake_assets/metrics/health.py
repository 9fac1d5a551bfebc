"""Whether the streams live and get on, told of facts, and why not. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedStatus:
    """How one feed's streams are."""

    is_running: bool
    """Whether its thread lives."""

    quiet_s: float
    """Seconds since a batch last ended, or there was last nothing to do."""

    waiting_for: str | None = None
    """In words, what it waits for."""

    failure: str | None = None
    """In words, why it failed; it has not run well since."""

    is_stopped: bool = False
    """Whether it is not tried again before somebody does something about it."""

    stopped_by: str | None = None
    """In words, who stopped it deliberately; it stands still, which is no problem."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamsStatus:
    """How the process that runs a lake's streams is."""

    is_running: bool
    """Whether the thread lives that owns them."""

    feeds: Mapping[str, FeedStatus | None]
    """By name; None of a feed that has not begun yet."""

    trouble: Mapping[str, str] = field(default_factory=dict)
    """By what it is about (`heartbeat`), in words, what else is wrong with the process."""

    refreshing: Mapping[str, float] = field(default_factory=dict)
    """By gold view (`feed.view`) that is being refreshed, for how many seconds."""

    ended_views: Mapping[str, str] = field(default_factory=dict)
    """By gold view (`feed.view`) whose thread has ended, in words, why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """An answer to whoever asks."""

    problems: Mapping[str, str]
    """By what they are about, in words; empty if all is well."""

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def liveness(status: StreamsStatus) -> Health:
    """Whether the process lives and its threads run: a restart would cure what is told."""
    problems = dict(status.trouble)
    if not status.is_running:
        problems["streams"] = "their thread has ended"
    for name, feed in status.feeds.items():
        if feed is not None and not feed.is_running:
            problems[name] = f"its thread has ended: {feed.failure or 'for no reason it gave'}"
    for view, why in status.ended_views.items():
        problems[f"view {view}"] = f"its thread has ended: {why}"
    return Health(problems=problems)


def readiness(status: StreamsStatus, stall_after_s: float) -> Health:
    """Whether each feed's rows get on, as `liveness` and beyond: waiting is not dead, nor ready.

    Args:
        status: the facts.
        stall_after_s: seconds without progress after which a feed is stuck.
    """
    problems = dict(liveness(status).problems)
    for name, feed in status.feeds.items():
        why = "" if name in problems else _why_not_ready(feed, stall_after_s)
        if why:
            problems[name] = why
    return Health(problems=problems)


def _why_not_ready(feed: FeedStatus | None, stall_after_s: float) -> str:
    if feed is None:
        return "it has not begun yet"
    if feed.stopped_by:
        return ""
    if feed.failure:
        then = "stands still until somebody acts" if feed.is_stopped else "is tried again"
        return f"it failed and {then}: {feed.failure}"
    if feed.waiting_for:
        return f"it waits: {feed.waiting_for}"
    if feed.quiet_s > stall_after_s:
        return f"no progress for {feed.quiet_s:.0f} s; the limit is {stall_after_s:.0f} s"
    return ""
