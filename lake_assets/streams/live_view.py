"""One gold view in the process of the streams: a thread that refreshes it when it is due or asked.

When a view is due is `streams.triggers`', how it is refreshed `streams.refresh`'s. What goes wrong
with it, or takes its time, is its own.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import replace

from pyspark.sql import SparkSession

from lake_assets.errors import first_line
from lake_assets.gold.run import Warm
from lake_assets.gold.status import other_definitions
from lake_assets.gold.view_turns import turn_of_view_if_free
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import GoldEvent, GoldRefreshed, Refreshed, ViewFailed
from lake_assets.runtime.log_lines import about
from lake_assets.settings.schema import Settings
from lake_assets.spark.job_groups import cancel_group, enter_group
from lake_assets.state.refresh_strikes import clear_strikes, counted_strike, strikes_of
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.refresh_answers import NotRefreshedHereError
from lake_assets.streams.triggers import next_refresh_at, retry_delay_s
from lake_assets.streams.view_inbox import ViewInbox
from lake_assets.streams.view_orders import Ask, Beside, Last, Nudge, ReadsTroubledError, Stop

_LOG = logging.getLogger(__name__)

_LOOK_ANYWAY_S = 30.0
"""Seconds after which a view is looked at though no batch was committed here: others may have
changed its silver (requeue, rebuild), or what held it up may have passed."""

_TURN_EVERY_S = 0.5
"""Seconds between two tries while somebody else refreshes the view, or to cancel what it does."""

_MOST_STRIKES = 3
"""Deaths in a row after which a view is not refreshed here any more. One may be anybody's kill."""


