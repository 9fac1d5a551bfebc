"""Before demux goes on: the feed's tables brought to the state that one whole batch left.

A batch that a former process cut off is finished from the journal; if the journal is not there or
is of another batch (a copied lake, a backup), what the batch committed is taken out again and the
batch runs again. Tables that fit no batch are refused: nothing is guessed. Commits through the
committer.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from deltalake import DeltaTable

from lake_assets.delta.commit import APP_ID, BATCH, BEFORE, Commit
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.conflicts import again_on_conflict
from lake_assets.delta.data_files import active_files, without
from lake_assets.delta.log_history import last_info, rows_of
from lake_assets.delta.origins import Before, NotIn, own_of
from lake_assets.delta.restores import is_restored
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum, numbers_of, recorded_checksum
from lake_assets.errors import StreamError
from lake_assets.model.origins import OriginColumns
from lake_assets.model.owners import Owner
from lake_assets.model.reports import BatchReport
from lake_assets.model.tables import Layer, TableRef, quarantine_of
from lake_assets.silver.cut_off_batch import finish_batch
from lake_assets.silver.demux_position import (
    POSITION,
    Position,
    batch_of,
    demux_app,
    position_in,
    read_position,
    reprocess_app,
)
from lake_assets.silver.lost_rows import lost_rows
from lake_assets.silver.rows import quarantine_schema
from lake_assets.silver.turn import Turn, no_turn
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.store import Store

_TRIES = 5
"""Tries of taking rows out of a table that another feed fills meanwhile."""

UNDONE = "lake_assets.undone_batch"
"""Key in a commit's metadata: the number of the batch whose rows it takes out again."""

UNDONE_OF = "lake_assets.undone_feed"
"""Key in the same: of which feed; commits of releases whose tables had one feed do not tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovered:
    """Where demux goes on."""

    position: Position
    numbers: Mapping[TableRef, int]
    """By table, the newest batch that it has rows of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recovery:
    """What a feed's tables are brought to one state with."""

    feed: str
    origin: OriginColumns
    """The feed's columns that say where a row came from."""

    context: LakeContext
    journal: Journal
    report: Callable[[BatchReport], None]

    turn: Turn = no_turn
    """Held meanwhile: who tells duplicates of rows that are about to come goes by the journal."""

    def run(self, tables: Iterable[TableRef], bronze: DeltaTable) -> Recovered:
        """Finish or undo a batch that was cut off, and tell where to go on.

        Args:
            tables: that may have rows of the feed, quarantine aside.
            bronze: the feed's bronze table.

        Raises:
            StreamError: the tables do not fit together, or are not of this bronze.
            LakeError: a table cannot be read or written.
        """
        with self.turn(finishes=False):
            return self._run(tables, bronze)

    def _run(self, tables: Iterable[TableRef], bronze: DeltaTable) -> Recovered:
        handles = self.context.committer.opened(list(tables))
        quarantine = self.context.committer.opened([quarantine_of(self.feed)])
        position = next((read_position(handle, self.feed) for handle in quarantine.values()), None)
        if position is None:
            self._ensure_unbegun(handles, quarantine)
            return Recovered(position=self._begin(bronze), numbers={})
        ensure_none_restored(self.feed, self.context.lake, {**handles, **quarantine})
        if position.bronze_id != _id_of(bronze):
            raise refusal(self.feed, "they were made of another bronze table than there is now")
        finished = finish_batch(self.feed, self.context, self.journal, position, self.report)
        if finished is not None:
            position, handles = finished, self.context.committer.opened(list(handles))
        numbers = numbers_of(demux_app(self.feed), handles)
        before = {
            table: _number_before(self.context.committer.fresh(table), self.feed, position.number)
            for table, number in numbers.items()
            if number > position.number
        }
        left = {table: number for table, number in {**numbers, **before}.items() if number}
        if checksum(left) != position.tables:
            raise refusal(self.feed, _unfit(position, numbers))
        if before:
            # Once it is undone it would fit: who died now, or shares the tables, would commit it.
            self.journal.forget()
        for table, number in before.items():
            self._undo(table, position, number)
        return Recovered(position=self.renewed(position), numbers=left)

    def renewed(self, position: Position) -> Position:
        """Record a position again, as an empty batch, if others have committed since.

        It is in a commit's own information, which the log keeps for some weeks only, and others'
        commits let the log forget older ones.
        """
        quarantine = quarantine_of(self.feed)
        handle = self.context.committer.fresh(quarantine)
        if position_in(last_info(handle)) == position:
            return position
        again = replace(position, number=position.number + 1)
        commit = Commit(table=quarantine, files=(), info={POSITION: again.to_json()})
        self.context.committer.append([commit], batch_of(self.feed, again.number))
        return again

    def _ensure_unbegun(
        self, handles: Mapping[TableRef, DeltaTable], quarantine: Mapping[TableRef, DeltaTable]
    ) -> None:
        """Make sure that a feed without a position has no rows either."""
        whose = self.origin.whose
        is_shared = whose is not None and whose.is_named
        # Where several feeds fill silver, its rows may be the others'; numbers tell.
        own = {t: h for t, h in handles.items() if t.layer is not Layer.SILVER or not is_shared}
        having = [t.name for t, handle in {**own, **quarantine}.items() if rows_of(handle)]
        numbered = [t.name for t in numbers_of(demux_app(self.feed), {**handles, **quarantine})]
        if having or numbered:
            raise refusal(
                self.feed,
                f"{', '.join((having or numbered)[:3])} has rows, and no commit of "
                f"{quarantine_of(self.feed).name} says how far in bronze they reach",
            )

    def _begin(self, bronze: DeltaTable) -> Position:
        """Record that nothing of bronze was taken: a first batch that dies is known as one then."""
        quarantine = quarantine_of(self.feed)
        position = Position(bronze_id=_id_of(bronze), tables=checksum({}))
        self.context.committer.create(
            {quarantine: quarantine_schema(self.origin)}, owners={quarantine: Owner(feed=self.feed)}
        )
        begin = Commit(table=quarantine, files=(), info={POSITION: position.to_json()})
        self.context.committer.append([begin], batch_of(self.feed, position.number))
        return position

    @again_on_conflict(_TRIES)
    def _undo(self, table: TableRef, position: Position, number: int) -> None:
        """Take the rows out of a table that came after the position, and its batches' numbers."""
        handle, log = self.context.committer.fresh(table), log_of(self.context.lake, table)
        later = NotIn(Before(position.offsets, self.origin))
        own = own_of(later, [column.name for column in handle.schema().fields], self.origin)
        removed, kept = without(log, active_files(handle), own)
        before = batch_of(self.feed, number)
        undo = Commit(
            table=table,
            files=kept,
            removed=removed,
            info={UNDONE: str(position.number + 1), UNDONE_OF: self.feed},
            transactions=[before],
            seen=handle.version(),
        )
        self.context.committer.replace_files([undo])


