"""Which versions of gold tables stand for what is copied with them. Reads logs only."""

from collections.abc import Mapping

from deltalake import DeltaTable

from lake_assets.delta.crash_recovery import newest_whole_version
from lake_assets.delta.log_tail import info_at
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.refresh_position_of_tables import PositionOfTables
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_owners import owner_of
from lake_assets.model.tables import OUTSIDE, Layer, TableRef
from lake_assets.storage.store import Store

_BACK = 1_000
"""Commits that are looked back: with one a second, more than the choice of versions takes."""


class GoldCut:
    """Chooses gold's versions, those of a view that reads other views after theirs."""

    def __init__(self, lake: Store, silver: Mapping[TableRef, DeltaTable]) -> None:
        """Choose nothing yet.

        Args:
            lake: where they are.
            silver: the lake's silver tables, opened at the versions that are copied.
        """
        self._lake, self._silver = lake, silver
        self._by_id = {str(h.metadata().id): h.version() for h in silver.values()}
        self._chosen: dict[TableRef, int | None] = {}

    def version(self, table: TableRef) -> int | None:
        """The newest version of a gold table that stands for nothing later than what is copied.

        The newest of all if none does, or if it is no refresh's: a refresh then computes it anew.

        Returns:
            None if there is no such table.
        """
        if table not in self._chosen:
            newest = newest_whole_version(log_of(self._lake, table))
            # Views that read one another in a circle are refused; a log may say so all the same.
            self._chosen[table] = newest
            self._chosen[table] = None if newest is None else self._fitting(table, newest)
        return self._chosen[table]

    def _fitting(self, table: TableRef, newest: int) -> int:
        log = log_of(self._lake, table)
        for version in range(newest, max(newest - _BACK, -1), -1):
            try:
                told = info_at(log, version)
            except FileNotFoundError:
                break
            if self._fits(table, told, is_end=version in {newest, 0}):
                return version
        return newest

    def _fits(self, table: TableRef, told: Mapping[str, str], *, is_end: bool) -> bool:
        # A view may tell of its own feed's silver and, besides, of all tables that it reads.
        several = PositionOfTables.of(told)
        if several is not None and not all(
            self._has(name, at.version) for name, at in several.tables.items()
        ):
            return False
        one, every = position_from(told), PositionOfAll.of(told)
        if one is not None:
            return one.silver_version <= self._by_id.get(one.silver_table, one.silver_version)
        if every is not None:
            by_key = self._by_key(table)
            return all(at <= by_key.get(key, at) for key, at in every.versions.items())
        if several is not None:
            return True
        return is_end  # another engine's, or the empty table

    def _has(self, name: str, version: int) -> bool:
        """Whether a version of a table that a view read is no later than what is copied."""
        layer, _, of_layer = name.partition("/")
        if layer == OUTSIDE:
            return True  # it is not the lake's, nor in a backup
        table = TableRef(layer=Layer(layer), name=of_layer)
        if table.layer is Layer.GOLD:
            copied = self.version(table)
        else:
            copied = self._silver[table].version() if table in self._silver else None
        return copied is None or version <= copied

    def _by_key(self, table: TableRef) -> Mapping[str, int]:
        """By key of the gold table's feed, silver's version."""
        owner = owner_of(self._lake, table)
        if owner is None:
            return {}
        owners = {one: owner_of(self._lake, one) for one in self._silver}
        return {
            found.key: self._silver[one].version()
            for one, found in owners.items()
            if found is not None and found.feed == owner.feed
        }
