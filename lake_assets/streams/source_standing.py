"""How far a feed is behind its source, asked from outside of the process that streams it.

Seconds are told by the answers of before (`metrics.end_history`), which whoever asks keeps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lake_assets.delta.log_history import open_table, rows_since
from lake_assets.errors import SourceError
from lake_assets.metrics.end_history import EndHistory
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.progress import demux_position, ingested_offsets

_PATIENCE_S = 2.0
"""Seconds for the source's answer; without one its end is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceStanding:
    """How far a feed is in its source at a moment."""

    ends: ByPlace
    """By partition of what it reads, the offset after the last row."""

    taken: ByPlace
    """Likewise, the offset after the last that is in bronze, or that the source has not got."""

    bronze_rows_behind: int
    """Rows that are in bronze, and that nobody has taken to silver."""

    @property
    def names(self) -> Sequence[str]:
        """What it reads, such as topics."""
        return sorted({name for name, _ in self.ends})

    def end(self, names: Iterable[str] | None = None) -> int:
        """The sum of the ends, of all that it reads or of some."""
        return sum(self.ends[place] for place in self._places(names))

    def position(self, names: Iterable[str] | None = None) -> int:
        """The sum of the offsets taken, likewise; never beyond the end."""
        return sum(min(self.taken[p], self.ends[p]) for p in self._places(names))

    def rows_behind(self, names: Iterable[str] | None = None) -> int:
        """Rows of the source that are not in bronze, likewise."""
        return self.end(names) - self.position(names)

    @property
    def ahead(self) -> Sequence[tuple[str, int]]:
        """Partitions that end before what was taken of them: of another source, by its name.

        Bronze is looked at before the source, so this is no matter of when.
        """
        return sorted(place for place, end in self.ends.items() if self.taken[place] > end)

    def _places(self, names: Iterable[str] | None) -> list[tuple[str, int]]:
        wanted = None if names is None else set(names)
        return sorted(place for place in self.ends if wanted is None or place[0] in wanted)


def source_standing(
    settings: Settings, feed: Feed, endpoints: Endpoints | None
) -> SourceStanding | None:
    """How far a feed is in its source; None if the source does not answer.

    Raises:
        LakeError: the lake cannot be read.
    """
    if endpoints is None:
        return None
    lake = lake_of(settings)
    # Bronze before the source, so that rows that come meanwhile are behind, and never ahead.
    done = ingested_offsets(lake, feed)
    try:
        extent = source_of(feed, endpoints, lake).extent(timeout_s=_PATIENCE_S)
    except SourceError:
        return None
    bronze = open_table(lake, bronze_of(feed.feed)) if feed.has_silver else None
    since = demux_position(lake, feed).bronze.version + 1 if bronze else 0
    return SourceStanding(
        ends=extent.ends,
        taken={place: max(done.get(place, 0), extent.begins[place]) for place in extent.ends},
        bronze_rows_behind=rows_since(bronze, since) if bronze else 0,
    )


def seconds_behind(history: EndHistory, standing: SourceStanding, now: float) -> float:
    """Seconds since the first row came that is not in bronze; at least so many.

    Args:
        history: ends of the source, summed, as they were seen before; the one of now is added.
        standing: how far the feed is.
        now: by the clock of the history.
    """
    history.note(now, standing.end())
    return history.seconds_behind(standing.position(), now)
