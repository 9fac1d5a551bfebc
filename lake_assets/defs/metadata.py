"""Tables as Dagster's metadata: size, place, columns."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b

import dagster as dg

from lake_assets.delta.column_types import Column, column_types, columns_of
from lake_assets.delta.log_history import open_table, state_of
from lake_assets.gold.column_lineage import ViewWords
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import RefreshReport, ViewRefresh
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.storage.store import Store
from lake_assets.streams.batch_totals import Pace

Metadata = dict[str, dg.MetadataValue]

VERSION = "delta_version"
"""The table's version that a materialization tells of."""

COLUMNS = "dagster/column_schema"
"""Columns, under the key that the UI shows them by."""

URI = "dagster/uri"
"""Where a table lies, as other engines take it, under the key that catalogs read it by."""

ROWS, PARTITION_ROWS = "dagster/row_count", "dagster/partition_row_count"
"""Rows of a table that is all of its asset, or that of one partition: the page shows the newest
`dagster/row_count` of any partition as that of the asset."""

COLUMNS_DIGEST = "columns_digest"
"""Tells one set of columns from another where an event leaves them out."""


def _described(columns: tuple[Column, ...], made: Mapping[str, str] | None) -> tuple[Column, ...]:
    """The columns, each with what it is made from where it says nothing itself."""
    words = made or {}
    return tuple(replace(one, comment=one.comment or words.get(one.name, "")) for one in columns)


def columns_metadata(columns: tuple[Column, ...]) -> dict[str, dg.TableSchemaMetadataValue]:
    """Columns as the UI shows them; nothing where there are none."""
    if not columns:
        return {}
    schema = dg.TableSchema(
        columns=[dg.TableColumn(c.name, c.type, description=c.comment or None) for c in columns]
    )
    return {COLUMNS: dg.MetadataValue.table_schema(schema)}


def declared_metadata(
    lake: Store, table: TableRef, made: Mapping[str, str] | None = None
) -> dict[str, dg.MetadataValue]:
    """What is known of a table without its having any rows.

    Args:
        lake: that has it, or will.
        table: which.
        made: by column, in words, what it is made from.
    """
    return {
        "dagster/table_name": dg.MetadataValue.text(table.name),
        **_places(lake, table),
        **columns_metadata(_described(column_types(lake, table), made)),
    }


def family_metadata(
    lake: Store, pattern: TableRef, example: TableRef, made: Mapping[str, str] | None = None
) -> dict[str, dg.MetadataValue]:
    """What is known of one table a key: where they lie, and the columns of one of them.

    Args:
        lake: that has them.
        pattern: their names.
        example: one of them.
        made: by column, in words, what it is made from.
    """
    return {
        # No `dagster/table_name`: the page links assets that have the same, as feeds may here.
        "tables": dg.MetadataValue.text(pattern.name),
        # All of them lie there; the address of each is at its partition.
        "path": dg.MetadataValue.path(str(lake.root / pattern.relative)),
        **columns_metadata(_described(column_types(lake, example), made)),
    }


def refresh_metadata(lake: Store, feed: Feed, report: RefreshReport) -> dict[str, Metadata]:
    """By key, its view's table as it is now and what the refresh did to it."""
    views, words = {view.name: view for view in feed.gold}, ViewWords(lake, feed)
    # Of all keys together, each a number of its own: Dagster plots these, and no objects.
    seconds = {
        f"seconds_of_{phase}": dg.MetadataValue.float(round(duration, 3))
        for phase, duration in report.seconds.items()
    }
    return {
        refresh.key: {
            **table_metadata(
                lake,
                feed.gold_table(views[refresh.view], refresh.key),
                words.of(views[refresh.view]),
                is_partition=refresh.key != EVERY_KEY,
            ),
            **view_metadata(refresh),
            **seconds,
            **pace_metadata(Pace(seconds=sum(report.seconds.values())), "refresh"),
        }
        for refresh in report.refreshed
    }


def view_metadata(refresh: ViewRefresh) -> Metadata:
    """What a refresh did to one table."""
    # In all, since the streams tell of the last of several refreshes only.
    in_all = refresh.late_rows_in_all
    late = {"late_rows_in_all": dg.MetadataValue.int(in_all)} if in_all else {}
    return {
        **late,
        "refresh": dg.MetadataValue.text(refresh.mode.value),
        "refresh_why": dg.MetadataValue.text(refresh.why),
        "rows_read": dg.MetadataValue.int(refresh.rows_read),
        "rows_written": dg.MetadataValue.int(refresh.rows_written),
    }


def pace_metadata(pace: Pace | None, what: str) -> Metadata:
    """Numbers that Dagster plots over time: seconds of a `batch` or a `refresh`, and lag."""
    if pace is None:
        return {}
    seconds = round(pace.seconds / pace.batches, 3)
    found: Metadata = {f"seconds_per_{what}": dg.MetadataValue.float(seconds)}
    if pace.lag_rows is not None:
        found["lag_rows"] = dg.MetadataValue.int(pace.lag_rows)
    if pace.lag_s is not None:
        found["lag_seconds"] = dg.MetadataValue.float(round(pace.lag_s, 3))
    return found


def table_metadata(
    lake: Store,
    table: TableRef,
    made: Mapping[str, str] | None = None,
    *,
    is_partition: bool = False,
) -> dict[str, dg.MetadataValue]:
    """A table as it is now, by its log; empty if it is not there yet.

    Args:
        lake: that has it.
        table: which.
        made: by column, in words, what it is made from.
        is_partition: whether it is one of several tables of its asset.
    """
    handle = open_table(lake, table)
    if handle is None:
        return {}
    state, columns = state_of(handle), _described(columns_of(handle), made)
    return {
        PARTITION_ROWS if is_partition else ROWS: dg.MetadataValue.int(state.rows),
        "dagster/table_name": dg.MetadataValue.text(table.name),
        **_places(lake, table),
        VERSION: dg.MetadataValue.int(state.version),
        "committed_at": dg.MetadataValue.timestamp(state.committed_at),
        "files": dg.MetadataValue.int(state.files),
        "size_bytes": dg.MetadataValue.int(state.size_bytes),
        **columns_metadata(columns),
        COLUMNS_DIGEST: dg.MetadataValue.text(_digest(columns)),
    }


def _digest(columns: tuple[Column, ...]) -> str:
    words = repr([(c.name, c.type, c.comment) for c in columns])
    return blake2b(words.encode(), digest_size=4).hexdigest()


def _places(lake: Store, table: TableRef) -> Metadata:
    place = lake.root / table.relative
    return {
        URI: dg.MetadataValue.text(place.for_catalogs()),
        "path": dg.MetadataValue.path(str(place)),
    }
