"""A change of several tables that is made whole: rows leave some and come to others.

What is to be done is written down before the first commit, as a rule and not as files to remove:
which rows leave each table, by their origin, and which new files come. So whoever finishes a change
that was cut off applies it to the tables as they are by then, whoever compacted or appended to them
meanwhile. Each table has its part in one commit, under the change's number, so no part is applied
twice.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.conflicts import again_on_conflict
from lake_assets.delta.data_files import (
    active_files,
    are_whole,
    columns_of_file,
    read_file,
    without,
)
from lake_assets.delta.log_history import is_done
from lake_assets.delta.offset_range import Range
from lake_assets.delta.origins import Origins, RowSet, Spans
from lake_assets.delta.restores import is_restored
from lake_assets.delta.source_offsets import as_json, from_json
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum_record, numbers_of
from lake_assets.errors import LakeError
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import Layer, TableRef
from lake_assets.storage.store import Store
from lake_assets.storage.uri import LakeUri

_TRIES = 5
"""Tries of a table's commit while others rewrite its files, as a compaction does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableChange:
    """One table's part."""

    table: TableRef
    files: Sequence[DataFile] = ()
    """New ones, written and in no commit yet."""

    leaving: Range | None = None
    """Rows that leave it; if not given, those that are in the change's new files."""

    info: Mapping[str, str] = field(default_factory=dict)
    transactions: Sequence[Batch] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TablesChange:
    """All parts, in the order in which they are committed."""

    batch: Batch
    origin: OriginColumns
    """The columns that say where the rows came from."""

    tables: Sequence[TableChange]
    companions: Sequence[TableRef] = ()
    """Tables whose numbers of changes the last part records a checksum of."""

    def moved(self, lake: Store) -> Origins:
        """The rows in its new files."""
        origins = Origins(self.origin)
        for part in self.tables:
            log = log_of(lake, part.table)
            for file in part.files:
                columns = origins.columns(columns_of_file(log, file))
                origins.add(read_file(log, file, columns))
        return origins


