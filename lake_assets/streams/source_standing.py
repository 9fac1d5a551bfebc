"""How far a feed is behind its source, asked from outside of the process that streams it.

Seconds are told by the answers of before (`metrics.end_history`), which whoever asks keeps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lake_assets.delta.log_history import open_table, rows_since
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

    gone: ByPlace = field(default_factory=dict)
    """As `taken`, of partitions that the source, which has others of that name, has not."""

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

    def another_topic(self, feed: Feed) -> str:
        """In words, that this is not the topic that bronze has rows of; blank if it is.

        Bronze is looked at before the source, so this is no matter of when.
        """
        return another_topic(feed, self.ends, {**self.taken, **self.gone})

    def _places(self, names: Iterable[str] | None) -> list[tuple[str, int]]:
        wanted = None if names is None else set(names)
        return sorted(place for place in self.ends if wanted is None or place[0] in wanted)


def source_standing(
    settings: Settings, feed: Feed, endpoints: Endpoints | None
) -> SourceStanding | None:
    """How far a feed is in its source; None if nobody knows where that is.

    Raises:
        SourceError: it does not answer, or is not there.
        LakeError: the lake cannot be read.
    """
    if endpoints is None:
        return None
    lake = lake_of(settings)
    # Bronze before the source, so that rows that come meanwhile are behind, and never ahead.
    done = ingested_offsets(lake, feed)
    extent = source_of(feed, endpoints, lake).extent(timeout_s=_PATIENCE_S)
    bronze = open_table(lake, bronze_of(feed.feed)) if feed.has_silver else None
    since = demux_position(lake, feed).bronze.version + 1 if bronze else 0
    return SourceStanding(
        ends=extent.ends,
        taken={place: max(done.get(place, 0), extent.begins[place]) for place in extent.ends},
        bronze_rows_behind=rows_since(bronze, since) if bronze else 0,
        gone={place: offset for place, offset in done.items() if place not in extent.ends},
    )


def another_topic(feed: Feed, ends: ByPlace, taken: ByPlace) -> str:
    """In words, that bronze has more of a topic than the topic: it is another; blank if not.

    Args:
        feed: reads it.
        ends: by partition, the offset after the last row; asked for after `taken`.
        taken: likewise, the offset after the last that is in bronze.
    """
    if feed.source.kafka is None:
        return ""
    names = {name for name, _ in ends}
    for (name, number), offset in sorted(taken.items()):
        end = ends.get((name, number))
        if name not in names or (end is not None and end >= offset):
            continue
        is_how = "is not there" if end is None else f"ends at offset {end}"
        return (
            f"partition {number} of {name} {is_how}, and bronze has its rows up to {offset}: it "
            "was created again, or is another's"
        )
    return ""


def seconds_behind(history: EndHistory, standing: SourceStanding, now: float) -> float:
    """Seconds since the first row came that is not in bronze; at least so many.

    Args:
        history: ends of the source, summed, as they were seen before; the one of now is added.
        standing: how far the feed is.
        now: by the clock of the history.
    """
    history.note(now, standing.end())
    return history.seconds_behind(standing.position(), now)
