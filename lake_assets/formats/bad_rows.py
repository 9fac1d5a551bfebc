"""Rows that a source could not read: they have no value, and say why."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded
from lake_assets.model.origins import PROBLEM
from lake_assets.model.quarantine import Reason


def with_problems(batch: pa.RecordBatch, decoded: Decoded) -> Decoded:
    """What became of rows, and of those without value what their source says of it.

    Args:
        batch: bronze's rows; of sources that tell, with the column `model.origins.PROBLEM`.
        decoded: of the same rows.
    """
    told = batch[PROBLEM] if PROBLEM in batch.schema.names else None
    if told is None or told.null_count == len(told):
        return decoded
    reason = pc.if_else(pc.is_valid(told), pa.scalar(Reason.BAD_FILE.value), decoded.reason)
    return replace(decoded, reason=reason, detail=pc.coalesce(told, decoded.detail))
