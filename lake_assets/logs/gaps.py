"""The table `gaps`: which offsets a feed passed over, since its source had their rows no more.

A gap is in the table before bronze's commit that passes over it, once. The table is kept as it is:
it gets a row a gap, and no age takes it out again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from lake_assets.delta.commit import Batch
from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.logs.write import written
from lake_assets.model.gaps import Gap, GapReason, unrecorded
from lake_assets.model.tables import GAPS
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.store import Store

SCHEMA = pa.schema(
    [
        ("feed", pa.string()),
        ("source", pa.string()),  # the topic
        ("partition", pa.int32()),
        ("offset_from", pa.int64()),
        ("offset_to", pa.int64()),  # the first that is not in the gap
        ("reason", pa.string()),  # a `model.gaps.GapReason`
        ("time", pa.timestamp("us", tz="UTC")),  # when it was noticed
    ]
)
"""Columns of the table."""


_KNOWN = frozenset(GapReason)
"""Reasons that this release knows; rows of others are for whoever reads the table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedGap:
    """A gap that is in the table."""

    gap: Gap
    feed: str
    at: datetime


def recorded_gaps(lake: Store, feed: str) -> list[RecordedGap]:
    """What the table has of a feed, in no order.

    Raises:
        LakeError: a file that the lake should have cannot be read.
    """
    handle = open_table(lake, GAPS)
    if handle is None:
        return []
    log = log_of(lake, GAPS)
    rows = (row for file in active_files(handle) for row in read_file(log, file).to_pylist())
    return [
        RecordedGap(
            gap=Gap(
                source=row["source"],
                partition=row["partition"],
                offset_from=row["offset_from"],
                offset_to=row["offset_to"],
                reason=GapReason(row["reason"]),
            ),
            feed=feed,
            at=row["time"],
        )
        for row in rows
        if row["feed"] == feed and row["reason"] in _KNOWN
    ]


def record_gaps(context: LakeContext, feed: str, gaps: Sequence[Gap], at: datetime) -> list[Gap]:
    """Put into the table what it lacks of some gaps.

    Only the holder of the lake's lock on its streams may, a thread a feed.

    Returns:
        What it lacked.

    Raises:
        LakeError: the lake cannot be written.
        CommitConflictError: another process records gaps of the feed.
    """
    known = [recorded.gap for recorded in recorded_gaps(context.lake, feed)]
    new = [part for gap in gaps for part in unrecorded(gap, known)]
    if not new:
        return []
    context.committer.create({GAPS: SCHEMA})
    app_id = f"lake_assets:gaps:{feed}"
    number = context.committer.fresh(GAPS).transaction_version(app_id) or 0
    rows = [
        {
            "feed": feed,
            "source": gap.source,
            "partition": gap.partition,
            "offset_from": gap.offset_from,
            "offset_to": gap.offset_to,
            "reason": gap.reason.value,
            "time": at.astimezone(UTC),
        }
        for gap in new
    ]
    commit = written(context, GAPS, pa.Table.from_pylist(rows, schema=SCHEMA))
    context.committer.append([commit], Batch(app_id, number + 1))
    return new
