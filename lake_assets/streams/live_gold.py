"""All gold views of the streams' feeds, in the streams' process and their Spark: a thread a view.

What a view's thread does is `streams.live_view`'s.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from functools import partial

from lake_assets.errors import StreamError
from lake_assets.gold.run import Warm
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.reports import BatchReport, GoldEvent, Refreshed, Stage
from lake_assets.model.view_order import ViewName, views_read
from lake_assets.settings.schema import Settings
from lake_assets.streams.live_view import LiveView
from lake_assets.streams.refresh_answers import ask_after
from lake_assets.streams.view_orders import Beside

_LOG = logging.getLogger(__name__)

_END_WITHIN_S = 5.0
"""Seconds that commits in hand have to end, once the views' Spark jobs are cancelled."""

_LEFT_WITHIN_S = 30.0
"""Seconds that threads of views have to end without Spark: what is left is commits, and a thread
that waits for the JVM's answer finds it gone. More helps nobody, and the supervisor kills then."""

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
        followed: Collection[str] | None = None,
    ) -> None:
        """Prepare a thread a view; none starts yet.

        Args:
            settings: where the lake is.
            feeds: whose views.
            warm: the streams' session.
            announce: is told what became of a view that nobody asked for, in the view's thread.
            followed: names of the feeds whose views are refreshed at their pace; those of others
                are if somebody asks for it. By default all.
        """
        self._paced = {
            feed.feed: [
                ViewName(feed.feed, view.name) for view in feed.gold if view.refresh is not None
            ]
            for feed in feeds
        }
        self._views: dict[ViewName, LiveView] = {}
        self._reads: dict[ViewName, tuple[ViewName, ...]] = {}
        self._silver: dict[ViewName, frozenset[str]] = {}
        self._owners = {feed.feed: tables_owner(feed) for feed in feeds}
        for feed in feeds:
            is_followed = followed is None or feed.feed in followed
            for view in feed.gold:
                name = ViewName(feed.feed, view.name)
                self._reads[name] = views_read(feed, view)
                read = (each.feed or feed.feed for each in view.sources if not each.view)
                self._silver[name] = frozenset(read)
                self._views[name] = LiveView(
                    settings,
                    feed,
                    view if is_followed else view.model_copy(update={"refresh": None}),
                    warm,
                    announce,
                    Beside(
                        trouble=partial(self._trouble_before, name),
                        changed=partial(self._changed, name),
                    ),
                )

    def start(self) -> None:
        """Start the threads."""
        for view in self._views.values():
            view.start()

    def note(self, report: BatchReport) -> None:
        """Take in a batch: what demux committed, views may lack, those of other feeds too."""
        if report.stage is Stage.DEMUX and report.is_committed:
            for name, view in self._views.items():
                if self._owners.get(report.feed, report.feed) in self._silver[name]:
                    view.nudge()

    def _changed(self, read: ViewName) -> None:
        """A view has other rows now: those that read it may lack them."""
        for name, view in self._views.items():
            if read in self._reads[name]:
                view.nudge(is_after_view=True)

    def _trouble_before(self, name: ViewName) -> str:
        """Why a view must stay as it is: one that it reads cannot be refreshed here."""
        for read in self._reads[name]:
            view = self._views.get(read)
            if view is not None and view.trouble:
                return f"{view.name}, which it reads, cannot be refreshed ({view.trouble})"
        return ""

    def refreshing(self) -> dict[str, float]:
        """By view that is being refreshed now, since when; as `time.monotonic`."""
        began = {view.name: view.refreshing_since for view in self._views.values()}
        return {name: since for name, since in began.items() if since is not None}

    def ended(self) -> dict[str, str]:
        """By view whose thread ended though nobody told it to, why, in words."""
        return {view.name: view.ended for view in self._views.values() if view.ended}

    def ask(
        self, feed: str, views: Sequence[str], keys: Sequence[str] | None
    ) -> "list[Future[Refreshed]] | None":
        """Have keys of views refreshed now, all if None, each view after those that it reads.

        None if one of them is not refreshed here.
        """
        names = [ViewName(feed, view) for view in views]
        asked = [self._views.get(name) for name in names]
        if any(view is None or view.suspended for view in asked):
            return None
        return list(self._answers(names, keys).values())

    def refresh_paced(self, feed: str) -> "dict[str, Future[Refreshed]]":
        """Have all keys refreshed of a feed's views that have a pace; by view, what comes of it."""
        answers = self._answers(self._paced[feed], None)
        return {name.view: answer for name, answer in answers.items()}

    def _answers(
        self, names: Sequence[ViewName], keys: Sequence[str] | None
    ) -> "dict[ViewName, Future[Refreshed]]":
        answers: dict[ViewName, Future[Refreshed]] = {}
        # As declared or the other way round: a view waits for those that it reads.
        waiting = [(name, self._views[name]) for name in names]
        while waiting:
            name, view = next(
                each for each in waiting if not {n for n, _ in waiting} & {*self._reads[each[0]]}
            )
            waiting.remove((name, view))
            before = [answers[read] for read in self._reads[name] if read in answers]
            answers[name] = ask_after(before, partial(view.ask, keys))
        return answers

    def finish(self, stop: threading.Event) -> None:
        """Refresh once more what is behind, in order, and end; or return when `stop` is set.

        Raises:
            StreamError: views that the streams refresh cannot be.
        """
        left = set(self._views)
        while any(view.is_alive() for view in self._views.values()):
            for name in sorted(left):
                read = (self._views[each] for each in self._reads[name] if each in self._views)
                if not any(view.is_alive() for view in read):
                    self._views[name].finish()
                    left.remove(name)
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

    def wait(self, within_s: float = _LEFT_WITHIN_S) -> None:
        """Wait for threads that have outlived `stop`, once Spark has ended.

        An interpreter that ends beside a thread in deltalake or pyarrow dies of a signal.
        """
        until, views = time.monotonic() + within_s, self._views.values()
        while left := [view.name for view in views if view.is_alive()]:
            if time.monotonic() > until:
                _LOG.warning("%s have not ended; the process ends beside them", ", ".join(left))
                return
            time.sleep(_LOOK_EVERY_S)
