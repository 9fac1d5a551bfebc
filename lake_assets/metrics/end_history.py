"""How long a reader is behind, in seconds, by when its source ended where the reader is. Pure.

A source is asked for its end now and then; between two answers rows are taken to have come evenly.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

_MOST_POINTS = 512
"""Kept of a reader that does not get on; then every second one goes."""


@dataclass(slots=True)
class EndHistory:
    """Where one partition's end was, and when. Times are seconds of a clock that only goes on."""

    _points: list[tuple[float, int]] = field(default_factory=list)

    @classmethod
    def of(cls, points: Iterable[tuple[float, int]]) -> "EndHistory":
        """A history that goes on after what was `kept`."""
        return cls(_points=list(points))

    @property
    def kept(self) -> tuple[tuple[float, int], ...]:
        """All that it remembers: when the end was where."""
        return tuple(self._points)

    @property
    def end(self) -> int | None:
        """Where it was last; None if nobody has looked."""
        return self._points[-1][1] if self._points else None

    @property
    def points(self) -> int:
        """How many looks it remembers."""
        return len(self._points)

    @property
    def seen_at(self) -> float | None:
        """When it was last looked at."""
        return self._points[-1][0] if self._points else None

    def note(self, at: float, end: int) -> None:
        """Remember that the source ended before offset `end`."""
        points = self._points
        if points and end < points[-1][1]:
            points.clear()  # another source under the same name
        is_level = len(points) > 1 and points[-1][1] == points[-2][1] == end
        if is_level:
            points[-1] = (at, end)
        else:
            points.append((at, end))
        if len(points) > _MOST_POINTS:
            points[:] = points[:-1:2] + points[-1:]

    def rows_behind(self, position: int) -> int:
        """Rows from `position` to the end, as it was when it was last looked at."""
        return max(0, (self.end or 0) - position)

    def seconds_behind(self, position: int, now: float) -> float:
        """Seconds since the row at `position` came; 0 if it has not come.

        At least so many, if it was there when the source was looked at first. What is older than
        `position` is forgotten.
        """
        points = self._points
        if not self.rows_behind(position):
            del points[:-1]
            return 0.0
        after = next(i for i, (_, end) in enumerate(points) if end > position)
        if after == 0:
            return max(0.0, now - points[0][0])
        del points[: after - 1]
        (then, before), (later, reached) = points[0], points[1]
        share = (position - before + 1) / (reached - before)
        return max(0.0, now - (then + (later - then) * share))