class LiveView:
    """Refreshes one view whenever it is due or asked for, until it is told to stop."""

    def __init__(
        self,
        settings: Settings,
        feed: Feed,
        view: GoldView,
        warm: Warm,
        announce: Callable[[GoldEvent], None],
        beside: Beside,
    ) -> None:
        """Prepare the thread; as `live_gold.LiveGold`."""
        self.name = f"{feed.feed}.{view.name}"
        self.refreshing_since: float | None = None
        """When the refresh that is under way began, as `time.monotonic`; None if none is."""
        self.suspended = ""
        """Why it is not refreshed here until the streams start again, in words, if it is not."""
        self.ended = ""
        """Why its thread ended though nobody told it to, in words, if it did."""
        self.is_stopping = False
        """Whether it was told to stop."""
        self.failure: Exception | None = None
        """Of the last look, if it failed."""
        self._settings = settings
        self._feed = feed
        self._view = view
        self._warm = warm
        self._announce = announce
        self._beside = beside
        self._inbox = ViewInbox()
        self._known_definitions: frozenset[str] | None = None
        self._failures = 0
        self._is_last = False
        self._thread = threading.Thread(target=self._run, name=f"gold {self.name}", daemon=True)

    def start(self) -> None:
        """Start the thread; it looks at once for what came while nobody did."""
        strikes = strikes_of(self._settings.state_dir, self.name)
        if strikes >= _MOST_STRIKES:
            self._suspend(
                f"{strikes} processes of the streams died in a row while they refreshed it: it is "
                "left to `lake-assets refresh` and its schedule. Streams that start after one of "
                "those took it to its end take it again"
            )
        self._thread.start()

    def nudge(self, *, is_after_view: bool = False) -> None:
        """Tell that silver, or a view that it reads, may have something new."""
        if self._view.refresh is not None:
            self._inbox.put(Nudge(is_after_view))

    def ask(self, keys: Sequence[str] | None) -> "Future[Refreshed]":
        """Have some keys refreshed, all if None, whatever the view's pace is."""
        return self._inbox.ask(keys)

    def finish(self) -> None:
        """Have what is behind refreshed once more, and the thread end."""
        self._inbox.put(Last())

    def stop(self) -> None:
        """Have the thread end soon; Spark jobs that are under way are cancelled.

        May be called at any time, also again, and after Spark is gone.
        """
        self.is_stopping = True
        self._inbox.put(Stop())
        if self.is_alive() and self.refreshing_since is not None:
            cancel_group(self._warm.session, self.name)

    def pardon(self) -> None:
        """Count what is still under way as no death: the process ends because it was told to."""
        if self.is_alive():
            clear_strikes(self._settings.state_dir, self.name)

    @property
    def trouble(self) -> str:
        """Why what the streams should refresh is not up to date, in words, if it is not."""
        failed = self.suspended or (first_line(self.failure) if self.failure else "")
        return failed if self._view.refresh is not None else ""

    def is_alive(self) -> bool:
        """Whether its thread has not ended."""
        return self._thread.is_alive()

    def _run(self) -> None:
        with about(feed=self._feed.feed, stage="refresh", view=self._view.name):
            try:
                self._follow_orders()
            except Exception as problem:  # noqa: BLE001 - told by `ended`, and the streams go on
                if not self.is_stopping:  # else Spark may be gone before the thread is
                    self._tell_its_end(problem)
            finally:
                self._inbox.close()

    def _tell_its_end(self, problem: Exception) -> None:
        _LOG.exception("the thread of view %s has ended", self.name)
        self.failure, self.ended = problem, first_line(problem) or type(problem).__name__
        self._suspend(
            f"its thread has ended ({self.ended}): it is left to `lake-assets refresh` and its "
            "schedule until the streams start again"
        )

    def _follow_orders(self) -> None:
        self._warm = replace(self._warm, session=self._own_session())
        enter_group(self._warm.session, self.name, pool="gold")
        next_at = due_at = time.monotonic()
        while not self.is_stopping:
            order = self._inbox.next(due_at - time.monotonic())
            if order is None:
                next_at = self._refresh_if_behind(time.monotonic())
                due_at = (
                    next_at if self._failures else max(next_at, time.monotonic() + _LOOK_ANYWAY_S)
                )
            elif isinstance(order, Nudge):
                if order.is_after_view and isinstance(self.failure, ReadsTroubledError):
                    self._failures = 0  # what it waited for has passed
                due_at = min(due_at, next_at) if not self._failures else due_at
            elif isinstance(order, Ask):
                self._answer(order)
            elif isinstance(order, Last):
                self._is_last = True
                self._refresh_if_behind(time.monotonic())
                return

    def _own_session(self) -> SparkSession:
        """A session of its own: others may plan with other settings at the same time."""
        session = self._warm.session.newSession()
        tasks = self._warm.context.refresh_tasks
        if tasks is not None:
            session.conf.set("spark.sql.shuffle.partitions", tasks)
            session.conf.set("spark.sql.files.maxPartitionNum", tasks)
        return session

    def _refresh_if_behind(self, began: float) -> float:
        """Refresh the view if it is behind; when it may be looked at next."""
        if self.suspended or self._view.refresh is None:
            return began
        try:
            self._suspend_if_overtaken()
            if self.suspended:
                return began
            self._ensure_reads_are_well()
            done = self._refresh(None)
        except Exception as problem:  # noqa: BLE001 - each view's trouble is its own
            return began if self._is_left() else self._failed(problem)
        self._failures, self.failure = 0, None
        if any(report.refreshed or report.blocked for report in done.reports):
            self._announce(GoldRefreshed(feed=self._feed.feed, refreshed=done))
        return next_refresh_at(self._view.refresh, began, time.monotonic())

    def _suspend_if_overtaken(self) -> None:
        """Leave the view alone if somebody computed it by another declaration since the first look.

        The feed's file was changed then, and computing by the old one again would undo that.
        """
        found = other_definitions(self._settings, self._feed, self._view)
        if self._known_definitions is None:
            self._known_definitions = found
        if not found <= self._known_definitions:
            self._suspend(
                "it was computed by another declaration of it since the streams began: start them "
                "again, so that they take the changed file"
            )

    def _ensure_reads_are_well(self) -> None:
        """Raise if a view that it reads is in trouble: rows of now would meet older ones."""
        trouble = self._beside.trouble()
        if trouble:
            fact = f"is left as it is: {trouble}"
            raise ReadsTroubledError(f"view {self.name}", fact, "Repair that one")

    def _is_left(self) -> bool:
        """Whether an error is no fault of the view's: its refresh was cancelled."""
        return bool(self.suspended) or self.is_stopping

    def _suspend(self, reason: str) -> None:
        self.suspended = reason
        self._announce(ViewFailed(feed=self._feed.feed, view=self._view.name, reason=reason))

    def _failed(self, problem: Exception) -> float:
        self._failures += 1
        delay_s = retry_delay_s(self._failures)
        _LOG.warning("view %s cannot be refreshed", self.name, exc_info=problem)
        self.failure = problem
        then = "" if self._is_last else f"; it is tried again in {delay_s:.0f} s"
        reason = f"{problem}{then}"
        self._announce(ViewFailed(feed=self._feed.feed, view=self._view.name, reason=reason))
        return time.monotonic() + delay_s

    def _answer(self, order: Ask) -> None:
        if self.suspended:
            order.answer.set_exception(NotRefreshedHereError())
            return
        try:
            order.answer.set_result(self._refresh(order.keys))
        except Exception as problem:  # noqa: BLE001 - whoever asked is told
            told = NotRefreshedHereError() if self._is_left() else problem
            order.answer.set_exception(told)

    def _refresh(self, keys: Sequence[str] | None) -> Refreshed:
        with self._turn():
            self.refreshing_since = time.monotonic()
            try:
                with counted_strike(self._settings.state_dir, self.name), self._watched():
                    return self._refresh_with_own_committer(keys)
            finally:
                self.refreshing_since = None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """As `gold.view_turns.turn_of_views`, given up when the thread is to end."""
        while not self.is_stopping:
            state = self._settings.state_dir
            with turn_of_view_if_free(state, self._feed, self._view) as is_ours:
                if is_ours:
                    yield
                    return
            time.sleep(_TURN_EVERY_S)
        raise NotRefreshedHereError

    def _refresh_with_own_committer(self, keys: Sequence[str] | None) -> Refreshed:
        # What it has opened must stay as it is, whatever streams and other views do meanwhile.
        with closing(self._warm.context.committer.independent()) as committer:
            context = replace(self._warm.context, committer=committer)
            warm = replace(self._warm, context=context, has_turn=True)
            done = refresh_gold(
                self._settings, self._feed, views=[self._view.name], keys=keys, warm=warm
            )
        if any(report.refreshed for report in done.reports):
            self._beside.changed()
        return done

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Suspend the view if the block takes too long, and cancel its jobs."""
        over = threading.Event()
        watch = threading.Timer(self._settings.stream.view_timeout_s, self._give_up, (over,))
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            over.set()
            watch.cancel()

    def _give_up(self, over: threading.Event) -> None:
        self._suspend(
            f"it took more than {self._settings.stream.view_timeout_s:.0f} s in the streams' "
            "Spark: it is left to its schedule and `lake-assets refresh` until they start again"
        )
        while not (over.wait(_TURN_EVERY_S) or self.is_stopping):  # what was between two jobs, too
            cancel_group(self._warm.session, self.name)
