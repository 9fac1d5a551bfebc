"""What silver's columns are made from, by a feed's `select` or by names, as Dagster's lineage.

That is for its GraphQL and for catalogs that read it. Its open UI shows no lineage of columns, but
their descriptions, which have it in words.
"""

from collections.abc import Mapping, Sequence

import dagster as dg

from lake_assets.defs.keys import bronze_key
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.rows import columns_in_bronze
from lake_assets.state.select_notes import SelectedColumn

LINEAGE = "dagster/column_lineage"
"""The key that Dagster knows lineage of columns by."""

_PAYLOAD = "value"
"""Bronze's column with the raw values."""


def lineage_metadata(
    settings: Settings,
    feed: Feed,
    selected: Mapping[str, SelectedColumn],
    names: Sequence[str],
) -> dict[str, dg.MetadataValue]:
    """Each column by the fields of bronze's `value`, or the columns of bronze, it is made from.

    Args:
        settings: of the lake.
        feed: whose silver.
        selected: what a `select` makes, by column.
        names: all columns of a table; there may be none yet.
    """
    origin = {
        name: [bronze] if bronze else []
        for name, bronze in columns_in_bronze(origin_of(feed)).items()
    }
    read = {name: _read(feed, name, selected, origin) for name in [*selected, *names]}
    known = {name: columns for name, columns in read.items() if columns is not None}
    if not known:
        return {}
    key = bronze_key(settings, feed)
    deps = {
        name: [dg.TableColumnDep(asset_key=key, column_name=column) for column in columns]
        for name, columns in known.items()
    }
    return {LINEAGE: dg.MetadataValue.column_lineage(dg.TableColumnLineage(deps_by_column=deps))}


def _read(
    feed: Feed,
    name: str,
    selected: Mapping[str, SelectedColumn],
    origin: Mapping[str, Sequence[str]],
) -> Sequence[str] | None:
    """What of bronze a column is made from; None if that is not known."""
    if name in selected:
        return [f"{_PAYLOAD}.{field}" for field in selected[name].reads]
    if name in origin:
        return origin[name]
    if feed.transform or feed.select or feed.selects:
        return None  # made by code, or by a `select` that the streams have not noted yet
    # What decoding adds itself, such as `_rescued`, has no field.
    return [_PAYLOAD] if name.startswith("_") else [f"{_PAYLOAD}.{name}"]
