"""The table of a sink's deliveries: a row for each row that was sent or given up, and its position.

A commit has the rows of some calls, and as Delta's application transactions how far the sink is:
which version of each table is done, and which batches are. So what was delivered and how far that
goes are one step, and outlive the log's retention. What a sink delivered is known row by row: a
row that is rewritten, derived again or restored is the same row, and is not sent again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.data_files import read_file
from lake_assets.delta.files_between import files_between
from lake_assets.delta.increments import Point
from lake_assets.delta.source_offsets import furthest
from lake_assets.delta.table_log import log_of
from lake_assets.errors import CommitConflictError
from lake_assets.model.tables import Layer, TableRef
from lake_assets.parquet.data_file import write_file
from lake_assets.sinks.base import IDENTITY, Outcome
from lake_assets.sinks.entries import SCHEMA, entries_of
from lake_assets.sinks.erased_letters import without_erased
from lake_assets.sinks.gained import digest_number
from lake_assets.sinks.row_hashes import RowBag, hash_rows
from lake_assets.spark.lake_context import LakeContext

_COMMITS, _BATCHES = "lake_assets:sink", "lake_assets:sink-batch"
"""Application ids of the number of commits, and of the last batch that is whole."""

_MOST_FILES = 200
"""After which they are joined: a commit makes one or two, and looking rows up opens them."""

_KEEP = {
    "delta.logRetentionDuration": "interval 7 days",
    "delta.deletedFileRetentionDuration": "interval 1 days",
}

_PLACE = ["table", "feed", "source", "partition"]

_Place: TypeAlias = tuple[str | int, ...]
"""The values of these."""

Offsets: TypeAlias = dict[_Place, int]
"""By place, the offset after the last that was recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a sink is once a batch is whole."""

    batch: int
    points: Mapping[str, Point]
    """By table of the batch, the version up to which all of its rows are done."""

    notes: Sequence[Batch] = ()
    """What else is known then (`sinks.view_position`)."""


class Deliveries:
    """What a sink has delivered; of one thread at a time, and one process."""

    def __init__(self, context: LakeContext, table: TableRef, *, has_offsets: bool = True) -> None:
        """Open the table, and create it if need be.

        Args:
            context: of the lake.
            table: of the sink.
            has_offsets: whether rows are known by their offsets: those of views are not.

        Raises:
            LakeError: it cannot be read or written.
        """
        self._context, self.table = context, table
        self._log = log_of(context.lake, table)
        context.committer.create({table: SCHEMA}, properties=_KEEP)
        context.committer.add_columns({table: SCHEMA})
        handle = context.committer.fresh(table)
        self._commits = handle.transaction_version(_COMMITS) or 0
        self.batch = handle.transaction_version(_BATCHES) or 0
        """The last one that is whole."""
        self._handle = handle
        self._told: dict[str, int | None] = {}
        self._has_offsets = has_offsets
        self._ends = self._ends_in() if has_offsets else {}
        self._own_ends: Offsets = {}

    def look_again(self) -> None:
        """Take in what others did to the table meanwhile: dead letters sent again, old rows gone.

        Raises:
            LakeError: it cannot be read.
        """
        self._handle = self._context.committer.fresh(self.table)
        if self._handle.transaction_version(_COMMITS) != (self._commits or None):
            self._told.clear()  # another process delivered meanwhile

    def point_of(self, table: str) -> Point:
        """The version of a table up to which all rows are done."""
        return _point(self.told, table)

    def told(self, app_id: str) -> int | None:
        """The number that was recorded last under a name of `Progress.notes`."""
        # Each look replays the log, some ms: too much for thousands of tables every few seconds.
        if app_id not in self._told:
            self._told[app_id] = self._handle.transaction_version(app_id)
        return self._told[app_id]

    def recorded_by(self, batch: int) -> RowBag:
        """The rows that a batch has recorded, by hashes of their `IDENTITY`.

        Raises:
            LakeError: the table cannot be read.
        """
        found = []
        for file in files_between(self._handle, "batch", batch, batch):
            have = read_file(self._log, file, [*IDENTITY.names, "batch"])
            own = have.filter(pc.equal(have["batch"], batch))
            found.append(hash_rows(own.select(IDENTITY.names).cast(IDENTITY), IDENTITY.names))
        return RowBag(found)

    def is_recorded(self, rows: pa.Table, batch: int) -> "tuple[_Mask, _Mask]":
        """Which rows (`IDENTITY`) were recorded before a batch, and which by it.

        Raises:
            LakeError: the table cannot be read.
        """
        before = np.zeros(rows.num_rows, dtype=np.bool_)
        own = np.zeros(rows.num_rows, dtype=np.bool_)
        asked = np.flatnonzero(self._may_be_recorded(rows))
        if not len(asked):
            return before, own
        wanted = rows.take(pa.array(asked)).append_column("#row", pa.array(asked))
        offsets = pc.min_max(wanted["offset"]).as_py()
        for file in files_between(self._handle, "offset", offsets["min"], offsets["max"]):
            have = read_file(self._log, file, [*IDENTITY.names, "batch"])
            joined = wanted.join(have, keys=IDENTITY.names, join_type="inner")
            places = joined["#row"].to_numpy()
            is_before = joined["batch"].to_numpy() < batch
            before[places[is_before]] = True
            own[places[~is_before]] = True
        return before, own

    def record(self, batch: int, outcomes: Sequence[Outcome], done: Progress | None) -> None:
        """Commit outcomes of a batch, with the last of them that the batch is whole.

        Raises:
            CommitConflictError: another process delivers for the same sink.
            LakeError: the table cannot be written.
        """
        self._commit(batch, outcomes, _transactions(done))
        if outcomes and self._has_offsets:
            _move_on(self._own_ends, pa.concat_tables([one.call.rows for one in outcomes]))
        if done is not None:
            # Only by whole batches, so that one that runs again finds its rows.
            self.batch, self._ends = done.batch, furthest([self._ends, self._own_ends])
            self._own_ends = {}
        if len(self._handle.file_uris()) > _MOST_FILES:
            self._context.committer.compact(self.table)
            self._handle = self._context.committer.fresh(self.table)

    def note(self, notes: Sequence[Batch]) -> None:
        """Commit what is to be known before a batch begins; raises as `record`."""
        self._commit(self.batch + 1, [], notes)

    def _commit(self, batch: int, outcomes: Sequence[Outcome], notes: Sequence[Batch]) -> None:
        self._commits += 1
        self._context.committer.flush()
        with without_erased(self._context.erasures, self.table, outcomes) as recorded:
            commit = Commit(
                table=self.table,
                files=self._written(batch, recorded),
                info={"rows": str(sum(one.call.rows.num_rows for one in outcomes))},
                transactions=notes,
            )
            is_there = self._context.committer.append([commit], Batch(_COMMITS, self._commits))
        if is_there:
            fact = "another process delivers for the same sink: a commit was there already"
            raise CommitConflictError(self.table.name, fact, "Let one of them do it")
        self._told |= {note.app_id: note.version for note in notes}
        self._handle = self._context.committer.fresh(self.table)

    def _may_be_recorded(self, rows: pa.Table) -> "_Mask":
        mask = np.zeros(rows.num_rows, dtype=np.bool_)
        for place, here, offsets in _by_place(rows):
            mask[here] = offsets < self._ends.get(place, 0)
        return mask

    def _ends_in(self) -> Offsets:
        ends: Offsets = {}
        # A sink that followed a view once has a place a row of it, which nobody asks for any more.
        for folder in (f"{Layer.BRONZE}/", f"{Layer.SILVER}/"):
            for file in files_between(self._handle, "table", folder, f"{folder}\U0010ffff"):
                entries = read_file(self._log, file, IDENTITY.names)
                _move_on(ends, entries.filter(pc.starts_with(entries["table"], folder)))
        return ends

    def _written(self, batch: int, outcomes: Sequence[Outcome]) -> list[DataFile]:
        now = datetime.now(UTC)
        folder = self._log.folder
        files = []
        # Apart, so that who looks for dead letters need not read the others.
        for delivered in (True, False):
            alike = [one for one in outcomes if one.is_delivered is delivered]
            if alike:
                rows = entries_of(alike, [batch] * len(alike), now).combine_chunks()
                written = write_file(self._context.lake, rows, folder)
                files.append(DataFile(**written))  # type: ignore[arg-type]
        return files


def point_in(deliveries: DeltaTable, table: str) -> Point:
    """As `Deliveries.point_of`, by a version of the table of deliveries."""
    return _point(deliveries.transaction_version, table)


def _point(told: Callable[[str], int | None], table: str) -> Point:
    version = told(_version_app(table))
    if version is None:
        return Point()
    digest = told(_digest_app(table))
    return Point(version=version, digest="" if digest is None else f"{digest:x}")


_Mask: TypeAlias = npt.NDArray[np.bool_]


def _version_app(table: str) -> str:
    return f"lake_assets:sink-version:{table}"


def _digest_app(table: str) -> str:
    return f"lake_assets:sink-digest:{table}"


def _transactions(done: Progress | None) -> list[Batch]:
    if done is None:
        return []
    found = [Batch(_BATCHES, done.batch), *done.notes]
    for table, point in done.points.items():
        found.append(Batch(_version_app(table), point.version))
        found.append(Batch(_digest_app(table), digest_number(point.digest)))
    return found


def _by_place(
    rows: pa.Table,
) -> Iterable[tuple[_Place, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """By place: which rows are there, and their offsets."""
    offsets = rows["offset"].to_numpy()
    for place in rows.group_by(_PLACE).aggregate([]).to_pylist():
        is_its = (pc.equal(rows[name], place[name]) for name in _PLACE)
        here = np.flatnonzero(reduce(pc.and_, is_its).to_numpy())
        yield tuple(place[name] for name in _PLACE), here, offsets[here]


def _move_on(ends: Offsets, rows: pa.Table) -> None:
    for row in rows.group_by(_PLACE).aggregate([("offset", "max")]).to_pylist():
        place = tuple(row[name] for name in _PLACE)
        ends[place] = max(row["offset_max"] + 1, ends.get(place, 0))
