"""One erasure's rows of all feeds: found, noted where they are, and taken out of every table."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from lake_assets.delta.catalog import tables_of
from lake_assets.delta.origins import Origins
from lake_assets.erasure.dead_letters import deliveries_in, erase_letters
from lake_assets.erasure.decoded import Decoding
from lake_assets.erasure.find import Search
from lake_assets.erasure.note import Noted
from lake_assets.erasure.remove import Removal
from lake_assets.model.erasures import Erasure, ErasureState
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import TableRef
from lake_assets.spark.lake_context import LakeContext
from lake_assets.state.erasing_fence import letters_of
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.streams.batch_under_way import while_no_batch


@dataclass(kw_only=True, slots=True)
class TakenOut:
    """What left."""

    rows: dict[str, int] = field(default_factory=dict)
    """By table, rows that left it."""

    letters: int = 0
    """Entries of sinks' tables that lost what they quoted."""

    files_read: int = 0
    """In which rows were looked for."""

    touched: set[TableRef] = field(default_factory=set)
    """Tables that had some, now or when a former try began."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TakeOut:
    """Takes erasures' rows out; the turn `REDO_TURN` is held."""

    context: LakeContext
    ledger: ErasureLedger
    feeds: Sequence[Feed]
    tell: Callable[[str], None]
    decoding: Decoding | None = None
    """Tells of rows that nothing else does; None where there is no Spark."""

    def run(self, noted: Noted, done: TakenOut, *, is_searched: bool = True) -> Erasure:
        """Take one erasure's rows out; does nothing where it was done before.

        Where rows are is noted before the first one goes, and so are the tables that have some: a
        process that dies is followed by one that needs no values to go on.

        Args:
            noted: the erasure.
            done: is told what left.
            is_searched: whether everything could be looked through that may have rows; else the
                erasure stays as it is noted, as long as only its values tell the rest.

        Raises:
            ErasureError: a table cannot be searched for such values.
            CommitConflictError: others keep rewriting a table.
            LakeError: the lake cannot be read or written.
        """
        removals = [self._found(feed, noted, done) for feed in self.feeds]
        return self.remove(noted.erasure, removals, done, is_searched=is_searched)

    def remove(
        self,
        erasure: Erasure,
        removals: Sequence[Removal],
        done: TakenOut,
        *,
        is_searched: bool = False,
    ) -> Erasure:
        """Take rows out of all tables that have some; as `run`."""
        tables = [removal.tables() for removal in removals]
        names = {table.name: 0 for its in tables for table in its}
        is_found = is_searched or erasure.state is not ErasureState.NOTED
        state = ErasureState.FOUND if is_found else ErasureState.NOTED
        found = replace(erasure, state=state, rows={**names, **erasure.rows}, is_proved=False)
        self._write(found)
        left = dict(found.rows)
        for removal, its in zip(removals, tables, strict=True):
            for table, count in removal.run(its).items():
                self.tell(f"{table.name}: {count:,} rows left")
                done.rows[table.name] = done.rows.get(table.name, 0) + count
                left[table.name] = left.get(table.name, 0) + count
            done.touched |= {*its}
            self._erase_letters(removal, done)
        state = ErasureState.REMOVED if is_found else ErasureState.NOTED
        removed = replace(found, state=state, rows=left)
        self._write(removed)
        done.touched |= self._called(removed.rows)
        return removed

    def _found(self, feed: Feed, noted: Noted, done: TakenOut) -> Removal:
        self.tell(f"looking for rows of feed {feed.feed!r}")
        rows = Search(context=self.context, feed=feed, matching=noted.matching).run()
        done.files_read += rows.read
        before = self.ledger.spans_of(feed.feed, noted.erasure.id)
        rows.origins.add_spans(before)
        rows.origins.add_spans(self._by_decoding(feed, noted, rows.origins))
        origins = Origins(origin_of(feed))
        origins.add_spans(concerned(noted.erasure, feed.feed, rows.origins.spans))
        origins.add_spans(before)
        spans = origins.spans
        if spans != before:
            self.ledger.record(feed.feed, noted.erasure.id, spans)
        return Removal(
            context=self.context,
            feed=feed,
            erasure=noted.erasure.id,
            spans=spans,
            matching=noted.matching,
            without=rows.without,
        )

    def _by_decoding(self, feed: Feed, noted: Noted, known: Origins) -> Spans:
        return self.decoding.rows(feed, noted, known) if self.decoding else {}

    def _erase_letters(self, removal: Removal, done: TakenOut) -> None:
        committer = self.context.committer
        tables = deliveries_in(self.context.lake, removal.feed.feed)
        if tables:
            # Whoever records letters from here on knows where the rows were.
            with while_no_batch(self.ledger.state_dir, letters_of(removal.feed.feed), self.tell):
                pass
        for table in tables:
            given = (removal.spans, removal.matching, removal.erasure)
            count = erase_letters(committer, table, *given)
            done.letters += count
            if count:
                done.touched.add(table)

    def _called(self, names: Collection[str]) -> set[TableRef]:
        """The tables of these names, which a former try may have taken rows out of."""
        every = {table for feed in self.feeds for table in tables_of(self.context.lake, feed)}
        return {table for table in every if table.name in names}

    def _write(self, erasure: Erasure) -> None:
        self.ledger.write(self.ledger.read().with_changed([erasure]))


def concerned(erasure: Erasure, feed: str, spans: Spans) -> Spans:
    """Those of a feed's rows with a wanted value that came before the cuts, if later ones stay.

    A source that the feed had no longer when it was asked has no cut: all rows of it came before,
    as long as nobody has looked at them. A partition that came since has none, either.
    """
    names = {name for name, _ in erasure.cuts.get(feed, {})}
    is_first = erasure.state is ErasureState.NOTED
    former = {place: its for place, its in spans.items() if is_first and place[0] not in names}
    return {**former, **erasure.concerned(feed, spans)}
