"""Whether new files still have types that their table's readers take for its columns'.

Readers take narrower numbers for wider ones of a kind, but no integers for doubles: Spark refuses
the whole table. Files become such when another process made a column wider after their plan.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.commit import Commit
from lake_assets.delta.rounded_columns import rounded_columns
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import OutgrownFilesError


def outgrown_columns(log: TableLog, commit: Commit, columns: pa.Schema) -> list[str]:
    """Those of a table's columns that are doubles, and integers in a commit's new files."""
    if not commit.files or not any(_has_fractions(column.type) for column in columns):
        return []
    # A commit's files are of one plan, or of plans that grew.
    with log.store.open_for_reading(log.data_file(commit.files[0].path)) as source:
        return rounded_columns(pq.read_schema(source), columns)


def ensure_not_outgrown(log: TableLog, commit: Commit, columns: pa.Schema) -> None:
    """Refuse files that would keep others from reading their table; nothing has happened then.

    Args:
        log: of the table.
        commit: adds them.
        columns: the table's, once they are added.

    Raises:
        OutgrownFilesError: another process made a column wider since they were planned.
    """
    names = outgrown_columns(log, commit, columns)
    if names:
        raise OutgrownFilesError(
            commit.table.name,
            f"another process made {', '.join(names)} double, and new files have integers",
            "Write the rows again: what reads the table's columns anew writes doubles",
        )


def _has_fractions(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_fractions(kind.field(at).type) for at in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))
