"""The gate before each commit: what a table's features forbid is refused, what they ask is judged.

`lake.table_features` decides; here a table is opened, its deletion vectors are looked at and its
constraints judged. A table that nobody changed since our last commit is not opened for it.
"""

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from lake_assets.lake.change import Commit
from lake_assets.lake.constraints import ensure_met
from lake_assets.lake.deletions import kept_rows
from lake_assets.lake.table_features import Use, features_of, refused


def ensure_usable(handle: DeltaTable, *uses: Use) -> None:
    """Refuse uses that a table, as it is now, does not allow.

    Raises:
        TableFeatureError: names the table, the feature and what to do.
    """
    features = features_of(handle)
    for use in uses:
        features.ensure(use)
    by_name = {Use.REWRITE} if features.is_writable_by_deltalake else {Use.REWRITE, Use.REPLACE}
    if by_name & set(uses) and kept_rows(handle):
        # Neither deltalake nor we can remove a file by name together with its deletion vector.
        step = f"Run REORG TABLE delta.`{features.name}` APPLY (PURGE) in Spark"
        raise refused(features.name, "deletionVectors", Use.REWRITE, step)


def ensure_committable(
    handle: DeltaTable,
    commit: Commit,
    session: SparkSession | None,
    replacing: pa.Schema | None = None,
) -> None:
    """Refuse a commit that the table's features or constraints forbid; nothing has happened then.

    Args:
        handle: the table.
        commit: what it is about to get.
        session: judges constraints; None if this process has no Spark.
        replacing: the table's new columns, where all of its rows are replaced.

    Raises:
        TableFeatureError: a feature of the table forbids it.
        ConstraintViolatedError: new rows violate a constraint of the table.
        LakeError: a constraint cannot be evaluated.
    """
    if replacing is not None:
        ensure_usable(handle, Use.REPLACE)
    else:
        ensure_usable(handle, Use.REWRITE if commit.removed else Use.APPEND)
    columns = pa.schema(handle.schema().to_arrow()) if replacing is None else replacing
    ensure_met(session, handle, commit.files, columns)
