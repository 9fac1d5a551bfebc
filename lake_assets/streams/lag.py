"""How far a stage is behind its source just after a batch, without asking all the time.

The source is looked at now and then; batches in between are measured against the last look.
"""

import time
from collections.abc import Callable
from contextlib import suppress

from lake_assets.delta.log_history import open_table, rows_since
from lake_assets.delta.log_tail import newest_version
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.model.tables import bronze_of
from lake_assets.sources.catalog import source_of
from lake_assets.storage.store import Store

_LOOK_EVERY_S = 5.0
"""Seconds between two looks at a source's ends; each opens a connection."""

_SHARE = 20
"""A look at bronze's log that took t seconds is repeated 20 t later at the soonest: a long backlog
means a long history to read, and looking shall not cost more than a twentieth of a core."""

_QUICK_S = 0.05
"""Seconds that a look may take and be repeated for the next batch, which comes a second later."""

_PATIENCE_S = 2.0
"""Seconds for the source's answer; without one the lag is unknown."""


class Lags:
    """Measures batches of any feed; used by one thread."""

    def __init__(
        self,
        lake: Store,
        endpoints: Endpoints,
        clock: Callable[[], float] = time.monotonic,
        seen: Callable[[str, ByPlace], None] = lambda _feed, _ends: None,
    ) -> None:
        """Measure against this lake's bronze tables and these brokers' sources.

        Args:
            lake: where bronze is.
            endpoints: the brokers.
            clock: seconds, only ever growing.
            seen: is told a feed and where its source ends, whenever it was looked at.
        """
        self._lake = lake
        self._seen = seen
        self._endpoints = endpoints
        self._clock = clock
        self._ends: dict[str, ByPlace | None] = {}
        self._behind: dict[str, tuple[int, int]] = {}
        self._next_at: dict[tuple[str, Stage], float] = {}

    def of(self, report: BatchReport, feed: Feed) -> int | None:
        """Rows of the source that are not taken after this batch; None if that is not known."""
        span = report.span
        if span is None or not report.is_committed:
            return None
        key = (feed.feed, report.stage)
        began = self._clock()
        is_due = began >= self._next_at.get(key, began)
        if report.stage is Stage.INGEST:
            if is_due:
                self._ends[feed.feed] = self._ask(feed)
                self._next_at[key] = self._clock() + _LOOK_EVERY_S
            return _behind_ends(self._ends[feed.feed], span.offsets_to)
        version = span.version_to or 0
        if is_due:
            self._behind[feed.feed] = (version, _behind_bronze(self._lake, feed, version))
            took = self._clock() - began
            self._next_at[key] = began + (_SHARE * took if took > _QUICK_S else 0.0)
        measured, rows = self._behind[feed.feed]
        return rows if measured == version else None

    def _ask(self, feed: Feed) -> ByPlace | None:
        try:
            source = source_of(feed, self._endpoints, self._lake)
            ends = source.extent(timeout_s=_PATIENCE_S).ends
        except SourceError:
            return None
        self._seen(feed.feed, ends)
        return ends


def _behind_ends(ends: ByPlace | None, taken: ByPlace) -> int | None:
    if ends is None:
        return None
    return sum(max(0, end - taken.get(place, 0)) for place, end in ends.items())


def _behind_bronze(lake: Store, feed: Feed, version: int) -> int:
    """Rows that bronze got from that version on."""
    table = bronze_of(feed.feed)
    # As after most batches; to open a table costs ten times what this look does.
    with suppress(FileNotFoundError):
        if newest_version(log_of(lake, table)) < version:
            return 0
    bronze = open_table(lake, table)
    return rows_since(bronze, version) if bronze else 0
