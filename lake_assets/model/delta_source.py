"""A Delta table as a source, as a feed declares it."""

from typing import ClassVar, Literal, Self

from pydantic import Field, StrictBool, model_validator

from lake_assets.model.file_places import FolderPath
from lake_assets.model.one_source import TABLE, OneSource
from lake_assets.model.origins import OriginColumns


class DeltaSource(OneSource):
    """A Delta table whose rows are read as they come, or its changes of rows; each once."""

    kind: ClassVar[str] = "delta"
    system: ClassVar[str] = "Delta table"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="delta_table",
        partition=None,
        offset="ordinal",
        time="committed_at",
        further=("_file", "_row", "_source_version"),
    )

    path: FolderPath
    """The table's folder, absolute, on a local or mounted disk. Not a table of this lake."""

    read: Literal["appends", "changes"] = "appends"
    """Rows that are appended, or each change of a row as Delta's change data feed has it: with
    `_change_type`, which is `insert`, `update_preimage`, `update_postimage` or `delete`."""

    starting_version: int | None = Field(default=None, ge=0)
    """The first version whose appended rows are read by a new lake. Unset, all rows are that the
    table has when the feed begins, and then what is appended."""

    skip_change_commits: StrictBool = False
    """Whether commits that delete or change rows (DELETE, UPDATE, MERGE, overwrite, RESTORE) are
    passed over as a whole, with rows that they add. Unless set, such a commit ends the feed. Not
    with `read: changes`, which reads them."""

    @model_validator(mode="after")
    def _either_reads_changes_or_skips_them(self) -> Self:
        if self.read == "changes" and self.skip_change_commits:
            raise ValueError(
                "`read: changes` reads what `skip_change_commits` passes over\ndeclare one of them"
            )
        return self

    @property
    def on_gap(self) -> Literal["stop"]:
        """A commit that the log has no more ends the feed."""
        return "stop"

    @property
    def name(self) -> str:
        """All rows are of the one table."""
        return TABLE

    @property
    def label(self) -> str:
        """The folder."""
        return self.path

    @property
    def title(self) -> str:
        """Which table."""
        return f"Delta table {self.path!r}"
