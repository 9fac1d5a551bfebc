"""An erasure from start to end: noted, found, removed, gold computed anew, and its history ended.

Each step is one that may have been done before: a process that dies is followed by one that does
all of them again, and finds less to do.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from lake_assets.delta.source_offsets import furthest
from lake_assets.erasure.asked import Asking, Request, ledger_of
from lake_assets.erasure.backups import settle_backups
from lake_assets.erasure.begun import begun_removals, told_of_unsearched
from lake_assets.erasure.decoded import Decoding, one_session
from lake_assets.erasure.end import Ended, end_histories
from lake_assets.erasure.find import texts_of
from lake_assets.erasure.gold import recompute
from lake_assets.erasure.note import Noted
from lake_assets.erasure.pending import await_demux
from lake_assets.erasure.requests import close_requests
from lake_assets.erasure.swept import swept_rows
from lake_assets.erasure.take_out import TakenOut, TakeOut
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import ErasureError
from lake_assets.gold.run import Warm
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import Erasure, ErasureState, Later
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import ERASURE_REQUESTS
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.state.erasure_ledger import ERASING
from lake_assets.state.files import turn, turn_if_free
from lake_assets.state.lake_id import ensure_bound
from lake_assets.streams.erasures import pass_fence
from lake_assets.streams.noted_changes import REDO_TURN, finish_change, reprocess_journal

_DEMUX_WITHIN_S = 300.0
"""Seconds for streams that run to take what bronze has."""

_TELL_AFTER_S = 5.0
"""Seconds of waiting for others after which that is told: most changes are over by then."""


@dataclass(kw_only=True, slots=True)
class Erased:
    """What an erasure did."""

    erasures: list[Erasure] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list, repr=False)
    """The values, as far as they are known."""

    taken: TakenOut = field(default_factory=TakenOut)
    refreshed: list[str] = field(default_factory=list)
    """Gold tables that were computed anew."""

    ended: Ended = field(default_factory=Ended)
    left: list[str] = field(default_factory=list)
    """In words, what is not done yet, and what to do."""

    unclear: list[str] = field(default_factory=list)
    """In words, requests that say nothing which can be done; they hold up no other."""


def erase(
    settings: Settings,
    feeds: Sequence[Feed],
    locate: Callable[[], Endpoints],
    request: Request,
    *,
    tell: Callable[[str], None] = lambda _: None,
    warm: Warm | None = None,
) -> Erased:
    """Erase rows from all feeds' tables, while the streams go on; done again, it goes on.

    Args:
        settings: where the lake is.
        feeds: all that are declared.
        locate: tells where sources and the registry are; asked only if one of them is needed.
        request: whose rows.
        tell: told of each step.
        warm: the session that computes gold; by default that of the streams, or one is started.

    Raises:
        ErasureError: the request means nothing, or another one is under way.
        ForeignStateError: the state folder is not this lake's.
        LakeAssetsError: the lake or Spark cannot be used; what was begun goes on when asked again.
    """
    ensure_bound(settings)
    with turn_if_free(settings.state_dir, ERASING) as is_ours:
        if not is_ours:
            raise ErasureError(
                str(settings.lake_root),
                "another erasure is under way",
                "Wait until it is done, or name its values together in one file (`--values`)",
            )
        return _Run(settings, feeds, locate, request, tell, warm).run()


@dataclass(frozen=True, slots=True)
class _Run:
    settings: Settings
    feeds: Sequence[Feed]
    locate: Callable[[], Endpoints]
    request: Request
    tell: Callable[[str], None]
    warm: Warm | None

    def run(self) -> Erased:
        done = Erased()
        with open_lake(self.settings) as context:
            asking = Asking(context, self.settings, self.feeds, self.locate, self.tell)
            noted = asking.noted(self.request, done.unclear)
            done.erasures = [one.erasure for one in noted]
            done.wanted = [one.wanted for one in noted if one.wanted]
            self._pass_fences(context)
            is_caught_up = self._await_demux(context, noted, done)
            self._take_out(context, noted, done, is_caught_up=is_caught_up)
        self.tell("computing gold anew")
        gold = recompute(self.settings, self.feeds, done.taken.touched, self.warm)
        done.refreshed, touched = gold.changed, {*done.taken.touched, *gold.tables}
        done.left += gold.left
        for words in gold.shrunk:
            self.tell(words)
        with self._alone() as context:
            if self.request.is_of_table:
                self._close_requests(context, noted, done.erasures)
                touched.add(ERASURE_REQUESTS)
            self.tell("ending the time travel of what rows left")
            columns = {one.column for one in done.erasures}
            done.ended = end_histories(self.settings, context, self.feeds, touched, columns)
            done.left += done.ended.left
            self._settle(context, done, ErasureState.ENDED)
        self._settle_backups(done)
        done.left += done.unclear
        return done

    @contextmanager
    def _alone(self) -> Iterator[LakeContext]:
        with open_lake(self.settings) as context, self._turn():
            yield context

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until nobody else changes tables beside the streams; tells so after a while."""
        state_dir = self.settings.state_dir
        with ExitStack() as held:
            free = turn_if_free(state_dir, REDO_TURN, within_s=_TELL_AFTER_S)
            if not held.enter_context(free):
                self.tell(
                    "this waits for another change of tables beside the streams (rebuild, requeue, "
                    "restore or maintenance), however long that takes; whoever ends this may run "
                    "it again"
                )
                held.enter_context(turn(state_dir, REDO_TURN))
            yield

    def _pass_fences(self, context: LakeContext) -> None:
        with self._turn():
            for feed in self.feeds:
                finish_change(reprocess_journal(context.lake, feed), context, feed)
                pass_fence(context, self.settings, feed, self.tell)

    def _await_demux(self, context: LakeContext, noted: Sequence[Noted], done: Erased) -> bool:
        """Whether silver has all that it is to have, for all erasures together."""
        if not noted:
            return True
        every = [one.erasure.cuts for one in noted]
        cuts = {f.feed: furthest(own.get(f.feed, {}) for own in every) for f in self.feeds}
        done.left += await_demux(
            self.settings, context.lake, self.feeds, cuts, within_s=_DEMUX_WITHIN_S
        )
        return not done.left

    def _take_out(
        self, context: LakeContext, noted: Sequence[Noted], done: Erased, *, is_caught_up: bool
    ) -> None:
        ledger = ledger_of(context)
        warm = self.warm.session if self.warm else None
        with self._turn(), one_session(self.settings, warm) as session:
            decoding = Decoding(
                settings=self.settings, context=context, locate=self.locate, session=session
            )
            take_out = TakeOut(
                context=context,
                ledger=ledger,
                feeds=self.feeds,
                decoding=decoding,
                tell=self.tell,
            )
            texts = [name for feed in self.feeds for name in texts_of(context, feed)]
            every: dict[str, Erasure] = {}
            for erasure, removals in begun_removals(context, ledger, self.feeds):
                every[erasure.id] = take_out.remove(erasure, removals, done.taken)
            for one in noted:
                erasure = every.get(one.erasure.id, one.erasure)
                lacks_values = one.wanted is None and erasure.state is ErasureState.NOTED
                is_searched = is_caught_up and not (lacks_values and texts)
                every[erasure.id] = take_out.run(
                    replace(one, erasure=erasure), done.taken, is_searched=is_searched
                )
                if lacks_values and texts:
                    done.left.append(told_of_unsearched(one.erasure, texts))
            for erasure, removals in swept_rows(context, ledger, self.feeds):
                every[erasure.id] = take_out.remove(erasure, removals, done.taken)
            done.erasures = [*every.values()]

    def _close_requests(
        self, context: LakeContext, noted: Sequence[Noted], erasures: Sequence[Erasure]
    ) -> None:
        """Those that need their values no longer."""
        searched = {one.id for one in erasures if one.state is not ErasureState.NOTED}
        for later in Later:
            wanted = [
                one.wanted
                for one in noted
                if one.wanted and one.erasure.later is later and one.erasure.id in searched
            ]
            close_requests(context.committer, later, wanted)

    def _settle_backups(self, done: Erased) -> None:
        is_pruning, every = self.request.prunes_backups, done.erasures
        done.left += settle_backups(self.settings, every, is_pruning=is_pruning, tell=self.tell)
        with open_lake(self.settings) as context:
            self._settle(context, done, ErasureState.DONE)

    def _settle(self, context: LakeContext, done: Erased, state: ErasureState) -> None:
        """Note how far that is which has nothing left to do."""
        if done.left or not done.erasures:
            return
        ledger, ids = ledger_of(context), {one.id for one in done.erasures}
        erasures = ledger.read()
        own = [
            one
            for one in erasures.every
            if one.id in ids and one.state is not ErasureState.NOTED  # its values are needed
        ]
        done.erasures = [replace(one, state=state) for one in own]
        ledger.write(erasures.with_changed(done.erasures))
