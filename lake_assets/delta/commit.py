"""What is to be committed to a table: files that come and go, and under which identity."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lake_assets.model.lake_uri import is_address
from lake_assets.model.tables import TableRef
from lake_assets.parquet.partitioning import is_whole


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFile:
    """A Parquet file that waits for its commit."""

    path: str
    """Below the table's folder, or an address; not encoded."""

    size: int
    rows: int
    stats: str
    partition: Mapping[str, str | None] = field(default_factory=dict)
    """By partition column its value, as the log has it."""

    logged: str = ""
    """The path as the table's log has it, encoded, if it has one: what removes the file must say
    the same, since engines encode differently."""

    @property
    def has_all_columns(self) -> bool:
        """Whether its rows have the partition columns, too, so that it can be read by its path."""
        return not self.partition or is_whole(self.path)

    @property
    def as_json(self) -> dict[str, Any]:
        """For a journal; earlier releases know no `logged`, which most files have no use for."""
        return {name: value for name, value in asdict(self).items() if name != "logged" or value}


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """What one table gets from one batch or refresh."""

    table: TableRef
    files: Sequence[DataFile]
    info: Mapping[str, str] = field(default_factory=dict)
    """Custom metadata of the commit, read back by `delta.log_history`."""

    transactions: Sequence["Batch"] = ()
    """Delta's application transactions that it records beside the batch's own: how far the table
    then is in each of its sources. Unlike `info` they outlive the log's retention."""

    removed: Sequence[DataFile] = ()
    """Files that leave the table in the same step."""

    is_rearrangement: bool = False
    """Whether the files that come hold just the rows of those that leave: nobody who follows the
    table has anything new to read."""

    seen: int | None = None
    """Version of the table that the commit was made for; on a newer one it is refused."""

    plain_id: str = ""
    """Delta's id of the table, if whoever made the commit knows that it asks nothing of a writer
    but to add and remove files."""

    plain_partitions: tuple[str, ...] = ()
    """By what that table is partitioned."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The identity under which a micro-batch's commits happen at most once."""

    app_id: str
    version: int


def is_encoded(logged: str) -> bool:
    """Whether a path in a log may be written in more than one way."""
    return "%" in logged or not logged.isascii() or is_address(logged)


ENGINE = "lake_assets"
"""Who wrote a commit, as its information says it (`engineInfo`)."""

TABLE_ID = "lake_assets.table_id"
"""Key in a commit's custom metadata: the id that Delta gave the table."""

APP_ID, BATCH = "lake_assets.app_id", "lake_assets.batch"
"""Keys in a commit's custom metadata: the identity under which it happened."""

BEFORE = "lake_assets.batch_before"
"""Key in a commit's custom metadata: the batch of the same stream that the table had before, 0 if
none. In tables that several streams fill the log may have forgotten the commit of that one."""

WIDENED = "lake_assets.widened"
"""Key in a commit's custom metadata: the columns that became wider, or got older ones' values. All
of the table's files are rewritten, and other columns hold what they held."""

RETENTION = "lake_assets.rows_older_than"
"""Key in a commit's custom metadata: its rows left for their age, and nothing else happened. What
was computed from them stands."""

ERASED = "lake_assets.rows_erased"
"""Key in a commit's custom metadata: rows were erased, and nothing else happened. Of raw rows, what
was derived of others stands; what was computed from silver is computed anew."""

SPLIT_BY = "lake_assets.split_by"
"""Key in a commit's custom metadata: the layout that its new files were written for, if they are
split; in a journal it tells whether the table has that layout still."""

LAID_OUT = "lake_assets.partitioned_by"
"""Key in a commit's custom metadata: the layout that the table got by it. Its rows are what they
were before, also if somebody had put them back to an older version."""

ATTEMPT = "lake_assets.attempt"
"""Key in a commit's custom metadata: which run of its batch made it; another run of the same batch
may have placed its rows otherwise."""


def only_lets_go(info: Mapping[str, object]) -> bool:
    """Whether all that a commit with this metadata did is that rows left, and none is another."""
    return RETENTION in info or ERASED in info


def identity_of(batches: Iterable[Batch]) -> dict[str, str]:
    """Custom metadata that names the first of the batches; empty if there is none."""
    first = next(iter(batches), None)
    return {APP_ID: first.app_id, BATCH: str(first.version)} if first else {}
