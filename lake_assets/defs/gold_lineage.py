"""What gold's columns are made from, as Dagster's lineage of silver's columns and other views'.

What silver's columns are made from is `column_lineage`'s; what views' are, `gold.column_lineage`'s.
"""

import dagster as dg

from lake_assets.defs.column_lineage import LINEAGE
from lake_assets.defs.keys import external_key, gold_key, silver_key
from lake_assets.model.feeds import Feed
from lake_assets.model.view_lineage import Lineage, ReadColumn
from lake_assets.settings.schema import Settings


def view_lineage_metadata(
    settings: Settings, feed: Feed, lineage: Lineage
) -> dict[str, dg.MetadataValue]:
    """Each column by those of silver, or of other views, that it is made of; empty without any."""
    if not lineage:
        return {}
    deps = {name: [_dep(settings, feed, one) for one in read] for name, read in lineage.items()}
    return {LINEAGE: dg.MetadataValue.column_lineage(dg.TableColumnLineage(deps_by_column=deps))}


def _dep(settings: Settings, feed: Feed, one: ReadColumn) -> dg.TableColumnDep:
    if one.source.external:
        key = external_key(settings, feed, one.source.external)
        return dg.TableColumnDep(asset_key=key, column_name=one.column)
    whose = feed.feed_of(one.source.feed)
    view = one.source.view
    key = gold_key(settings, whose, whose.view(view)) if view else silver_key(settings, whose)
    return dg.TableColumnDep(asset_key=key, column_name=one.column)
