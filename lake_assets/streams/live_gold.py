"""All gold views of the streams' feeds, in the streams' process and their Spark: a thread a view.

What a view's thread does is `streams.live_view`'s.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from lake_assets.errors import StreamError
from lake_assets.gold.run import Warm
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, GoldEvent, Refreshed, Stage
from lake_assets.settings.schema import Settings
from lake_assets.streams.live_view import LiveView

_END_WITHIN_S = 5.0
"""Seconds that commits in hand have to end, once the views' Spark jobs are cancelled."""

_LOOK_EVERY_S = 0.1
"""Seconds between two looks whether threads have ended."""


class LiveGold:
    """The views of some feeds."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        warm: Warm,
        announce: Callable[[GoldEvent], None],
    ) -> None:
        """Prepare a thread a view; none starts yet.

        Args:
            settings: where the lake is.
            feeds: whose views.
            warm: the streams' session.
            announce: is told what became of a view that nobody asked for, in the view's thread.
        """
        self._views = {
            (feed.feed, view.name): LiveView(settings, feed, view, warm, announce)
            for feed in feeds
            for view in feed.gold
        }

    def start(self) -> None:
        """Start the threads."""
        for view in self._views.values():
            view.start()

    def note(self, report: BatchReport) -> None:
        """Take in a batch: what demux committed, views may lack."""
        if report.stage is Stage.DEMUX and report.is_committed:
            for (feed, _), view in self._views.items():
                if feed == report.feed:
                    view.nudge()

    def refreshing(self) -> dict[str, float]:
        """By view that is being refreshed now, since when; as `time.monotonic`."""
        began = {view.name: view.refreshing_since for view in self._views.values()}
        return {name: since for name, since in began.items() if since is not None}

    def ask(self, feed: str, view: str, keys: Sequence[str] | None) -> "Future[Refreshed] | None":
        """Have keys of a view refreshed now, all if None; None if it is not refreshed here."""
        asked = self._views.get((feed, view))
        return None if asked is None or asked.suspended else asked.ask(keys)

    def finish(self, stop: threading.Event) -> None:
        """Refresh once more what is behind, and end; or return when `stop` is set.

        Raises:
            StreamError: views that the streams refresh cannot be.
        """
        for view in self._views.values():
            view.finish()
        while any(view.is_alive() for view in self._views.values()):
            if stop.wait(_LOOK_EVERY_S):
                return
        failures = {view.name: view.trouble for view in self._views.values() if view.trouble}
        if failures:
            facts = [f"{name} cannot be refreshed ({why})" for name, why in failures.items()]
            raise StreamError("gold", "; ".join(facts), "All rows are in silver; repair the views")

    def stop(self) -> None:
        """End soon, without finishing what is under way, whatever it is."""
        until, views = time.monotonic() + _END_WITHIN_S, self._views.values()
        for view in views:
            view.stop()
        while any(view.is_alive() for view in views) and time.monotonic() < until:
            time.sleep(_LOOK_EVERY_S)
            for view in views:
                view.stop()  # again: what is cancelled between two jobs begins the second
        for view in views:
            view.pardon()
