"""What is between two versions of a view's table: files that came, and files that went.

A refresh writes files anew, with rows among them that are what they were: which rows changed, files
do not tell (`sinks.view_rows`). Reads logs, and opens no data file.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.commit import DataFile
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.data_files import active_files, are_whole
from lake_assets.delta.deletion_vectors import Mask, kept_rows
from lake_assets.delta.increments import Point
from lake_assets.delta.log_history import committed_at
from lake_assets.delta.log_tail import actions_of, newest_version
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import STATE, TableRef
from lake_assets.sinks.gained import digest_number
from lake_assets.sinks.view_position import key_number, table_number
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """Files of one version."""

    files: tuple[DataFile, ...] = ()
    kept: Mapping[LakeUri, Mask]
    """Of those with deleted rows, which are still there."""

    @property
    def rows(self) -> int:
        """In all of them."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewChange:
    """What is between two versions of a table."""

    table: TableRef
    table_id: str
    """Delta's, of the newer version."""

    until: Point
    time_us: int
    """When that was committed, in microseconds since 1970; 0 if its log has forgotten it."""

    columns: pa.Schema
    """Of the newer version, without what refreshes keep for themselves."""

    came: Files
    went: Files
    """None where the older version is not known: all rows count as new."""

    now: Files
    """All of the newer version."""

    is_first: bool = False
    """Whether nothing of the table was ever sent."""

    @property
    def rows(self) -> int:
        """That are read for it."""
        return self.came.rows + self.went.rows


def columns_of_view(handle: DeltaTable) -> pa.Schema:
    """The columns of a view's table, without what refreshes keep for themselves."""
    found = pa.schema(handle.schema().to_arrow())
    return pa.schema([field for field in found if not field.name.startswith(STATE)])


