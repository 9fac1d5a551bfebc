"""Whether a refresh can work with the tables that are there; asked before it computes anything."""

from collections.abc import Iterable

from deltalake import DeltaTable

from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.table_features import Use


def ensure_refreshable(silver: Iterable[DeltaTable], gold: Iterable[DeltaTable | None]) -> None:
    """Refuse silver that cannot be read, and gold whose rows cannot be replaced.

    Raises:
        TableFeatureError: names the table, the feature and what to do.
    """
    for source in silver:
        ensure_usable(source, Use.READ)
    for target in gold:
        if target is not None:
            ensure_usable(target, Use.READ, Use.REPLACE)
