"""An erasure from start to end: noted, found, removed, gold computed anew, and its history ended.

Each step is one that may have been done before: a process that dies is followed by one that does
all of them again, and finds less to do.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from lake_assets.delta.source_offsets import furthest
from lake_assets.erasure.backups import settle_backups
from lake_assets.erasure.decoded import Decoding, one_session
from lake_assets.erasure.end import Ended, end_histories
from lake_assets.erasure.find import is_told_by, texts_of
from lake_assets.erasure.gold import recompute
from lake_assets.erasure.note import Noted, cuts_of, matching_of, note
from lake_assets.erasure.pending import await_demux
from lake_assets.erasure.requests import close_requests, make_table, open_requests
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
from lake_assets.state.erasure_ledger import ERASING, ErasureLedger
from lake_assets.state.files import turn, turn_if_free
from lake_assets.state.lake_id import ensure_bound
from lake_assets.streams.erasures import pass_fence
from lake_assets.streams.noted_changes import REDO_TURN, finish_change, reprocess_journal

_DEMUX_WITHIN_S = 300.0
"""Seconds for streams that run to take what bronze has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked for: some values; or what the table of requests asks for; or what is left."""

    wanted: Sequence[Wanted] = ()
    later: Later = Later.DROP
    is_of_table: bool = False
    is_again: bool = False
    """Go on with what is not done as well, by hashes alone."""

    prunes_backups: bool = False
    """Whether backups from before it are deleted, once there is a new one."""


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
            noted = self._noted(context, done)
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
        with open_lake(self.settings) as context, turn(self.settings.state_dir, REDO_TURN):
            yield context

    def _noted(self, context: LakeContext, done: Erased) -> list[Noted]:
        asked = {self.request.later: list(self.request.wanted)}
        if self.request.is_of_table:
            make_table(context.committer)
            found = open_requests(context.committer)
            asked = {later: [*its] for later, its in found.asked.items()}
            done.unclear += found.unclear
        asked = {
            later: [one for one in its if self._can_be_told(context, one.column, done)]
            for later, its in asked.items()
        }
        ledger, cuts = ledger_of(context), {}
        if asked.get(Later.KEEP):
            cuts = cuts_of(self.feeds, self.locate(), context.lake)
        key = self.settings.masking.key_bytes
        noted: list[Noted] = []
        for later, wanted in asked.items():
            noted += note(ledger, wanted, later, cuts if later is Later.KEEP else {}, key)
        if noted:
            self.tell("noted: rows that come from now on are judged by it")
        return [*noted, *self._open(ledger, noted)] if self.request.is_again else noted

    def _can_be_told(self, context: LakeContext, column: str, done: Erased) -> bool:
        """Whether tables can be searched for a column; asked before anything is noted."""
        try:
            has_it = [is_told_by(context, feed, column) for feed in self.feeds]
        except ErasureError as problem:
            if not self.request.is_of_table:
                raise
            done.unclear.append(str(problem))
            return False
        if not any(has_it):
            self.tell(
                f"no table of silver has a column {column!r} (a field of a struct is none: `select`"
                " makes it one); other places are looked at"
            )
        return True

    def _open(self, ledger: ErasureLedger, noted: Sequence[Noted]) -> list[Noted]:
        """Those that are not done, by their hashes alone."""
        found, known = ledger.read(), {one.erasure.id for one in noted}
        return [
            Noted(erasure=one, matching=matching_of(one, found.key, None))
            for one in found.every
            if one.state is not ErasureState.DONE and one.id not in known
        ]

    def _pass_fences(self, context: LakeContext) -> None:
        with turn(self.settings.state_dir, REDO_TURN):
            for feed in self.feeds:
                finish_change(reprocess_journal(context.lake, feed), context, feed)
                pass_fence(context, self.settings, feed)

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
        with (
            turn(self.settings.state_dir, REDO_TURN),
            one_session(self.settings, warm) as session,
        ):
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
            for one in noted:
                lacks_values = one.wanted is None and one.erasure.state is ErasureState.NOTED
                is_searched = is_caught_up and not (lacks_values and texts)
                every[one.erasure.id] = take_out.run(one, done.taken, is_searched=is_searched)
                if lacks_values and texts:
                    done.left.append(_unsearched(one.erasure, texts))
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


def _unsearched(erasure: Erasure, tables: Sequence[str]) -> str:
    return (
        f"erasure {erasure.id} was cut off before all places were known where its rows are, and "
        f"rows of {', '.join(tables)} are told by values alone: ask for it again with its values"
    )


def ledger_of(context: LakeContext) -> ErasureLedger:
    """The ledger of a lake that was opened for writing."""
    ledger = context.erasures
    assert ledger is not None  # noqa: S101 - `open_lake` gives it
    return ledger
