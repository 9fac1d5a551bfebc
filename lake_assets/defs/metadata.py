"""Tables as Dagster's metadata: size, place, columns."""

import dagster as dg

from lake_assets.delta.column_types import Column, column_types, columns_of
from lake_assets.delta.log_history import open_table, state_of
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import RefreshReport, ViewRefresh
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store

Metadata = dict[str, dg.MetadataValue]

VERSION = "delta_version"
"""The table's version that a materialization tells of."""


def columns_metadata(columns: tuple[Column, ...]) -> dict[str, dg.TableSchemaMetadataValue]:
    """Columns under the key that the UI shows them by; nothing where there are none."""
    if not columns:
        return {}
    schema = dg.TableSchema(
        columns=[dg.TableColumn(c.name, c.type, description=c.comment or None) for c in columns]
    )
    return {"dagster/column_schema": dg.MetadataValue.table_schema(schema)}


def declared_metadata(lake: Store, table: TableRef) -> dict[str, dg.MetadataValue]:
    """What is known of a table without its having any rows."""
    return {
        "dagster/table_name": dg.MetadataValue.text(table.name),
        "path": _place(lake, table),
        **columns_metadata(column_types(lake, table)),
    }


def family_metadata(
    lake: Store, pattern: TableRef, example: TableRef
) -> dict[str, dg.MetadataValue]:
    """What is known of one table a key: where they lie, and the columns of one of them."""
    return {
        "dagster/table_name": dg.MetadataValue.text(pattern.name),
        "path": _place(lake, pattern),
        **columns_metadata(column_types(lake, example)),
    }


def refresh_metadata(lake: Store, feed: Feed, report: RefreshReport) -> dict[str, Metadata]:
    """By key, its view's table as it is now and what the refresh did to it."""
    views = {view.name: view for view in feed.gold}
    seconds = {phase: round(duration, 3) for phase, duration in report.seconds.items()}
    return {
        refresh.key: {
            **table_metadata(lake, feed.gold_table(views[refresh.view], refresh.key)),
            **view_metadata(refresh),
            "seconds_of_all_keys": dg.MetadataValue.json(seconds),
        }
        for refresh in report.refreshed
    }


def view_metadata(refresh: ViewRefresh) -> Metadata:
    """What a refresh did to one table."""
    return {
        "refresh": dg.MetadataValue.text(refresh.mode.value),
        "refresh_why": dg.MetadataValue.text(refresh.why),
        "rows_read": dg.MetadataValue.int(refresh.rows_read),
        "rows_written": dg.MetadataValue.int(refresh.rows_written),
    }


def table_metadata(lake: Store, table: TableRef) -> dict[str, dg.MetadataValue]:
    """A table as it is now, by its log; empty if it is not there yet."""
    handle = open_table(lake, table)
    if handle is None:
        return {}
    state = state_of(handle)
    return {
        "dagster/row_count": dg.MetadataValue.int(state.rows),
        "dagster/table_name": dg.MetadataValue.text(table.name),
        "path": _place(lake, table),
        VERSION: dg.MetadataValue.int(state.version),
        "committed_at": dg.MetadataValue.timestamp(state.committed_at),
        "files": dg.MetadataValue.int(state.files),
        "size_bytes": dg.MetadataValue.int(state.size_bytes),
        **columns_metadata(columns_of(handle)),
    }


def _place(lake: Store, table: TableRef) -> dg.MetadataValue:
    return dg.MetadataValue.path(str(lake.root / table.relative))
