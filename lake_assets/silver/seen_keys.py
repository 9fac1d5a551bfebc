"""The keys of silver's newest rows in memory: a cache of what the tables say, by slices of time.

Each table's log is followed, so that rows are known that somebody else added, and forgotten where a
table was changed otherwise: restored, rewritten, rid of rows. A slice that is not here is read from
the files that reach into it, so rows that come late are compared as any other. Nothing is kept on a
disk: silver is the truth, and whoever starts reads it again.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.committer import Committer
from lake_assets.delta.conflicts import lake_errors
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.log_tail import actions_of, file_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import TableRef
from lake_assets.silver.first_rows import in_order, is_among
from lake_assets.silver.key_hashes import Words
from lake_assets.silver.keyed_rows import Ints, KeyedRows, concatenated
from lake_assets.silver.stored_keys import KeyReader

_LEAST_SLICE_US = 15 * 60 * 1_000_000
"""Microseconds of a slice at least: with shorter ones a backlog of a year has too many to note, and
longer ones keep more than the window asks for."""

_REACH = 2
"""Slices before and after a row's own that its window may reach into; one is half a window."""

_RECENT = 16
"""Batches for which a slice is kept that none of them needs: a partition that is behind is asked
for its slices in turn with one that is not."""

_THREADS = 4


@dataclass(kw_only=True, slots=True)
class _Known:
    """What is known of one table."""

    version: int
    digest: str
    kinds: Mapping[str, pa.DataType]
    loaded: set[int] = field(default_factory=set)
    """Slices whose rows are here."""

    awaited: dict[str, KeyedRows] = field(default_factory=dict)
    """By path, rows of files whose commit was not met yet."""


class Runs:
    """Rows sorted by hash, in a few pieces: a new one is merged with those that are not longer."""

    def __init__(self) -> None:
        """None."""
        self.pieces: list[KeyedRows] = []

    def add(self, rows: KeyedRows) -> None:
        """Add some rows."""
        if not len(rows):
            return
        self.pieces.append(_sorted(rows))
        while len(self.pieces) > 1 and len(self.pieces[-2]) <= 2 * len(self.pieces[-1]):
            last = [self.pieces.pop() for _ in range(2)]
            self.pieces.append(_sorted(concatenated(last)))

    def drop(self, table: int) -> None:
        """Forget a table's rows."""
        kept = [piece.take(piece.table != table) for piece in self.pieces]
        self.pieces = [piece for piece in kept if len(piece)]

    def find(self, ordered: Words) -> list[KeyedRows]:
        """The rows that have one of some hashes, which are sorted."""
        return [found for piece in self.pieces if len(found := _find(piece, ordered))]


