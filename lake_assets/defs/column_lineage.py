"""What silver's columns are made from, where a feed's `select` tells: in words, and as lineage.

In words, with a column's description, since Dagster's open UI shows no lineage of columns; the
lineage itself is for its GraphQL and for catalogs that read it.
"""

from collections.abc import Mapping

import dagster as dg

from lake_assets.defs.keys import bronze_key
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.select_notes import SelectedColumn, SelectNote, read_select

LINEAGE = "dagster/column_lineage"
"""The key that Dagster knows lineage of columns by."""

_PAYLOAD = "value"
"""Bronze's column with the raw values."""


def noted_columns(settings: Settings, feed: Feed) -> Mapping[str, SelectedColumn]:
    """What the streams noted of a feed's silver; empty where nothing is selected, or noted yet."""
    note = _note_of(settings, feed)
    return {} if note is None else note.columns


def noted_columns_of(
    settings: Settings, feed: Feed, key: str | None
) -> Mapping[str, SelectedColumn]:
    """The same of one key's table, where keys select for themselves."""
    note = _note_of(settings, feed)
    return {} if note is None else note.of_key(key or "")


def _note_of(settings: Settings, feed: Feed) -> SelectNote | None:
    if not feed.select and not feed.selects:
        return None
    return read_select(settings.state_dir, feed.feed, feed.select, feed.selects)


def in_words(columns: Mapping[str, SelectedColumn]) -> dict[str, str]:
    """By column, what it is made from: `payload field time`, `computed from heart_bpm`."""
    return {name: _words(one) for name, one in columns.items()}


def lineage_metadata(
    feed: Feed, columns: Mapping[str, SelectedColumn]
) -> dict[str, dg.MetadataValue]:
    """Each column by the fields of bronze's `value` that it is made from; empty without columns."""
    if not columns:
        return {}
    bronze = bronze_key(feed)
    deps = {
        name: [
            dg.TableColumnDep(asset_key=bronze, column_name=f"{_PAYLOAD}.{field}")
            for field in one.reads
        ]
        for name, one in columns.items()
    }
    return {LINEAGE: dg.MetadataValue.column_lineage(dg.TableColumnLineage(deps_by_column=deps))}


def _words(one: SelectedColumn) -> str:
    read = ", ".join(one.reads)
    if one.is_copy:
        return f"payload field {read}"
    return f"computed from {read}" if read else "the same for all rows"
