"""Lakes for queries, without an engine: some tables on a disk."""

import pyarrow as pa

from lake_assets.delta.commit import Batch
from lake_assets.model.tables import QUALITY_LOG, TableRef
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")

ROWS = pa.table(
    {
        "n": pa.array([1, 2, 3], pa.int64()),
        "name": ["ann", "bob", None],
        "score": [0.5, float("nan"), -1.0],
        "seen_at": pa.array([0, 1_001, 2_000_003], pa.timestamp("us", "UTC")),
        "tags": [["a"], [], None],
    }
)


def fill(committer, land, tables=(UNO,), rows=ROWS) -> None:
    """Tables that have these rows, each in one file."""
    for number, table in enumerate(tables):
        committer.create({table: rows.schema})
        committer.append([land(table, rows)], Batch(f"fill-{table.name}", number + 1))


OTHERS: tuple[TableRef, ...] = (QUALITY_LOG, silver_of("go_fish"))
