"""An erasure from start to end: noted, found, removed, computed anew, and its history ended.

Each step is one that may have been done before: a process that dies is followed by one that does
all of them again, for the same values, and finds less and less to do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lake_assets.delta.catalog import keys_found, tables_of
from lake_assets.delta.log_history import identity
from lake_assets.delta.origins import Origins
from lake_assets.erasure.dead_letters import deliveries_in, erase_letters
from lake_assets.erasure.end import Ended, end_histories
from lake_assets.erasure.find import Search
from lake_assets.erasure.note import Noted, cuts_of, note
from lake_assets.erasure.remove import Removal
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import ErasureError
from lake_assets.gold.run import Warm
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import Erasure, ErasureState, Later
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import TableRef, erased_of, gold_of_all
from lake_assets.model.view_order import turns_of
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.state.erasure_ledger import ERASING, ErasureLedger
from lake_assets.state.files import turn, turn_if_free
from lake_assets.state.lake_id import ensure_bound
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.erasures import pass_fence
from lake_assets.streams.noted_changes import REDO_TURN, finish_change, reprocess_journal
from lake_assets.streams.refresh import refresh_gold


@dataclass(kw_only=True, slots=True)
class Erased:
    """What an erasure did."""

    erasures: list[Erasure]
    rows: dict[str, int] = field(default_factory=dict)
    """By table, rows that left it."""

    letters: int = 0
    """Entries of sinks' tables that lost what they quoted."""

    files_read: int = 0
    refreshed: list[str] = field(default_factory=list)
    """Gold tables that were computed anew."""

    ended: Ended = field(default_factory=Ended)
    left: list[str] = field(default_factory=list)
    """In words, what is not done yet, and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked for."""

    wanted: Sequence[Wanted]
    later: Later = Later.DROP


def erase(
    settings: Settings,
    feeds: Sequence[Feed],
    endpoints: Endpoints,
    request: Request,
    *,
    tell: Callable[[str], None] = lambda _: None,
    warm: Warm | None = None,
) -> Erased:
    """Erase rows from all feeds' tables, while the streams go on; done again, it goes on.

    Args:
        settings: where the lake is.
        feeds: all that are declared.
        endpoints: where sources are, which tell which rows are later ones.
        request: whose rows.
        tell: told of each step.
        warm: the session that computes gold; by default that of the streams, or one is started.

    Raises:
        ErasureError: the request means nothing, or another one is under way.
        ForeignStateError: the state folder is not this lake's.
        LakeAssetsError: the lake, or Spark, cannot be used; what was begun goes on when asked again.
    """
    ensure_bound(settings)
    with turn_if_free(settings.state_dir, ERASING) as is_ours:
        if not is_ours:
            raise ErasureError(
                str(settings.lake_root),
                "another erasure is under way",
                "Wait until it is done, or name its values together in one file (`--values`)",
            )
        return _Run(settings, feeds, endpoints, request, tell, warm).run()


