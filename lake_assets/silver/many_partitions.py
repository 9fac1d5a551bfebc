"""A batch with rows of very many partitions of a table: told if many, refused above a bound.

A partition that a batch has rows of costs a file, however few rows they are.
"""

import logging
from collections.abc import Iterator, Mapping

from lake_assets.errors import PartitionsExceededError
from lake_assets.model.feeds import Feed
from lake_assets.model.layouts import PartitionColumn
from lake_assets.model.tables import TableRef
from lake_assets.spark.fan_out import Written

_LOG = logging.getLogger(__name__)

MANY = 100
"""Files of one table in a batch that are worth a word: they take as long to write as 100,000 rows,
and late rows of three months by day are fewer."""

MOST = 10_000
"""Files of one table in a batch: ten seconds, and a commit of 4 MB that each reader of the log
reads. Who has more partitions by a column of names or numbers meant `cluster_by`."""


class ManyPartitions:
    """What a process has told of."""

    def __init__(self, feed: Feed) -> None:
        """Nothing was told yet."""
        self._feed = feed
        self._told: set[TableRef] = set()

    def tell(self, written: Mapping[TableRef, Written]) -> None:
        """Log that a batch has rows of many partitions, once a table."""
        for table, count in _counts(written):
            if count > MANY and table not in self._told:
                self._told.add(table)
                by = ", ".join(column.expression for column in self._of(table))
                text = (
                    "a batch has rows of %d partitions of %s, and so many files: partition by what "
                    "has fewer values than %s, or use cluster_by, then run `lake-assets rebuild "
                    "silver`. Late rows alone may do that, too, and pass"
                )
                _LOG.warning(text, count, table.name, by, extra={"feed": self._feed.feed})

    def problem(self, written: Mapping[TableRef, Written]) -> PartitionsExceededError | None:
        """Why a batch cannot be committed, if it has rows of too many partitions."""
        for table, count in _counts(written):
            if count > MOST:
                by = ", ".join(column.expression for column in self._of(table))
                return PartitionsExceededError(table.name, by, count, MOST)
        return None

    def _of(self, table: TableRef) -> tuple[PartitionColumn, ...]:
        return self._feed.layout_in(table).partition_by


def _counts(written: Mapping[TableRef, Written]) -> Iterator[tuple[TableRef, int]]:
    """By partitioned table, the partitions that a batch has rows of."""
    for table, output in written.items():
        if output.files and output.files[0].partition:
            yield table, len({tuple(file.partition.values()) for file in output.files})
