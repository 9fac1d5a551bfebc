"""Dead letters of a sink that are sent again: which there are, their rows now, what became of them.

Rows are read anew where they are, and shaped as the sink is declared now: what was wrong with them
may have been the declaration. A call whose rows are all there has the key that it had. What is
recorded takes the place of the letter in one commit, so that a kill repeats calls of the last
seconds, under the same keys. The sink may deliver meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.commit import DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.rewrite_files import Rewrite, rewrite_files
from lake_assets.delta.table_log import log_of
from lake_assets.model.tables import Layer, TableRef
from lake_assets.sinks.base import IDENTITY, Call, Outcome, Target
from lake_assets.sinks.calls import key_of, origin_tuples, rows_under
from lake_assets.sinks.entries import entries_of
from lake_assets.sinks.erased_letters import without_erased
from lake_assets.sinks.following import Following
from lake_assets.state.erasure_ledger import ErasureLedger

_AT_ONCE = 20_000
"""Rows of letters that are looked up together: a look reads each file that may have some."""

_TOLD = [*IDENTITY.names, "batch", "call", "delivered", "key"]

_Row: TypeAlias = tuple[Any, ...]
"""Values of `IDENTITY`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """A call that was given up."""

    key: str
    batch: int
    call: int
    rows: pa.Table
    """`IDENTITY`, in the order in which they were sent."""


def letters_in(committer: Committer, table: TableRef) -> list[Letter]:
    """The dead letters that a table of deliveries has, in the order in which they were made.

    Raises:
        LakeError: the table cannot be read.
    """
    found = [entries for _, entries in _files_with_letters(committer, table, _TOLD)]
    by_key: dict[str, list[pa.Table]] = {}
    for entries in found:
        for key in pc.unique(entries["key"]).to_pylist():
            by_key.setdefault(key, []).append(entries.filter(pc.equal(entries["key"], key)))
    letters = [_letter(key, pa.concat_tables(parts)) for key, parts in by_key.items()]
    return sorted(letters, key=lambda one: (one.batch, one.call, one.key))


def _letter(key: str, entries: pa.Table) -> Letter:
    return Letter(
        key=key,
        batch=entries["batch"][0].as_py(),
        call=entries["call"][0].as_py(),
        rows=entries.select(IDENTITY.names).cast(IDENTITY),
    )


def _files_with_letters(
    committer: Committer, table: TableRef, columns: Sequence[str]
) -> Iterator[tuple[DataFile, pa.Table]]:
    """Files with dead letters, and their entries that are some."""
    log, handle = log_of(committer.store, table), committer.fresh(table)
    told = pa.table(handle.get_add_actions(flatten=True))
    names = told.column_names
    without = told["null_count.key"].to_pylist() if "null_count.key" in names else None
    for number, file in enumerate(active_files(handle)):
        if without is not None and without[number] == file.rows:
            continue
        entries = read_file(log, file, list(columns))
        letters = entries.filter(pc.invert(entries["delivered"]))
        if letters.num_rows:
            yield file, letters