def is_at(log: TableLog, point: Point) -> bool:
    """Whether a table has a version, as it was; also where its log has forgotten the commit."""
    now = commit_digest(log, point.version)
    return now is None or digest_number(now) == digest_number(point.digest)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What of a table was sent last."""

    point: Point
    table: int | None
    """Of which table that is a version (`view_position.table_number`), if it is known; 0 where it
    is known that nobody knows."""

    key: int | None
    """By which columns its rows were told apart (`view_position.key_number`), if it is known."""

    why_all: str = ""
    """Why all rows are to be sent, whatever it has; empty if they are not."""


def first_change(log: TableLog, after: Point) -> int | None:
    """The first version after one that may have other rows; None if none has.

    Raises:
        LakeError: the log cannot be read.
        ValueError: a commit is torn.
    """
    try:
        newest = newest_version(log)
    except FileNotFoundError:
        return None
    if newest < after.version or (after.version >= 0 and not is_at(log, after)):
        return newest
    return _first_that_changes(log, after.version, newest)


def _first_that_changes(log: TableLog, after: int, until: int) -> int | None:
    """The first of the versions after one that may have other rows; `until` where nothing tells."""
    for version in range(after + 1, until + 1):
        try:
            actions = list(actions_of(log, version))
        except FileNotFoundError:
            return until
        files = (told for kind, told in actions if kind in {"add", "remove"})
        if any(told.get("dataChange", True) for told in files):
            return version
    return None


def _is_rearranged(log: TableLog, after: int, until: int) -> bool:
    """Whether versions only put the same rows into other files, as a compaction does.

    Without that, all rows of both would be read, in shares, each of which reads all files.
    """
    try:
        return after < until and _first_that_changes(log, after, until) is None
    except ValueError:  # a torn commit before a checkpoint, that nobody needs
        return False


def change_between(
    lake: Store, table: TableRef, sent: Sent, until: Point, key: Sequence[str]
) -> ViewChange:
    """What is between two versions.

    Where the older one cannot be compared with, all rows of the newer one are new, and a line of
    the log says why.

    Args:
        lake: where the table is.
        table: of a view.
        sent: the version that was sent last.
        until: the newer one.
        key: columns that tell its rows apart.

    Raises:
        DeltaError: the newer version cannot be read.
        TableFeatureError: it has features that are not read here.
    """
    log = log_of(lake, table)
    handle = log.open(until.version)
    features_of(handle).ensure(Use.READ)
    now, table_id = _files_of(log, handle), str(handle.metadata().id)
    columns = columns_of_view(handle)
    had, why = _before(log, sent, table_number(table_id))
    why = sent.why_all or why
    if had is not None and not why:
        is_same_key = sent.key in {None, key_number(key)}
        why = _why_columns(columns_of_view(had), columns, key)
        why = why if is_same_key else "its rows were told apart by other columns"
    came: _ByPath = now
    went: _ByPath = {}
    if had is not None and not why:
        is_same = _is_rearranged(log, sent.point.version, until.version)
        came, went = ({}, {}) if is_same else _difference(now, _files_of(log, had))
    gone = Files(files=tuple(file for file, _ in went.values()), kept=_kept(went, log))
    if not why and not are_whole(log, gone.files):
        why = "its files are gone"
    if why:
        came, gone = now, Files(kept={})
        _LOG.warning(
            "%s: what a sink was sent last, version %d, cannot be compared with (%s): all rows are "
            "sent again, and of rows that are gone since nothing is told",
            table.name,
            sent.point.version,
            why,
        )
    return ViewChange(
        table=table,
        table_id=table_id,
        until=until,
        time_us=int((committed_at(lake, table, until.version) or 0) * 1e6),
        columns=columns,
        came=Files(files=tuple(file for file, _ in came.values()), kept=_kept(came, log)),
        went=gone,
        now=Files(files=tuple(file for file, _ in now.values()), kept=_kept(now, log)),
        is_first=sent.point.version < 0,
    )


_ByPath = Mapping[str, tuple[DataFile, Mask | None]]


def _files_of(log: TableLog, handle: DeltaTable) -> _ByPath:
    kept = kept_rows(log, handle)
    ordered = sorted(active_files(handle), key=lambda file: file.path)
    return {file.path: (file, kept.get(log.data_file(file.path))) for file in ordered}


def _kept(files: _ByPath, log: TableLog) -> Mapping[LakeUri, Mask]:
    return {log.data_file(path): mask for path, (_, mask) in files.items() if mask is not None}


def _difference(now: _ByPath, had: _ByPath) -> tuple[_ByPath, _ByPath]:
    """Files that only one of two versions has, or with other rows deleted."""

    def differs(path: str) -> bool:
        if path not in now or path not in had:
            return True
        one, other = now[path][1], had[path][1]
        if one is None or other is None:
            return one is not other
        return not np.array_equal(one, other)

    return (
        {path: file for path, file in now.items() if differs(path)},
        {path: file for path, file in had.items() if differs(path)},
    )


def _before(log: TableLog, sent: Sent, table_now: int) -> tuple[DeltaTable | None, str]:
    """The older version, or why there is none; neither where nothing was sent yet."""
    if sent.point.version < 0:
        return None, ""
    if sent.table == 0:
        return None, "of what was sent it is not known which version"
    if sent.table is not None and sent.table != table_now:
        return None, "the table was made anew"
    if not is_at(log, sent.point):
        return None, "the table was put back, and went on otherwise"
    try:
        return log.open(sent.point.version), ""
    except DeltaError:
        return None, "its log has forgotten it"


def _why_columns(had: pa.Schema, now: pa.Schema, key: Sequence[str]) -> str:
    """Why rows of two versions are not comparable, by their columns; empty if they are."""
    for field in now:
        if field.name not in had.names:
            if not key or field.name in key:
                return f"it has no column {field.name}"
        elif had.field(field.name).type != field.type:
            return f"its column {field.name} is {had.field(field.name).type}"
    lost = [name for name in had.names if name not in now.names]
    return f"its column {lost[0]} is no more" if lost and not key else ""