@dataclass(frozen=True, slots=True)
class _Run:
    settings: Settings
    feeds: Sequence[Feed]
    endpoints: Endpoints
    request: Request
    tell: Callable[[str], None]
    warm: Warm | None

    def run(self) -> Erased:
        with open_lake(self.settings) as context:
            ledger = self._ledger(context)
            noted = self._noted(context, ledger)
            done = Erased(erasures=[one.erasure for one in noted])
            with turn(self.settings.state_dir, REDO_TURN):
                touched = self._remove(context, ledger, noted, done)
        gold = self._refresh(touched, done)
        with open_lake(self.settings) as context, turn(self.settings.state_dir, REDO_TURN):
            self.tell("ending the time travel of what was touched")
            columns = {wanted.column for wanted in self.request.wanted}
            tables = {*touched, *gold}
            done.ended = end_histories(self.settings, context, self.feeds, tables, columns)
            done.left += done.ended.left
            self._settle(self._ledger(context), done)
        return done

    def _ledger(self, context: LakeContext) -> ErasureLedger:
        key = self.settings.erasure.key_bytes
        return ErasureLedger(context.lake, self.settings.state_dir, key)

    def _noted(self, context: LakeContext, ledger: ErasureLedger) -> list[Noted]:
        later, cuts = self.request.later, {}
        if later is Later.KEEP:
            cuts = cuts_of(self.feeds, self.endpoints, context.lake)
        masking_key = self.settings.masking.key_bytes
        noted = note(ledger, self.request.wanted, later, cuts, masking_key)
        self.tell("noted: rows that come from now on are judged by it")
        return noted

    def _remove(
        self, context: LakeContext, ledger: ErasureLedger, noted: Sequence[Noted], done: Erased
    ) -> set[TableRef]:
        """Find rows and take them out; the tables that had some."""
        for feed in self.feeds:
            finish_change(reprocess_journal(context.lake, feed), context, feed)
            pass_fence(context, self.settings, feed)
        touched: set[TableRef] = set()
        for number, one in enumerate(noted):
            removals = [self._found(context, ledger, feed, one, done) for feed in self.feeds]
            tables = {removal.feed.feed: removal.tables() for removal in removals}
            names = {table.name: 0 for its in tables.values() for table in its}
            found = replace(
                one.erasure, state=ErasureState.FOUND, rows={**names, **one.erasure.rows}
            )
            ledger.write(ledger.read().with_changed([found]))
            for removal in removals:
                its = tables[removal.feed.feed]
                self._take_out(removal, its, done)
                touched |= {*its}
            rows = {name: found.rows.get(name, 0) + done.rows.get(name, 0) for name in found.rows}
            removed = replace(found, state=ErasureState.REMOVED, rows=rows)
            ledger.write(ledger.read().with_changed([removed]))
            done.erasures[number] = removed
            touched |= self._of_names(context, removed.rows)
        return touched

    def _found(
        self, context: LakeContext, ledger: ErasureLedger, feed: Feed, one: Noted, done: Erased
    ) -> Removal:
        self.tell(f"looking for rows of feed {feed.feed!r}")
        rows = Search(context=context, feed=feed, matching=one.matching).run()
        done.files_read += rows.read
        before = ledger.spans_of(feed.feed, one.erasure.id)
        rows.origins.add_spans(before)
        spans: Spans = rows.origins.spans
        if spans != before:
            ledger.record(feed.feed, one.erasure.id, spans)
        return Removal(
            context=context,
            feed=feed,
            erasure=one.erasure.id,
            spans=spans,
            matching=one.matching,
        )

    def _take_out(self, removal: Removal, tables: Sequence[TableRef], done: Erased) -> None:
        for table, count in removal.run(tables).items():
            done.rows[table.name] = done.rows.get(table.name, 0) + count
            self.tell(f"{table.name}: {count:,} rows left")
        committer = removal.context.committer
        for table in deliveries_in(removal.context.lake, removal.feed.feed):
            given = (removal.spans, removal.matching, removal.erasure)
            done.letters += erase_letters(committer, table, *given)

    def _of_names(self, context: LakeContext, names: Mapping[str, int]) -> set[TableRef]:
        """The tables of these names: of rows that a former try took out."""
        every = {table for feed in self.feeds for table in tables_of(context.lake, feed)}
        return {table for table in every if table.name in names}

    def _refresh(self, touched: set[TableRef], done: Erased) -> set[TableRef]:
        """Compute gold anew that was made of what left; the gold tables that had something of it."""
        lake = lake_of(self.settings)
        every = {
            table: feed.feed
            for feed in self.feeds
            for table in _gold_of(feed, keys_found(lake, feed))
        }
        before = {table: identity(lake, table) for table in every}
        of_touched = {
            table
            for feed in self.feeds
            for key in keys_found(lake, feed)
            if feed.silver_table(key) in touched
            for table in _gold_of(feed, [key])
        }
        if not of_touched:
            return set()
        self.tell("computing gold anew")
        for feed in turns_of(self.feeds):
            if not feed.gold:
                continue
            found = refresh_gold(self.settings, feed, warm=self.warm)
            for report in found.reports:
                for key, why in report.blocked.items():
                    done.left.append(f"gold of {feed.feed}.{key} is held up ({why}): mend it")
        changed = {t for t in every if identity(lake, t) != before[t]}
        done.refreshed = sorted(table.name for table in changed)
        return {t for t in (of_touched | changed) if identity(lake, t) is not None}

    def _settle(self, ledger: ErasureLedger, done: Erased) -> None:
        if done.left:
            return
        ids = {one.id for one in done.erasures}
        erasures = ledger.read()
        own = [one for one in erasures.every if one.id in ids]
        done.erasures = [replace(one, state=ErasureState.DONE) for one in own]
        ledger.write(erasures.with_changed(done.erasures))


def _gold_of(feed: Feed, keys: Sequence[str]) -> list[TableRef]:
    """The gold tables that have rows of some keys of a feed."""
    of_keys = [feed.gold_table(view, key) for view in feed.gold for key in keys]
    return list(dict.fromkeys([*of_keys, *(gold_of_all(feed.feed, v.name) for v in feed.gold)]))
