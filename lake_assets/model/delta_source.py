"""A Delta table as a source, as a feed declares it."""

from typing import ClassVar, Literal

from pydantic import Field, StrictBool

from lake_assets.model.file_places import FolderPath
from lake_assets.model.one_source import TABLE, OneSource
from lake_assets.model.origins import OriginColumns


class DeltaSource(OneSource):
    """A Delta table whose appended rows are read, each once."""

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

    starting_version: int | None = Field(default=None, ge=0)
    """The first version whose appended rows are read by a new lake. Unset, all rows are that the
    table has when the feed begins, and then what is appended."""

    skip_change_commits: StrictBool = False
    """Whether commits that delete or change rows (DELETE, UPDATE, MERGE, overwrite, RESTORE) are
    passed over as a whole, with rows that they add. Unless set, such a commit ends the feed."""

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
