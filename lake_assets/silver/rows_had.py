"""Which of a feed's rows tables have, when some of them are derived again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lake_assets.delta.change_journal import origins_in
from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, columns_of_file, read_file
from lake_assets.delta.offset_range import Range
from lake_assets.delta.origins import Both, NotIn, Origins, RowSet
from lake_assets.delta.table_log import log_of
from lake_assets.model.origins import OriginColumns, Spans
from lake_assets.model.tables import TableRef
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.own_rows import own_rows
from lake_assets.spark.lake_context import LakeContext


@dataclass(frozen=True, slots=True)
class RowsHad:
    """The feed's rows of some tables, of the versions that were the newest when it was made."""

    context: LakeContext
    origin: OriginColumns
    tables: Mapping[TableRef, tuple[pa.Schema, Sequence[DataFile]]]

    @classmethod
    def of(cls, context: LakeContext, origin: OriginColumns, tables: Iterable[TableRef]) -> Self:
        """Those of these tables that are there."""
        there = [table for table in tables if log_of(context.lake, table).exists()]
        handles = {table: context.committer.fresh(table) for table in there}
        found = {t: (pa.schema(one.schema()), active_files(one)) for t, one in handles.items()}
        return cls(context, origin, found)

    def identities(self, session: SparkSession) -> DataFrame | None:
        """Their identities as bronze calls them, a row as often as it is there; None of none."""
        found: DataFrame | None = None
        for table, (schema, files) in self.tables.items():
            if files:
                rows = own_rows(
                    session, log_of(self.context.lake, table), schema, files, self.origin
                )
                its = rows.select(*self.origin.identity)
                found = its if found is None else found.unionByName(its)
        return found

    def among(self, rows: RowSet) -> Origins:
        """Those that are in a set. One file is in memory at a time."""
        found = Origins(self.origin)
        for table, (_, files) in self.tables.items():
            log = log_of(self.context.lake, table)
            for file in files:
                names = columns_of_file(log, file)
                columns = dict.fromkeys([*found.columns(names), *rows.columns(names)])
                those = read_file(log, file, [*columns])
                found.add(those.filter(pa.array(rows.mask(those))))
        return found

    def dropped(self, demuxed: Demuxed, span: Range, others: Iterable[TableRef]) -> Spans:
        """Those that were derived again and came to nothing, as far as other tables have them.

        Args:
            demuxed: what was derived of all of them, whichever tables it goes to.
            span: what was derived again.
            others: tables.
        """
        files = {table: written.files for table, written in demuxed.written.items()}
        came = origins_in(self.context.lake, files, self.origin)
        left = self.among(Both(span.rows(self.origin), NotIn(came)))
        beside = RowsHad.of(self.context, self.origin, others) if len(left) else None
        return beside.among(left).spans if beside else {}