class SeenKeys:
    """What a feed's tables have, as far as batches ask. For one thread at a time."""

    def __init__(self, reader: KeyReader, committer: Committer) -> None:
        """Nothing is known yet."""
        self._reader = reader
        self._committer = committer
        self._slice_us = max(_LEAST_SLICE_US, -(-reader.window_us // 2))
        self._known: dict[TableRef, _Known] = {}
        self._slices: dict[int, Runs] = {}
        self._recent: deque[set[int]] = deque(maxlen=_RECENT)

    @property
    def rows(self) -> int:
        """How many rows are in memory."""
        return sum(len(piece) for runs in self._slices.values() for piece in runs.pieces)

    @property
    def nbytes(self) -> int:
        """Of these rows."""
        return sum(piece.nbytes for runs in self._slices.values() for piece in runs.pieces)

    def follow(self, tables: Iterable[TableRef]) -> dict[TableRef, Mapping[str, pa.DataType]]:
        """Bring what is known of tables up to date; the types as which their keys are compared.

        Raises:
            LakeError: a table cannot be read.
        """
        return {table: self._follow(table).kinds for table in tables}

    def near(self, new: Mapping[TableRef, KeyedRows]) -> KeyedRows:
        """The rows of tables that have a key of new rows, and perhaps a time near theirs.

        Args:
            new: by table that `follow` was asked for.

        Raises:
            LakeError: a table cannot be read.
        """
        needed: set[int] = set()
        for table, rows in new.items():
            wanted = self._wanted(rows.time)
            self._load(table, wanted - self._known[table].loaded)
            needed |= wanted
        ordered = in_order(np.concatenate([rows.high for rows in new.values()]))
        found = [
            rows
            for at in sorted(needed)
            if at in self._slices
            for rows in self._slices[at].find(ordered)
        ]
        self._recent.append(needed)
        self._let_go()
        return concatenated(found)

    def expect(self, table: TableRef, files: Mapping[str, KeyedRows]) -> None:
        """Note rows of files that a commit is about to make part of a table."""
        self._known[table].awaited = dict(files)

    def forget(self) -> None:
        """Read everything again."""
        self._known.clear()
        self._slices.clear()
        self._recent.clear()

    def _wanted(self, times: Ints) -> set[int]:
        own = np.unique(times // self._slice_us)
        return {int(at) + step for at in own for step in range(-_REACH, _REACH + 1)}

    def _let_go(self) -> None:
        """Drop the slices that no batch of late needed."""
        kept = set().union(*self._recent)
        for at in [at for at in self._slices if at not in kept]:
            del self._slices[at]
        for known in self._known.values():
            known.loaded &= kept

    def _follow(self, table: TableRef) -> _Known:
        log, known = log_of(self._committer.store, table), self._known.get(table)
        if known is not None and not self._is_followed(log, table, known):
            number = self._reader.number_of(table)
            for runs in self._slices.values():
                runs.drop(number)
            known = None
        if known is None:
            handle = self._committer.fresh(table)
            kinds, version = self._reader.kinds_in(handle), handle.version()
            known = _Known(version=version, digest=commit_digest(log, version) or "", kinds=kinds)
            self._known[table] = known
        return known

    def _is_followed(self, log: TableLog, table: TableRef, known: _Known) -> bool:
        """Whether all that happened to a table since is known now; else it is to be forgotten."""
        if not known.digest or commit_digest(log, known.version) != known.digest:
            return False  # another table, or its log begins later by now
        version = known.version
        while log.has(version + 1):
            version += 1
            actions = list(actions_of(log, version))
            if any(
                kind == "metaData" or (kind == "remove" and action.get("dataChange", True))
                for kind, action in actions
            ):
                return False
            came = [
                file_of(a) for kind, a in actions if kind == "add" and a.get("dataChange", True)
            ]
            self._came(log, table, known, came)
        if version > known.version:
            known.version, known.digest = version, commit_digest(log, version) or ""
            known.awaited = {}
        return True

    def _came(
        self, log: TableLog, table: TableRef, known: _Known, files: Sequence[DataFile]
    ) -> None:
        if not known.loaded:
            return
        for file in files:
            rows = known.awaited.get(file.path)
            if rows is None:
                rows = self._reader.read(log, table, file, known.kinds).rows
            self._add(rows, known.loaded)

    def _load(self, table: TableRef, missing: set[int]) -> None:
        if not missing:
            return
        known, log = self._known[table], log_of(self._committer.store, table)
        handle = self._committer.fresh(table)
        if handle.version() != known.version:  # somebody commits meanwhile: told by the next look
            with lake_errors(self._committer.store.root):
                handle = log.open(known.version)
        spans = [(at * self._slice_us, (at + 1) * self._slice_us - 1) for at in sorted(missing)]
        files = list(self._reader.files_within(handle, spans))
        kept = kept_rows(log, handle) if files else {}

        def read(file: DataFile) -> KeyedRows:
            mask = kept.get(log.data_file(file.path))
            return self._reader.read(log, table, file, known.kinds, mask).rows

        with ThreadPoolExecutor(_THREADS) as pool:
            for rows in pool.map(read, files):
                self._add(rows, missing)
        known.loaded |= missing

    def _add(self, rows: KeyedRows, slices: set[int]) -> None:
        """Add those of some rows that are of some slices."""
        own = rows.time // self._slice_us
        for at in np.unique(own).tolist():
            if at in slices:
                self._slices.setdefault(at, Runs()).add(rows.take(own == at))


def _sorted(rows: KeyedRows) -> KeyedRows:
    return rows.take(np.argsort(rows.high, kind="stable"))


def _find(rows: KeyedRows, ordered: Words) -> KeyedRows:
    if len(ordered) > len(rows):
        return rows.take(is_among(rows.high, ordered))
    first = np.searchsorted(rows.high, ordered, "left")
    count = np.searchsorted(rows.high, ordered, "right") - first
    first, count = first[count > 0], count[count > 0]
    skipped = np.repeat(np.cumsum(count) - count, count)
    return rows.take(np.repeat(first, count) + np.arange(count.sum()) - skipped)
