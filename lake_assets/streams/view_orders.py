"""What the thread of a live view is told, and what it tells the others.

What the thread does about it is `streams.live_view`'s.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from lake_assets.errors import StreamError
from lake_assets.model.reports import Refreshed


@dataclass(frozen=True, slots=True)
class Nudge:
    """What the view reads may have something new."""

    is_after_view: bool
    """Whether a view that it reads was refreshed."""


@dataclass(frozen=True, slots=True)
class Last:
    """Refresh what is behind once more, and end."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Refresh some keys now, and answer."""

    keys: Sequence[str] | None
    answer: "Future[Refreshed]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """What a view knows of the others."""

    trouble: Callable[[], str]
    """Tells why one that it reads cannot be refreshed, in words; empty if none is in trouble."""

    changed: Callable[[], None]
    """Is told that the view has other rows."""


class ReadsTroubledError(StreamError):
    """A view that it reads cannot be refreshed."""