@dataclass(frozen=True, slots=True)
class ChangeJournal:
    """Where a change is noted until all of its parts are committed."""

    store: Store
    file: LakeUri
    origin: OriginColumns
    """As `TablesChange.origin`."""

    def write(self, change: TablesChange) -> None:
        """Note a change whose new files are all written."""
        noted = {
            "batch": asdict(change.batch),
            "tables": [_noted(part) for part in change.tables],
            "companions": [_named(table) for table in change.companions],
        }
        with self.store.open_for_writing(self.file, durable=True) as stream:
            stream.write(json.dumps(noted).encode())
        self.store.sync(self.file)

    def read(self) -> TablesChange | None:
        """The change that was noted; None if there is none.

        Raises:
            LakeError: the journal is damaged.
        """
        try:
            noted = json.loads(self.store.get(self.file))
            change = TablesChange(
                batch=Batch(**noted["batch"]),
                origin=self.origin,
                tables=[_part(entry) for entry in noted["tables"]],
                companions=[_table(entry) for entry in noted["companions"]],
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise LakeError(
                str(self.file),
                f"is damaged ({problem}), so a change that was cut off cannot be finished",
                "Run `lake-assets rebuild silver`, which derives silver from bronze again",
            ) from problem
        return change

    def clear(self) -> None:
        """Forget the change, all of whose parts are committed."""
        self.store.delete(self.file)


def finish(journal: ChangeJournal, committer: Committer) -> dict[TableRef, int]:
    """Commit what is noted and not committed yet, and forget it.

    Returns:
        By table of those that were committed now, how many rows left it.

    Raises:
        CommitConflictError: others keep rewriting a table; the change stays noted.
        LakeError: the lake cannot be written; or new files are gone, and some tables have their
            part already.
    """
    change = journal.read()
    if change is None:
        return {}
    _ensure_newest(journal, change, committer)
    handles = committer.opened([part.table for part in change.tables])
    done = [
        part
        for part in change.tables
        if part.table in handles and is_done(handles[part.table], change.batch)
    ]
    left = [part for part in change.tables if part not in done]
    lake = committer.store
    if change.tables[-1] in done:
        journal.clear()  # the last part makes it whole
        return {}
    if not all(
        part.table in handles and are_whole(log_of(lake, part.table), part.files) for part in left
    ):
        if done:
            raise _cut_off(journal)
        journal.clear()  # nothing of it happened, and nothing can
        return {}
    try:
        moved = change.moved(lake)
    except FileNotFoundError as problem:
        # A table that has its part was rewritten and vacuumed since.
        raise _cut_off(journal) from problem
    removed = {part.table: _apply(part, change, moved, committer) for part in change.tables}
    committer.flush()
    journal.clear()
    return {table: count for table, count in removed.items() if count is not None}


@again_on_conflict(_TRIES)
def _apply(
    one: TableChange, change: TablesChange, moved: RowSet, committer: Committer
) -> int | None:
    """Commit one table's part; rows that left it, or None if it has the part already."""
    handle, log = committer.fresh(one.table), log_of(committer.store, one.table)
    if is_done(handle, change.batch):
        return None
    leaving = moved if one.leaving is None else one.leaving.rows(change.origin)
    is_all = one.leaving is not None and one.leaving.is_all
    if not is_all and is_restored(log, handle.version()):
        raise LakeError(
            one.table.name,
            "was put back to an older version (RESTORE) while a change of it was under way",
            "Run `lake-assets rebuild silver`, which derives silver from bronze again",
        )
    # Its own new files may be in the table's folder, and are in no version of it.
    removed, kept = without(log, active_files(handle), leaving, may_be_missing=is_all)
    gone = _rows(removed) - _rows(kept)
    is_last = one is change.tables[-1]
    if not (one.files or removed or is_last or one.leaving is not None):
        return 0
    further = [_checksum(change, committer)] if is_last else []
    commit = Commit(
        table=one.table,
        files=[*one.files, *kept],
        removed=removed,
        info={
            "rows": str(_rows(one.files)),
            "lake_assets.rows_removed": str(gone),
            **one.info,
        },
        transactions=[*one.transactions, *further],
    )
    committer.append([commit], change.batch)
    return gone


def _ensure_newest(journal: ChangeJournal, change: TablesChange, committer: Committer) -> None:
    """Make sure that no table has had a later change: then the journal is one of an old copy."""
    app_id, number = change.batch.app_id, change.batch.version
    numbers = numbers_of(app_id, committer.opened(change.companions))
    later = [table.name for table, newest in numbers.items() if newest > number]
    if later:
        raise LakeError(
            str(journal.file),
            f"is of change {number}, and {later[0]} has had a later one: this table was put back "
            "alone",
            "Put all tables of one backup back, or run `lake-assets rebuild silver`, which derives "
            "them from bronze again",
        )


def _checksum(change: TablesChange, committer: Committer) -> Batch:
    """What the last part records of the others, all of which have their parts."""
    app_id = change.batch.app_id
    return checksum_record(app_id, numbers_of(app_id, committer.opened(change.companions)))


def _cut_off(journal: ChangeJournal) -> LakeError:
    return LakeError(
        str(journal.file),
        "names tables or files that are gone, of a change that was cut off half done",
        "Run `lake-assets rebuild silver`, which derives silver from bronze again",
    )


def _rows(files: Sequence[DataFile]) -> int:
    return sum(file.rows for file in files)


def _noted(one: TableChange) -> dict[str, Any]:
    return {
        **_named(one.table),
        "files": [file.as_json for file in one.files],
        "leaving": None if one.leaving is None else dict(_bounds(one.leaving)),
        "info": dict(one.info),
        "transactions": [asdict(batch) for batch in one.transactions],
    }


def _named(table: TableRef) -> dict[str, str]:
    return {"layer": table.layer.value, "name": table.name}


def _bounds(leaving: Range) -> Iterator[tuple[str, object]]:
    for name, offsets in (("starts", leaving.starts), ("ends", leaving.ends)):
        yield name, None if offsets is None else as_json(offsets)
    if leaving.retained:  # earlier releases do not know of it
        yield "retained", as_json(leaving.retained)
    if leaving.apart:
        yield "apart", [[*place, list(spans)] for place, spans in leaving.apart.items()]


def _part(entry: Mapping[str, Any]) -> TableChange:
    bounds = entry["leaving"]
    leaving = bounds and {
        name: bound and (_spans(bound) if name == "apart" else from_json(bound))
        for name, bound in bounds.items()
    }
    return TableChange(
        table=_table(entry),
        files=[DataFile(**file) for file in entry["files"]],
        leaving=None if leaving is None else Range(**leaving),
        info=entry["info"],
        transactions=[Batch(**transaction) for transaction in entry["transactions"]],
    )


def _spans(found: Iterable[tuple[str, int, Sequence[tuple[int, int]]]]) -> Spans:
    return {
        (name, int(partition)): [(int(first), int(end)) for first, end in spans]
        for name, partition, spans in found
    }


def _table(entry: Mapping[str, Any]) -> TableRef:
    return TableRef(layer=Layer(entry["layer"]), name=entry["name"])