def ensure_whole(feed: str, context: LakeContext, tables: Iterable[TableRef]) -> None:
    """Make sure that a feed's tables have the changes that its quarantine table knows as whole.

    Args:
        feed: whose tables.
        context: opens them.
        tables: that may have had a part of a requeue or a rebuild, quarantine aside.

    Raises:
        StreamError: one lacks a change or has one that the others lack: it was put back alone.
    """
    app_id = reprocess_app(feed)
    handles = context.committer.opened(list(tables))
    quarantine = context.committer.opened([quarantine_of(feed)])
    ensure_none_restored(feed, context.lake, {**handles, **quarantine})
    expected = next(
        (recorded_checksum(app_id, handle) for handle in quarantine.values()), checksum({})
    )
    if checksum(numbers_of(app_id, handles)) != expected:
        raise refusal(
            feed,
            "the last requeue, rebuild or catching up left other tables than there are (a table "
            "is missing or of another time)",
        )


def ensure_none_restored(feed: str, lake: Store, tables: Mapping[TableRef, DeltaTable]) -> None:
    """Make sure that no table of a feed was put back to an older version.

    Raises:
        StreamError: one was, by a RESTORE that no commit of ours followed; or rows of the feed are
            missing since another feed derived its own again.
    """
    if fact := lost_rows(lake, feed):
        raise refusal(feed, fact)
    for table, handle in tables.items():
        if is_restored(log_of(lake, table), handle.version()):
            raise refusal(feed, f"{table.name} was put back to an older version (RESTORE)")


def refusal(feed: str, fact: str) -> StreamError:
    """The error of tables that are of several times, or of another bronze."""
    return StreamError(
        f"silver of feed {feed!r}",
        f"its tables do not fit together: {fact}",
        "Nothing was changed. Put all tables of one backup back, or run `lake-assets rebuild "
        "silver`, which derives them from bronze again",
    )


def _unfit(position: Position, numbers: Mapping[TableRef, int]) -> str:
    newest = max(numbers, key=lambda table: numbers[table], default=None)
    fact = (
        f"the newest batch of any is {numbers[newest]} ({newest.name})"
        if newest
        else "none has one"
    )
    return (
        f"batch {position.number} left other tables than there are (a table is missing or of "
        f"another time; {fact})"
    )


def _number_before(handle: DeltaTable, feed: str, most: int) -> int:
    """The newest batch of a table up to a number, by its log; 0 if it tells of none."""
    for commit in handle.history():
        if UNDONE in commit and commit.get(UNDONE_OF, feed) == feed:
            # What is older than this commit, it took out again.
            most = min(most, int(commit[UNDONE]) - 1)
        if commit.get(APP_ID) != demux_app(feed):
            continue
        numbers = (int(commit[BATCH]), int(commit.get(BEFORE, most + 1)))
        known = next((number for number in numbers if number <= most), None)
        if known is not None:
            return known
    return 0


def _id_of(handle: DeltaTable) -> str:
    return str(handle.metadata().id)
