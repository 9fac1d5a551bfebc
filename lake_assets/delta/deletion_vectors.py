"""Rows that a table's log calls deleted while they are still in its files: deletion vectors.

Other engines leave them by DELETE, UPDATE and MERGE; nothing here writes any. Costs nothing for
tables whose protocol has none. Spark's jobs leave them to Delta's own reader (`spark.read_tables`).
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.table_features import Use, features_of, refused
from lake_assets.delta.table_log import TableLog
from lake_assets.delta.table_paths import folder_of
from lake_assets.model.lake_uri import LakeUri

Mask = npt.NDArray[np.bool_]


def kept_rows(log: TableLog, handle: DeltaTable) -> Mapping[LakeUri, Mask]:
    """By data file that has deleted rows, which of its rows are still there.

    Files are as `log.data_file` gives them, where deltalake follows links; a mask has an element a
    row.

    Raises:
        TableFeatureError: deltalake cannot tell, since the table has other features besides.
    """
    vectors, place = _vectors(handle), folder_of(handle)
    return {
        _in_log(log, place, address): np.asarray(kept.values, dtype=np.bool_)
        for address, kept in zip(
            vectors["filepath"].to_pylist(), vectors["selection_vector"], strict=True
        )
    }


def _vectors(handle: DeltaTable) -> pa.Table:
    features = features_of(handle)
    if not features.may_have_deletion_vectors:
        return pa.table({"filepath": [], "selection_vector": []})
    try:
        return pa.table(handle.deletion_vectors())
    except DeltaError as problem:  # of a table with features for readers that it does not know
        table = f"delta.`{features.name}`"
        step = f"Run REORG TABLE {table} APPLY (PURGE), then ALTER TABLE {table} DROP FEATURE "
        step += "deletionVectors in Spark"
        raise refused(features.name, "deletionVectors", Use.READ, step) from problem


def _in_log(log: TableLog, place: LakeUri, address: str) -> LakeUri:
    """A file as a table's log gives it, by its address; files elsewhere have the same."""
    file = LakeUri.from_address(address)
    is_below = (file.scheme, file.bucket) == (place.scheme, place.bucket)
    if is_below and file.path.startswith(f"{place.path}/"):
        return log.data_file(file.path[len(place.path) + 1 :])
    return file


def has_deleted_rows(handle: DeltaTable) -> bool:
    """Whether files of a table have deleted rows; raises as `kept_rows`."""
    return bool(_vectors(handle).num_rows)


def deleted_rows(handle: DeltaTable) -> int:
    """How many rows of a table's files are deleted; raises as `kept_rows`."""
    kept = _vectors(handle)["selection_vector"]
    return sum(int((~np.asarray(one.values, dtype=np.bool_)).sum()) for one in kept)


def without_deleted(rows: pa.Table, kept: Mask | None) -> pa.Table:
    """Those of a file's rows that are still there; all of them without a mask of `kept_rows`."""
    return rows if kept is None else rows.filter(pa.array(kept))


def undeleted(batches: Iterable[pa.RecordBatch], kept: Mask | None) -> Iterator[pa.RecordBatch]:
    """As `without_deleted`, of a file that comes in batches, in its order."""
    start = 0
    for batch in batches:
        yield batch if kept is None else batch.filter(pa.array(kept[start:][: batch.num_rows]))
        start += batch.num_rows
