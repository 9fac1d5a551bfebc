"""Where a feed's rows are that an erasure is about: in silver, and in all that is kept beside it.

Each row is told by where it came from; whoever has the same origin has the same message.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.delta.origins import Origins
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.find_values import (
    FoundRows,
    ensure_tells,
    files_without,
    naming,
    rows_where,
    rows_with,
)
from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import patterns_of
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.misfits import RESCUED
from lake_assets.model.origins import IDENTITY_PARTS, OriginColumns
from lake_assets.model.tables import (
    TableRef,
    bronze_of,
    duplicates_of,
    quarantine_of,
    waiting_of,
)
from lake_assets.model.tombstones import ROW_KEY
from lake_assets.silver.duplicate_rows import FIRST, FIRST_FEED
from lake_assets.silver.noted_change import silver_tables
from lake_assets.spark.lake_context import LakeContext

_TEXTS = ("value", "detail")
"""Columns of quarantine, and of waiting rows, that have what came, or parts of it."""


@dataclass(kw_only=True, slots=True)
class FeedRows:
    """Rows of one feed."""

    origins: Origins
    rows: dict[str, int] = field(default_factory=dict)
    """By table, how many were found in it."""

    read: int = 0
    """Files that were read for it."""

    without: set[TableRef] = field(default_factory=set)
    """Tables that have none: their rows have their values in the column, which all were read."""

    def add(self, table: TableRef, found: FoundRows) -> None:
        """Take in what was found in a table."""
        self.read += found.read
        if found.rows:
            self.without.discard(table)
            self.rows[table.name] = found.rows
            self.origins.add_spans(found.origins.spans)


def hides_values(feed: Feed) -> bool:
    """Whether silver's columns may have other values than messages have in fields of the name."""
    selects = feed.select or feed.selects or feed.mask or feed.masks
    return bool(selects) or feed.transform is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """Looks for one erasure's rows."""

    context: LakeContext
    feed: Feed
    matching: Matching

    def run(self) -> FeedRows:
        """Find them in the newest version of each table.

        Raises:
            ErasureError: a table cannot be searched for such values.
            LakeError: a table cannot be read.
        """
        feed, origin = self.feed, origin_of(self.feed)
        found = FeedRows(origins=Origins(origin))
        for table in silver_tables(self.context.lake, feed):
            log, handle = log_of(self.context.lake, table), self.context.committer.fresh(table)
            names = {column.name.lower() for column in handle.schema().fields}
            if self.matching.column.lower() in names and not hides_values(feed):
                found.without.add(table)
            found.add(table, rows_with(log, handle, self.matching, origin))
            if RESCUED in {column.name for column in handle.schema().fields}:
                found.add(table, self._texts(table, [RESCUED], self.matching.is_in_json))
        for table in (quarantine_of(feed.feed), waiting_of(feed.feed)):
            found.add(table, self._texts(table, _TEXTS))
        if not feed.has_silver:
            found.add(bronze_of(feed.feed), self._texts(bronze_of(feed.feed), ["value"]))
        found.add(bronze_of(feed.feed), self._tombstones())
        self._add_duplicates(found)
        return found

    def _texts(
        self,
        table: TableRef,
        columns: Sequence[str],
        is_meant: Callable[[str], bool] | None = None,
    ) -> FoundRows:
        """Rows of a table that name a wanted value in some texts.

        None if only hashes are known, unless `is_meant` tells by these.
        """
        log, none = log_of(self.context.lake, table), FoundRows(origins=Origins(self._origin))
        if not log.exists() or not (self.matching.spellings or is_meant):
            return none
        handle = self.context.committer.fresh(table)
        there = {column.name for column in handle.schema().fields}
        names = [name for name in columns if name in there]
        test = naming(patterns_of(self.matching.plain), is_meant)
        return rows_where(log, handle, names, test, self._origin)

    def _tombstones(self) -> FoundRows:
        """Raw rows without a value whose key tells the person: who produces one names it there."""
        table, found = bronze_of(self.feed.feed), FoundRows(origins=Origins(self._origin))
        log = log_of(self.context.lake, table)
        if not log.exists():
            return found
        handle = self.context.committer.fresh(table)
        if ROW_KEY not in {column.name for column in handle.schema().fields}:
            return found
        for file in files_without(handle, "value"):
            rows = read_file(log, file, [ROW_KEY, "value", *self._origin.identity])
            keys = rows.filter(pc.is_null(rows["value"]))
            is_its = [self.matching.is_key(one) for one in keys[ROW_KEY].to_pylist()]
            own = keys.filter(pa.array(is_its, pa.bool_()))
            found.read += 1
            found.rows += own.num_rows
            found.origins.add(own.select(self._origin.identity))
        return found

    def _add_duplicates(self, found: FeedRows) -> None:
        """Add rows that were left out since they are duplicates of some that were found.

        They have the same person only where that belongs to what names an event; whose others are,
        decoding tells (`erasure.decoded`).
        """
        table, origin, given = duplicates_of(self.feed.feed), self._origin, self.feed.deduplicate
        if given is None or self.matching.column.lower() not in map(str.lower, given.key):
            return
        if not log_of(self.context.lake, table).exists() or not len(found.origins):
            return
        named = origin if origin.tables is None else origin.tables
        firsts = [name for part in IDENTITY_PARTS if (name := getattr(named, part))]
        columns = [*origin.identity, *(FIRST + name for name in firsts), FIRST_FEED]
        for rows in self._all_of(table, dict.fromkeys(columns)):
            first = rows.select([FIRST + name for name in firsts]).rename_columns(firsts)
            own = rows.filter(pa.array(_among(first, rows[FIRST_FEED], found.origins, origin)))
            if own.num_rows:
                found.origins.add(own.select(origin.identity))
                found.rows[table.name] = found.rows.get(table.name, 0) + own.num_rows

    def _all_of(self, table: TableRef, columns: Iterable[str]) -> Iterable[pa.Table]:
        log = log_of(self.context.lake, table)
        for file in active_files(self.context.committer.fresh(table)):
            yield read_file(log, file, [*columns])

    @property
    def _origin(self) -> OriginColumns:
        return origin_of(self.feed)


def is_told_by(context: LakeContext, feed: Feed, column: str) -> bool:
    """Whether a table of a feed's silver has a column of a name, in any case.

    Raises:
        ErasureError: one has, and nobody can be erased by it.
        LakeError: a table cannot be read.
    """
    handles = {table: context.committer.fresh(table) for table in silver_tables(context.lake, feed)}
    told = [ensure_tells(log_of(context.lake, t), its, column) for t, its in handles.items()]
    return any(told)


def texts_of(context: LakeContext, feed: Feed) -> list[str]:
    """Tables of a feed with rows that may have no column which tells whose they are.

    Raises:
        LakeError: a table cannot be read.
    """
    lake = context.lake
    tables = [quarantine_of(feed.feed), waiting_of(feed.feed)]
    tables += [] if feed.has_silver else [bronze_of(feed.feed)]
    handles = {table: open_table(lake, table) for table in tables}
    return [table.name for table, handle in handles.items() if handle and rows_of(handle)]


def _among(
    first: pa.Table, feeds: pa.ChunkedArray, origins: Origins, origin: OriginColumns
) -> list[bool]:
    whose = None if origin.whose is None else origin.whose.feed
    is_own = [whose is None or feed in {None, whose} for feed in feeds.to_pylist()]
    is_among = origins.mask(first).tolist()
    return [one and other for one, other in zip(is_own, is_among, strict=True)]
