"""What silver's columns are made from, where a feed's `select` tells, as Dagster's lineage.

That is for its GraphQL and for catalogs that read it. Its open UI shows no lineage of columns, but
their descriptions, which have it in words.
"""

from collections.abc import Mapping

import dagster as dg

from lake_assets.defs.keys import bronze_key
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.select_notes import SelectedColumn

LINEAGE = "dagster/column_lineage"
"""The key that Dagster knows lineage of columns by."""

_PAYLOAD = "value"
"""Bronze's column with the raw values."""


def lineage_metadata(
    settings: Settings, feed: Feed, columns: Mapping[str, SelectedColumn]
) -> dict[str, dg.MetadataValue]:
    """Each column by the fields of bronze's `value` that it is made from; empty without columns."""
    if not columns:
        return {}
    bronze = bronze_key(settings, feed)
    deps = {
        name: [
            dg.TableColumnDep(asset_key=bronze, column_name=f"{_PAYLOAD}.{field}")
            for field in one.reads
        ]
        for name, one in columns.items()
    }
    return {LINEAGE: dg.MetadataValue.column_lineage(dg.TableColumnLineage(deps_by_column=deps))}
