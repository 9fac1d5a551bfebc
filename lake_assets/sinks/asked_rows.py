"""Rows of a view that dead letters ask for: as they are now, or as they were before they went.

A letter has the keys of its rows and no values. Which letters there are is `sinks.letters`'.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.data_files import active_files, are_whole
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.table_log import TableLog
from lake_assets.sinks.base import DeletedRow
from lake_assets.sinks.changed_rows import DELETE, UPSERT, Shape
from lake_assets.sinks.shape import Shaped
from lake_assets.sinks.table_rows import pieces_of
from lake_assets.sinks.view_changes import columns_of_view
from lake_assets.sinks.view_tables import key_in, key_texts

_LOOK_BACK = 20
"""Versions before that of a letter in which its row is looked for: a sink that keeps up with a view
takes a few at once. More would read a table more often for rows of which nothing is left."""

_Place: TypeAlias = tuple[str, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedRows:
    """Rows of a table that are asked for; one may be asked for several times."""

    log: TableLog
    key: Sequence[str]
    """Columns that tell the table's rows apart; none if whole rows are."""

    asked: pa.Table
    """Which they are: `IDENTITY`."""

    shape: Shape

    def rows(self, version: int, *, deletes: bool) -> Iterator[Shaped]:
        """Those that a version has and that are wanted, in pieces.

        Args:
            version: of the table.
            deletes: whether of the others follows what they were before they went, if a version
                still tells: also of those whose values, and not their end, were not delivered.

        Raises:
            FeedError: an expression of the sink does not fit the table.
            DeltaError: the version cannot be read.
        """
        handle = self.log.open(version)
        if not self._has_key(handle):
            return  # not refreshed since the view has it: what it has no more, nobody knows
        texts = [key_in(source) for source in self.asked["source"].to_pylist()]
        found: set[str] = set()
        everyone = list(range(len(texts)))
        for shaped in self._at(handle, everyone, UPSERT):
            found.update(map(key_in, shaped.rows["source"].to_pylist()))
            yield shaped
        if deletes:
            yield from self._gone([one for one in everyone if texts[one] not in found])

    def _gone(self, left: Sequence[int]) -> Iterator[Shaped]:
        places, by_version = _places(self.asked), dict[int, list[int]]()
        for number in left:
            last = places[number][1]
            # Of an upsert the version that made it has the row, of a delete one before.
            for version in range(max(0, last - _LOOK_BACK), last + 1):
                by_version.setdefault(version, []).append(number)
        told: set[_Place] = set()
        for version in sorted(by_version, reverse=True):
            due = [number for number in by_version[version] if places[number] not in told]
            handle = self._readable(version) if due else None
            if handle is None:
                continue
            table = f"{handle.metadata().id}/"
            own = [number for number in due if places[number][0].startswith(table)]
            for shaped in self._at(handle, own, DELETE):
                told.update(_places(shaped.rows))
                values: list[dict[str, Any]] = [DeletedRow(value) for value in shaped.values]
                yield Shaped(rows=shaped.rows, values=values)

    def _readable(self, version: int) -> DeltaTable | None:
        try:
            handle = self.log.open(version)
        except DeltaError:
            return None  # its log has forgotten it
        is_whole = self._has_key(handle) and are_whole(self.log, active_files(handle))
        return handle if is_whole else None

    def _has_key(self, handle: DeltaTable) -> bool:
        return set(self.key) <= set(columns_of_view(handle).names)

    def _at(self, handle: DeltaTable, numbers: Sequence[int], became: str) -> Iterator[Shaped]:
        """Those of the asked rows, by their places, that a version has."""
        wanted: dict[str, list[int]] = {}
        sources = self.asked["source"].to_pylist()
        for number in numbers:
            wanted.setdefault(key_in(sources[number]), []).append(number)
        columns, kept = columns_of_view(handle), kept_rows(self.log, handle)
        for piece in pieces_of(self.log, active_files(handle), columns, kept) if wanted else ():
            keys = key_texts(piece, self.key)
            having = [place for place, key in enumerate(keys) if key in wanted]
            if having:
                pairs = [(place, number) for place in having for number in wanted[keys[place]]]
                places, own = (pa.array(some) for some in zip(*pairs, strict=True))
                yield self.shape(piece.take(places), became, self.asked.take(own))


def _places(rows: pa.Table) -> list[_Place]:
    """What tells rows of one table apart."""
    sources, offsets = rows["source"].to_pylist(), rows["offset"].to_pylist()
    return list(zip(sources, offsets, rows["ordinal"].to_pylist(), strict=True))
