"""Following a table: what came to it since a version, by its Delta log alone.

An increment is some whole versions of the table. Where they only added files, those hold just the
rows that came. Where rows were deleted or rewritten meanwhile, the files hold older rows, too;
where the log was cleaned up or the table restored from a backup, they are all that the table has.
Then whoever reads them takes the rows that are new by their origin. Opens no data file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from lake_assets.delta.commit import DataFile, only_lets_go
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_tail import actions_of, file_of, newest_version, path_of
from lake_assets.delta.recorded_sources import recorded_names
from lake_assets.delta.restores import held_offsets, is_restore
from lake_assets.delta.source_offsets import Offsets, begin_offsets, recorded_offsets
from lake_assets.delta.table_log import TableLog
from lake_assets.model.origins import NamedSource


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A version of a table that was read up to."""

    version: int = -1
    """-1 before the first."""

    digest: str = ""
    """Of the version's commit: a restored table may have another one under the same number. Empty
    if it is not known."""

    @classmethod
    def at(cls, log: TableLog, version: int) -> Self:
        """A version that a table has."""
        return cls(version=version, digest=commit_digest(log, version) or "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Increment:
    """What came to a table after a point, up to another."""

    until: Point
    files: tuple[DataFile, ...] = ()
    offsets: Offsets = field(default_factory=dict)
    """How far the table's sources are at `until`, as far as these versions tell."""

    is_exact: bool = True
    """Whether each row of the files is new."""


def next_increment(
    log: TableLog,
    sources: Sequence[NamedSource],
    after: Point,
    *,
    taken: Offsets,
    max_bytes: int,
    until: int | None = None,
) -> Increment | None:
    """What came next to a table; None if nothing did.

    Args:
        log: of the table.
        sources: whose offsets its commits may record, all of one kind; one at least. Where the
            commits do not tell what came, others that it records are looked at, too.
        after: what is known already.
        taken: rows below were taken, whichever version had them.
        max_bytes: of the files, after which no further version is taken.
        until: the last version that is taken, as if there were no later ones.

    Raises:
        FileNotFoundError: there is no such table.
        LakeError: its log cannot be read.
        ValueError: a commit is torn.
    """
    newest = newest_version(log)
    newest = newest if until is None else min(newest, until)
    if newest == after.version and _is_same(log, after):
        return None
    if after.version < newest and _is_same(log, after):
        gathered = _Gathered(taken, sources[0].kind)
        increment = _by_commits(log, after.version, newest, gathered, max_bytes)
        if increment is not None:
            return increment
    return _by_snapshot(log, sources, newest)


def _is_same(log: TableLog, after: Point) -> bool:
    """Whether the table still has the version that was read up to."""
    if after.version < 0 or not after.digest:
        return True
    return commit_digest(log, after.version) == after.digest


@dataclass(slots=True)
class _Gathered:
    """What some versions added, in their order."""

    taken: Offsets
    kind: str
    """Of the sources."""

    added: dict[str, DataFile] = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)
    is_exact: bool = True

    def take(self, actions: list[tuple[str, Any]]) -> None:
        """Count a version in."""
        adds = {path_of(action): action for kind, action in actions if kind == "add"}
        removed = {path_of(action) for kind, action in actions if kind == "remove"}
        aged = any(kind == "commitInfo" and only_lets_go(a) for kind, a in actions)
        is_change = not aged and any(
            a["dataChange"] for kind, a in actions if kind in {"add", "remove"}
        )
        self.transactions |= {a["appId"]: a["version"] for kind, a in actions if kind == "txn"}
        taken = removed & self.added.keys()
        if not is_change and not taken:
            return  # a compaction of older files, or their oldest rows left
        for path in taken:
            del self.added[path]
        self.added |= {path: file_of(action) for path, action in adds.items()}
        # Rows that were rewritten or restored came earlier, and stand beside those that are new.
        self.is_exact = self.is_exact and (not adds or (not removed and self._is_new(actions)))

    def _is_new(self, actions: list[tuple[str, Any]]) -> bool:
        """Whether a version's rows were not taken yet, as it tells itself."""
        infos = [action for kind, action in actions if kind == "commitInfo"]
        begins = begin_offsets(infos[0]) if infos else None
        if begins is None:
            return False
        return all(self.taken.get(place, 0) <= offset for place, offset in begins.items())

    @property
    def size(self) -> int:
        return sum(file.size for file in self.added.values())


def _by_commits(
    log: TableLog, after: int, newest: int, gathered: _Gathered, max_bytes: int
) -> Increment | None:
    """By the commits of the versions; None if they do not tell, or are not there any more."""
    until = after
    for version, actions in _versions(log, after, newest):
        if any(kind == "commitInfo" and is_restore(action) for kind, action in actions):
            return None  # how far the table is, its later transactions do not tell
        gathered.take(actions)
        until = version
        if gathered.size >= max_bytes:
            break
    found = (log.store.stat(log.data_file(path)) for path in gathered.added)
    if until == after or any(stat is None for stat in found):
        return None
    return Increment(
        until=Point.at(log, until),
        files=tuple(gathered.added.values()),
        offsets=recorded_offsets(gathered.transactions, gathered.kind),
        is_exact=gathered.is_exact,
    )


def _versions(
    log: TableLog, after: int, newest: int
) -> Iterator[tuple[int, list[tuple[str, Any]]]]:
    for version in range(after + 1, newest + 1):
        try:
            yield version, list(actions_of(log, version))
        except FileNotFoundError:
            return


def _all_sources(log: TableLog, sources: Sequence[NamedSource], newest: int) -> list[NamedSource]:
    """Some sources, and those that the table records beside them."""
    known = {source.name: source for source in sources}
    for name in recorded_names(log, newest, sources[0].kind):
        known.setdefault(name, replace(sources[0], name=name))
    return list(known.values())


def _by_snapshot(log: TableLog, sources: Sequence[NamedSource], newest: int) -> Increment:
    handle = log.open(newest)
    return Increment(
        until=Point.at(log, newest),
        files=tuple(active_files(handle)),
        offsets=held_offsets(log, handle, _all_sources(log, sources, newest)),
        is_exact=False,
    )
