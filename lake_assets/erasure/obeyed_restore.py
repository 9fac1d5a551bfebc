"""Restoring a backup without the rows that are erased, whether it is older than that or not.

They leave while the tables lie beside the lake's and nobody uses them, told by where they were and
by hashes: no values are known any more. Gold that was made of them does not come back: its next
refresh computes it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from lake_assets.backup.lake_tables import tables_in
from lake_assets.backup.obey import Obeyed
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.restore import Restored
from lake_assets.backup.restore import restore as put_back
from lake_assets.delta.catalog import tables_of
from lake_assets.delta.committer import Committer
from lake_assets.delta.history_end import end_history
from lake_assets.delta.table_log import drop_table, log_of
from lake_assets.erasure.gold_made_of import gold_made_of, keys_of_all
from lake_assets.erasure.note import Noted, matching_of
from lake_assets.erasure.remove import Removal
from lake_assets.erasure.take_out import TakenOut, TakeOut
from lake_assets.errors import LakeAssetsError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.erasures import Erasure, ErasureState
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, TableRef
from lake_assets.settings.schema import Settings
from lake_assets.silver.lost_rows import note_lost
from lake_assets.spark.lake_context import LakeContext, commit_threads_of
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.storage.store import Store
from lake_assets.streams.noted_changes import finish_change, reprocess_journal


def restore(
    settings: Settings, place: BackupPlace, progress: Progress, *, number: int | None, force: bool
) -> Restored:
    """As `backup.restore.restore`; what is erased does not come back."""
    obey = partial(_obey, settings, load_feeds(settings.feeds))
    return put_back(settings, place, progress, number=number, force=force, obey=obey)


def _obey(
    settings: Settings,
    feeds: Sequence[Feed],
    beside: Store,
    ledger: ErasureLedger,
    gone: Collection[str],
) -> Obeyed:
    """As `Obey`."""
    committer = Committer(beside, threads=commit_threads_of(beside))
    try:
        fanout = settings.fanout
        context = LakeContext(
            committer=committer,
            buffer_bytes=fanout.buffer_bytes,
            bucket_rows=fanout.bucket_rows,
            erasures=ledger,
        )
        return _Obeying(context=context, ledger=ledger, feeds=feeds, gone=gone).run()
    finally:
        committer.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Obeying:
    """Has erasures hold in tables that nobody uses yet."""

    context: LakeContext
    ledger: ErasureLedger
    feeds: Sequence[Feed]
    gone: Collection[str]
    """Ids of erasures of which the backup has nothing, unless somebody is wrong."""

    done: TakenOut = field(default_factory=TakenOut)
    left: list[str] = field(default_factory=list)

    def run(self) -> Obeyed:
        erasures = self.ledger.read()
        for feed in self.feeds:
            if feed.source.is_indexed:
                # Its rows have their numbers of the lake, which gives them anew from here on: what
                # is at such a place may be somebody else's. Values alone tell.
                self.ledger.forget(feed.feed)
            self._finish(feed)
        for erasure in erasures.every:
            self._take_out(erasure, erasures.key)
        dropped = self._drop_gold()
        columns = {erasure.column for erasure in erasures.every}
        for table in sorted(self.done.touched):
            self._end(table, columns)
        self._tell_of_unknown()
        self._note(erasures.every)
        return Obeyed(
            rows=self.done.rows,
            dropped=tuple(table.relative for table in dropped),
            left=tuple(self.left),
        )

    def _finish(self, feed: Feed) -> None:
        """Finish a change that the backup has half of: rows would come back with its end."""
        journal = reprocess_journal(self.context.lake, feed)
        try:
            finish_change(journal, self.context, feed)
        except LakeAssetsError as problem:
            journal.clear()
            fact = f"a change was cut off when it was backed up, and cannot be finished ({problem})"
            note_lost(self.context.lake, [feed.feed], fact)

    def _take_out(self, erasure: Erasure, key: bytes) -> None:
        matching = matching_of(erasure, key, None)
        take_out = TakeOut(
            context=self.context,
            ledger=self.ledger,
            feeds=self.feeds,
            decoding=None,
            tell=lambda _: None,
        )
        if erasure.id not in self.gone:
            take_out.run(Noted(erasure=erasure, matching=matching), self.done)
            self._tell_of_undecoded()
            return
        removals = [
            Removal(
                context=self.context,
                feed=feed,
                erasure=erasure.id,
                spans=self.ledger.spans_of(feed.feed, erasure.id),
                matching=matching,
            )
            for feed in self.feeds
        ]
        if any(removal.tables() for removal in removals):
            take_out.remove(erasure, removals, self.done)

    def _tell_of_undecoded(self) -> None:
        words = (
            "erasures are newer than the backup, and nobody has decoded rows to tell whose they "
            "are: run `lake-assets erase --again`, which looks into quarantine and waiting rows"
        )
        if words not in self.left:
            self.left.append(words)

    def _drop_gold(self) -> list[TableRef]:
        lake = self.context.lake
        keys = keys_of_all(lake, self.feeds)
        dropped = sorted(gold_made_of(lake, self.feeds, keys, self.done.touched))
        for table in dropped:
            drop_table(lake, table)
        return dropped

    def _end(self, table: TableRef, columns: Collection[str]) -> None:
        log = log_of(self.context.lake, table)
        if not log.exists():
            return
        self.context.committer.settle()
        newest = partial(self.context.committer.fresh, table)
        # Nobody is at work here: what no version has is nobody's.
        ended = end_history(log, newest, lambda _: {}, columns)
        self.left.extend(f"{table.name}: {one.path or 'it'}: {one.why}" for one in ended.left)

    def _tell_of_unknown(self) -> None:
        lake = self.context.lake
        known = {table for feed in self.feeds for table in tables_of(lake, feed)}
        layers = (Layer.BRONZE, Layer.SILVER, Layer.QUARANTINE)
        others = [table.relative for table in tables_in(lake, layers) if table not in known]
        if others:
            self.left.append(
                f"no feed declares {', '.join(sorted(others))}: nobody has looked there for rows "
                "that are erased; declare their feeds, then run `lake-assets erase --again`"
            )

    def _note(self, before: Sequence[Erasure]) -> None:
        """Note how far erasures are in what was restored; counts stay those of the lake."""
        erasures = self.ledger.read()
        now = {erasure.id: erasure for erasure in erasures.every}
        changed = [
            replace(
                one,
                state=self._state(one),
                rows={**dict.fromkeys(now[one.id].rows, 0), **one.rows},
            )
            for one in before
            if now[one.id] != one
        ]
        if changed:
            self.ledger.write(erasures.with_changed(changed))

    def _state(self, erasure: Erasure) -> ErasureState:
        """How far one is whose rows were taken out."""
        if erasure.state in (ErasureState.NOTED, ErasureState.FOUND):
            return erasure.state
        return ErasureState.REMOVED if self.left else ErasureState.ENDED
