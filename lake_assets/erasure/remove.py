"""Having a feed's rows leave the newest version of all its tables, told by where they came from.

What leaves silver, quarantine and what is beside them is one noted change, which whoever starts
next finishes. Raw rows go after it: as long as they are there, nothing that was derived of them is
gone for good.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.change_journal import TableChange
from lake_assets.delta.commit import ERASED, SPLIT_BY, DataFile
from lake_assets.delta.data_files import (
    columns_of_file,
    folder_in_table,
    prefix_of,
    read_file,
)
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.origin_bounds import files_that_may_have
from lake_assets.delta.origins import Origins, Own
from lake_assets.delta.remove_rows import remove_rows
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_layout import layout_of
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.find_values import columns_called
from lake_assets.erasure.matching import Matching
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.misfits import RESCUED
from lake_assets.model.origins import OriginColumns, Spans
from lake_assets.model.tables import TableRef, bronze_of, erased_of, landed_of, quarantine_of
from lake_assets.model.transforms import generators_in
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.noted_change import change_tables, silver_tables, tables_aside
from lake_assets.spark.lake_context import LakeContext
from lake_assets.streams.noted_changes import reprocess_journal


@dataclass(frozen=True, kw_only=True, slots=True)
class Removal:
    """Takes some rows of a feed out of its tables."""

    context: LakeContext
    feed: Feed
    erasure: str
    """Id of the erasure, which commits name."""

    spans: Spans
    """Where the rows came from."""

    matching: Matching
    """Tells which rows of a message are meant, where it has several."""

    without: Collection[TableRef] = ()
    """Tables of which it is known that they have none of the rows."""

    def tables(self) -> list[TableRef]:
        """The tables that have some of the rows, in their order.

        Raises:
            LakeError: a table cannot be read.
            TableFeatureError: a feature of a table forbids it.
        """
        lake, feed = self.context.lake, self.feed
        derived = [*silver_tables(lake, feed), *self._aside()]
        raw = [bronze_of(feed.feed), landed_of(feed.feed)]
        every = (table for table in (*derived, *raw) if table not in self.without)
        there = [table for table in every if log_of(lake, table).exists()]
        return [table for table in there if any(self.spans.values()) and self._has(table)]

    def run(self, tables: Sequence[TableRef]) -> dict[TableRef, int]:
        """Take the rows out; does nothing where it was done before.

        Args:
            tables: `tables`.

        Returns:
            By table, how many rows left.

        Raises:
            CommitConflictError: others keep rewriting a table.
            LakeError: the lake cannot be read or written.
            TableFeatureError: a feature of a table forbids it; nothing has happened.
        """
        raw = (bronze_of(self.feed.feed), landed_of(self.feed.feed))
        derived = [table for table in tables if table not in raw]
        gone = self._change(derived) if derived else {}
        for table in raw:
            if table in tables:
                committer, info = self.context.committer, {ERASED: self.erasure}
                gone[table] = remove_rows(committer, table, self._origins(), self._own, info)
        return {table: count for table, count in gone.items() if count}

    def _change(self, tables: Sequence[TableRef]) -> dict[TableRef, int]:
        lake, feed, origins = self.context.lake, self.feed, self._origins()
        journal = reprocess_journal(lake, feed)
        aside = self._aside()
        has_several = bool(generators_in(feed.select))
        parts = [
            TableChange(
                table=table,
                files=self._neighbours(table, origins) if has_several else (),
                info={ERASED: self.erasure, **self._layout(table)},
            )
            for table in tables
            if table not in aside
        ]
        parts += [TableChange(table=table, info={ERASED: self.erasure}) for table in aside]
        return change_tables(self.context, journal, feed, parts, self.spans).removed

    def _aside(self) -> list[TableRef]:
        """Tables beside silver that rows leave; quarantine's part of a change is the last."""
        erased = erased_of(self.feed.feed)  # has no values, and says where they went
        aside = tables_aside(self.context.lake, self.feed)
        return [*(table for table in aside if table != erased), quarantine_of(self.feed.feed)]

    def _has(self, table: TableRef) -> bool:
        handle, log = self.context.committer.fresh(table), log_of(self.context.lake, table)
        ensure_usable(handle, Use.READ)
        origins, own = self._origins(), Own(self._own)
        for file in files_that_may_have(handle, origins, self._own):
            names = columns_of_file(log, file)
            columns = dict.fromkeys([*origins.columns(names), *own.columns(names)])
            rows = read_file(log, file, [*columns])
            if (origins.mask(rows) & own.mask(rows)).any():
                return True
        return False

    def _neighbours(self, table: TableRef, origins: Origins) -> list[DataFile]:
        """New files with the rows of the same messages that are not meant: they come back."""
        handle, log = self.context.committer.fresh(table), log_of(self.context.lake, table)
        schema = pa.schema(handle.schema().to_arrow())
        names = columns_called(schema, self.matching.column)
        if not names:
            return []  # nothing tells which row of the message is whose
        files = []
        for file in files_that_may_have(handle, origins, self._own):
            rows = read_file(log, file)
            mask = origins.mask(rows) & Own(self._own).mask(rows)
            for name in (name for name in names if name in rows.column_names):
                is_meant = pc.fill_null(self.matching.test(rows[name]), pa.scalar(value=False))
                mask &= ~np.asarray(is_meant)
            if RESCUED in rows.column_names:
                mask &= ~self._are_rescued(rows[RESCUED])
            if mask.any():
                kept = rows.filter(pa.array(mask))
                place = (log.folder, folder_in_table(file), prefix_of(file), file.partition)
                written = write_file(log.store, kept, *place)
                files.append(DataFile(partition=file.partition, **written))  # type: ignore[arg-type]
        return files

    def _are_rescued(self, texts: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Which rows name the value in what did not fit their columns."""
        named = [text is not None and self.matching.is_in_json(text) for text in texts.to_pylist()]
        return np.array(named, np.bool_)

    def _layout(self, table: TableRef) -> dict[str, str]:
        layout = layout_of(self.context.committer.fresh(table))
        return {SPLIT_BY: layout} if layout else {}

    def _origins(self) -> Origins:
        origins = Origins(self._own)
        origins.add_spans(self.spans)
        return origins

    @property
    def _own(self) -> OriginColumns:
        return origin_of(self.feed)
