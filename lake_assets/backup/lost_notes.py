"""What is noted of rows that feeds lost, in a backup: a restored lake refuses what this one would.

What a note means, and who writes and clears it, is `silver.lost_rows`'.
"""

from collections.abc import Mapping

from lake_assets.backup.lake_tables import feed_of, tables_in
from lake_assets.model.tables import Layer, TableRef
from lake_assets.silver.lost_rows import lost_rows
from lake_assets.storage.store import Store


def noted_losses(lake: Store) -> Mapping[TableRef, str]:
    """By quarantine table, what is noted of its feed's rows now, in words.

    Raises:
        LakeError: the lake cannot be read.
    """
    return {
        table: fact
        for table in tables_in(lake, [Layer.QUARANTINE])
        if (feed := feed_of(table)) is not None and (fact := lost_rows(lake, feed))
    }


def losses_between(
    before: Mapping[TableRef, str], after: Mapping[TableRef, str]
) -> Mapping[TableRef, str]:
    """What holds of tables that were opened between two looks, whichever came first of the two.

    A rebuild that ended meanwhile may be in some of them, and one that began: rather a rebuild too
    many than one too few.
    """
    return {**before, **after}
