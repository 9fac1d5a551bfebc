"""Rows that are put into quarantine as they are: those of a batch that is skipped.

Nothing of a row is decoded, and no Spark is asked: whatever made the batch fail is not met again.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import read_file
from lake_assets.delta.deletion_vectors import kept_rows, without_deleted
from lake_assets.delta.origins import RowSet, Within
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.quarantine import Reason
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.rows import quarantine_of_feed, read_names
from lake_assets.spark.lake_context import LakeContext


def skipped_since(why: str) -> str:
    """What is said of each row that is put aside now, beside the reason `skipped`."""
    return f"skipped on {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, since {why}"


def set_aside(
    context: LakeContext,
    feed: Feed,
    files: Iterable[DataFile],
    keep: RowSet | None,
    detail: str,
    table: TableRef | None = None,
) -> list[DataFile]:
    """Write files for quarantine with the rows of some of bronze's; commits nothing.

    Args:
        context: of the lake.
        feed: whose bronze and quarantine.
        files: of bronze; one is in memory at a time.
        keep: of their rows those that are meant; all if None.
        detail: for each row, beside the reason `skipped`.
        table: whose files they are, if not bronze's: waiting rows look like bronze's.

    Raises:
        LakeError: a file cannot be read, or the lake cannot be written.
    """
    log = log_of(context.lake, quarantine_of(feed.feed)).folder
    parts = (
        as_skipped(rows, feed, detail)
        for rows in _rows(context, feed, files, keep, table or bronze_of(feed.feed))
        if rows.num_rows
    )
    return [DataFile(**write_file(context.lake, part, log)) for part in parts]  # type: ignore[arg-type]


def _rows(
    context: LakeContext,
    feed: Feed,
    files: Iterable[DataFile],
    keep: RowSet | None,
    table: TableRef,
) -> Iterator[pa.Table]:
    log = log_of(context.lake, table)
    kept = kept_rows(log, context.committer.fresh(table))
    # Whose value is erased nobody knows of what is not decoded; a requeue does.
    spans = context.erasures.spans(feed.feed) if context.erasures else {}
    erased = Within(spans, feed.source.origin) if spans else None
    for file in files:
        rows = read_file(log, file, read_names(feed))
        rows = without_deleted(rows, kept.get(log.data_file(file.path)))
        if erased is not None:
            rows = rows.filter(pa.array(~erased.mask(rows)))
        yield rows if keep is None else rows.filter(pa.array(keep.mask(rows)))


def as_skipped(rows: pa.Table, feed: Feed, detail: str) -> pa.Table:
    """Rows with the columns `silver.rows.read_names`, and perhaps others, as quarantine's."""
    schema, count = quarantine_of_feed(feed), rows.num_rows
    columns = {
        **{name: rows[name] for name in rows.column_names},
        "reason": pa.repeat(pa.scalar(Reason.SKIPPED.value), count),
        "detail": pa.repeat(pa.scalar(detail), count),
        "quarantined_at": pa.repeat(pa.scalar(datetime.now(UTC), pa.timestamp("us", "UTC")), count),
    }
    # A file of waiting rows may be older than the column of headers.
    arrays = [columns.get(one.name, pa.nulls(count, one.type)) for one in schema]
    return pa.table(arrays, names=schema.names).cast(schema)