@dataclass(slots=True)
class Redelivery:
    """Dead letters of one sink on their way."""

    committer: Committer
    table: TableRef
    following: Following
    target: Target
    identity: str
    """Of the sink, in its lake."""

    letters: Sequence[Letter]
    ledger: ErasureLedger | None = None
    """Whose rows letters are not to quote."""

    missing: int = 0
    """Rows so far that are not there any more, or not wanted by now: they stay letters."""

    _sent: dict[str, Letter] = field(default_factory=dict)
    """By the key of a call that goes out, whose rows it has."""

    def calls(self) -> Iterator[list[Call]]:
        """The calls, in pieces.

        Raises:
            FeedError: an expression of the sink does not fit a table.
            LakeError: a table cannot be read.
        """
        for some in _together(self.letters):
            values = self._values(some)
            calls = [call for letter in some for call in self._calls_of(letter, values)]
            if calls:
                yield calls

    def _calls_of(self, letter: Letter, values: Mapping[_Row, dict[str, Any]]) -> Iterator[Call]:
        rows = _tuples(letter.rows)
        there = [number for number, row in enumerate(rows) if row in values]
        self.missing += len(rows) - len(there)
        most = self.target.rows_per_call
        for start in range(0, len(there), most):
            taken = there[start : start + most]
            own = letter.rows.take(pa.array(taken))
            # Of a letter that was sent in part before, it has more rows than are left.
            is_whole = len(taken) == rows_under(letter.key)
            key = letter.key if is_whole else key_of(self.identity, origin_tuples(own))
            self._sent[key] = letter
            body = self.target.body_of([values[rows[number]] for number in taken])
            yield Call(number=letter.call, key=key, rows=own, body=body)

    def _values(self, letters: Sequence[Letter]) -> dict[_Row, dict[str, Any]]:
        """By row of some letters that is there and wanted, its fields."""
        wanted = pa.concat_tables([letter.rows for letter in letters])
        asked = set(_tuples(wanted))
        found: dict[_Row, dict[str, Any]] = {}
        for name in pc.unique(wanted["table"]).to_pylist():
            of_table = wanted.filter(pc.equal(wanted["table"], name))
            for shaped in self.following.rows_again(_table(name), of_table):
                pairs = zip(_tuples(shaped.rows), shaped.values, strict=True)
                found |= {row: fields for row, fields in pairs if row in asked}
        return found

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """Put what became of calls in the place of their letters.

        Raises:
            CommitConflictError: others rewrite the table all the time.
            LakeError: the table cannot be written.
        """
        with without_erased(self.ledger, self.table, outcomes) as recorded:

            def plan(rewrite: Rewrite) -> None:
                left = self._without(recorded, rewrite.removed)
                for entries in (*left, *self._entries(recorded)):
                    rewrite.write(entries)

            step = "Send the dead letters again later"
            rewrite_files(self.committer, self.table, plan, next_step=step)

    def _without(self, outcomes: Sequence[Outcome], removed: list[DataFile]) -> Iterator[pa.Table]:
        """What stays of each file that has letters of these calls; the file is noted."""
        own = {one.call.key: self._sent[one.call.key].key for one in outcomes}
        gone = {(own[one.call.key], row) for one in outcomes for row in _tuples(one.call.rows)}
        log = log_of(self.committer.store, self.table)
        for file, letters in _files_with_letters(self.committer, self.table, _TOLD):
            if gone.isdisjoint(_keyed(letters)):
                continue
            entries = read_file(log, file)
            stays = pa.array([one not in gone for one in _keyed(entries)])
            removed.append(file)
            if pc.any(stays).as_py():
                yield entries.filter(stays)

    def _entries(self, outcomes: Sequence[Outcome]) -> Iterator[pa.Table]:
        """What is to be in the place of letters; letters apart, as `Deliveries` has them."""
        now = datetime.now(UTC)
        for delivered in (True, False):
            alike = [one for one in outcomes if one.is_delivered is delivered]
            if alike:
                batches = [self._sent[one.call.key].batch for one in alike]
                yield entries_of(alike, batches, now)


def _keyed(entries: pa.Table) -> list[tuple[str | None, _Row]]:
    """Entries of rows, by the key of their call: none of those that were delivered."""
    return list(zip(entries["key"].to_pylist(), _tuples(entries), strict=True))


def _together(letters: Sequence[Letter]) -> Iterator[list[Letter]]:
    """Letters whose rows are looked up together."""
    taken: list[Letter] = []
    rows = 0
    for letter in letters:
        taken.append(letter)
        rows += letter.rows.num_rows
        if rows >= _AT_ONCE:
            yield taken
            taken, rows = [], 0
    if taken:
        yield taken


def _table(relative: str) -> TableRef:
    layer, _, name = relative.partition("/")
    return TableRef(layer=Layer(layer), name=name)


def _tuples(rows: pa.Table) -> list[_Row]:
    """Rows of `IDENTITY` as they can be compared."""
    # Python's calendar has not all times that a row may have.
    columns = [rows[name] for name in IDENTITY.names]
    plain = [one.cast(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in columns]
    return list(zip(*(one.to_pylist() for one in plain), strict=True))
