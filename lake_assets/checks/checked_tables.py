"""Tables that are checked, and what their logs tell before Spark is asked. Reads logs only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deltalake import DeltaTable

from lake_assets.delta.log_history import newest_of, open_table, rows_at, rows_of, state_of
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.table_features import Use, features_of
from lake_assets.model.checks import DatasetCheck, GoldCheck, SilverCheck
from lake_assets.model.feeds import Feed, GoldView
from lake_assets.model.tables import TableRef, silver_of

Found = int | float | datetime | None
"""Rows, a sum or a time, by what is checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One game's table, or one of all games, and the checks that concern it."""

    game: str
    """`EVERY_GAME` of a table over all."""

    table: TableRef
    handle: DeltaTable | None
    """None if the table is not there yet: then it has no rows."""

    family: str
    """Tables of one family have the same kind of columns."""

    checks: tuple[DatasetCheck, ...]
    source_version: int | None = None
    """Version of silver that a game's gold table stands for."""

    source_rows: int | None = None
    """Rows of the silver that it stands for; None if silver's log has forgotten it."""

    @property
    def version(self) -> int | None:
        """Version that is checked."""
        return self.handle.version() if self.handle else None


def silver_subjects(
    lake: Path, games: Iterable[str], checks: Sequence[SilverCheck]
) -> list[Subject]:
    """The games' silver tables, those that are not there yet included."""
    concerned = {game: tuple(c for c in checks if c.concerns(game)) for game in games}
    return [
        Subject(
            game=game,
            table=silver_of(game),
            handle=open_table(lake, silver_of(game)),
            family="silver",
            checks=found,
        )
        for game, found in concerned.items()
        if found
    ]


def gold_subjects(
    lake: Path, feed: Feed, view: GoldView, games: Iterable[str], checks: Sequence[GoldCheck]
) -> list[Subject]:
    """The games' tables of a view, or the one of `EVERY_GAME`.

    One that was never refreshed has no rows and stands for none.
    """
    concerned = {game: tuple(c for c in checks if c.concerns(game)) for game in games}
    return [_gold(lake, feed, view, game, found) for game, found in concerned.items() if found]


def _gold(
    lake: Path, feed: Feed, view: GoldView, game: str, checks: tuple[GoldCheck, ...]
) -> Subject:
    table = feed.gold_table(view, game)
    handle = open_table(lake, table)
    versions = _source_versions(view, game, state_of(handle).info) if handle else {}
    return Subject(
        game=game,
        table=table,
        handle=handle,
        family=view.name,
        checks=checks,
        source_version=versions.get(game),
        source_rows=_source_rows(lake, versions) if handle else 0,
    )


def _source_versions(view: GoldView, game: str, info: Mapping[str, str]) -> Mapping[str, int]:
    """By game, the version of silver that a gold table stands for."""
    if view.is_over_all:
        of_all = PositionOfAll.of(info)
        return of_all.versions if of_all else {}
    position = position_from(info)
    return {game: position.silver_version} if position else {}


def _source_rows(lake: Path, versions: Mapping[str, int]) -> int | None:
    total = 0
    for game, version in versions.items():
        silver = open_table(lake, silver_of(game))
        rows = rows_at(silver, version) if silver else None
        if rows is None:
            return None
        total += rows
    return total if versions else None


def told_by_log(subject: Subject) -> Mapping[str, Found]:
    """By check, what the table's log tells; checks that need its rows are left out.

    Raises:
        TableFeatureError: the table cannot be read here.
    """
    told: dict[str, Found] = {}
    if subject.handle is not None:
        features_of(subject.handle).ensure(Use.READ)
    for check in subject.checks:
        if subject.handle is None:
            told[check.name] = 0 if check.freshness is None else None
        elif check.row_count is not None:
            told[check.name] = rows_of(subject.handle)
        elif check.freshness is not None:
            newest, is_told = newest_of(subject.handle, check.freshness.column)
            if is_told:
                told[check.name] = newest
        elif not state_of(subject.handle).files:
            told[check.name] = 0
    return told
