"""Tables that are checked, and what their logs tell before Spark is asked. Reads logs only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deltalake import DeltaTable

from lake_assets.lake.history import newest_of, open_table, rows_at, rows_of, state_of
from lake_assets.lake.standing import position_from
from lake_assets.model.checks import DatasetCheck, GoldCheck, SilverCheck
from lake_assets.model.feeds import GoldView
from lake_assets.model.tables import TableRef, gold_of, silver_of

Found = int | float | datetime | None
"""Rows, a sum or a time, by what is checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One game's table and the checks that concern it."""

    game: str
    table: TableRef
    handle: DeltaTable | None
    """None if the table is not there yet: then it has no rows."""

    family: str
    """Tables of one family have the same kind of columns."""

    checks: tuple[DatasetCheck, ...]
    source_version: int | None = None
    """Version of silver that a gold table stands for."""

    source_rows: int | None = None
    """Rows of that version; None if silver's log has forgotten it."""

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
    lake: Path, view: GoldView, games: Iterable[str], checks: Sequence[GoldCheck]
) -> list[Subject]:
    """The games' tables of a view; one that was never refreshed has no rows and stands for none."""
    concerned = {game: tuple(c for c in checks if c.concerns(game)) for game in games}
    return [_gold(lake, view, game, found) for game, found in concerned.items() if found]


def _gold(lake: Path, view: GoldView, game: str, checks: tuple[GoldCheck, ...]) -> Subject:
    handle = open_table(lake, gold_of(game, view.name))
    position = position_from(state_of(handle).info) if handle else None
    version = position.silver_version if position else None
    silver = open_table(lake, silver_of(game)) if version is not None else None
    rows = rows_at(silver, version) if silver and version is not None else None
    return Subject(
        game=game,
        table=gold_of(game, view.name),
        handle=handle,
        family=view.name,
        checks=checks,
        source_version=version,
        source_rows=rows if handle else 0,
    )


def told_by_log(subject: Subject) -> Mapping[str, Found]:
    """By check, what the table's log tells; checks that need its rows are left out."""
    told: dict[str, Found] = {}
    for check in subject.checks:
        if subject.handle is None:
            told[check.name] = 0 if check.freshness is None else None
        elif check.row_count is not None:
            told[check.name] = rows_of(subject.handle)
        elif check.freshness is not None:
            newest, is_told = newest_of(subject.handle, check.freshness.column)
            if is_told:
                told[check.name] = newest
        elif not subject.handle.file_uris():
            told[check.name] = 0
    return told
