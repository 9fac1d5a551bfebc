"""Tables that are checked, and what their logs tell before Spark is asked. Reads logs only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deltalake import DeltaTable

from lake_assets.checks.subject import CheckedValue, Subject
from lake_assets.delta.log_history import newest_of, open_table, rows_at, rows_of, state_of
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_log import log_of
from lake_assets.model.checks import DatasetCheck, GoldCheck, SilverCheck
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedTable:
    """A table and the checks that concern it."""

    subject: Subject
    handle: DeltaTable | None
    """None if the table is not there yet: then it has no rows."""

    family: str
    """Tables of one family have the same kind of columns."""

    checks: tuple[DatasetCheck, ...]


def silver_tables(
    lake: Store, feed: Feed, keys: Iterable[str], checks: Sequence[SilverCheck]
) -> list[CheckedTable]:
    """The keys' silver tables, those that are not there yet included."""
    concerned = {key: tuple(c for c in checks if c.concerns(key)) for key in keys}
    return [_silver(lake, feed, key, of_key) for key, of_key in concerned.items() if of_key]


def _silver(lake: Store, feed: Feed, key: str, checks: tuple[SilverCheck, ...]) -> CheckedTable:
    table = feed.silver_table(key)
    handle = open_table(lake, table)
    subject = Subject(key=key, table=table, version=handle.version() if handle else None)
    return CheckedTable(subject=subject, handle=handle, family="silver", checks=checks)


def gold_tables(
    lake: Store, feed: Feed, view: GoldView, keys: Iterable[str], checks: Sequence[GoldCheck]
) -> list[CheckedTable]:
    """The keys' tables of a view, or the one of `EVERY_KEY`.

    One that was never refreshed has no rows and stands for none.
    """
    concerned = {key: tuple(c for c in checks if c.concerns(key)) for key in keys}
    return [_gold(lake, feed, view, key, of_key) for key, of_key in concerned.items() if of_key]


def _gold(
    lake: Store, feed: Feed, view: GoldView, key: str, checks: tuple[GoldCheck, ...]
) -> CheckedTable:
    table = feed.gold_table(view, key)
    handle = open_table(lake, table)
    versions = _source_versions(view, key, state_of(handle).info) if handle else {}
    subject = Subject(
        key=key,
        table=table,
        version=handle.version() if handle else None,
        source_version=versions.get(key),
        source_rows=_source_rows(lake, feed, versions) if handle else 0,
    )
    return CheckedTable(subject=subject, handle=handle, family=view.name, checks=checks)


def _source_versions(view: GoldView, key: str, info: Mapping[str, str]) -> Mapping[str, int]:
    """By key, the version of silver that a gold table stands for."""
    if view.is_over_all:
        of_all = PositionOfAll.of(info)
        return of_all.versions if of_all else {}
    position = position_from(info)
    return {key: position.silver_version} if position else {}


def _source_rows(lake: Store, feed: Feed, versions: Mapping[str, int]) -> int | None:
    total = 0
    for key, version in versions.items():
        table = feed.silver_table(key)
        silver = open_table(lake, table)
        rows = rows_at(log_of(lake, table), silver, version) if silver else None
        if rows is None:
            return None
        total += rows
    return total if versions else None


def told_by_log(checked: CheckedTable) -> Mapping[str, CheckedValue]:
    """By check, what the table's log tells; checks that need its rows are left out.

    Raises:
        TableFeatureError: the table cannot be read here.
    """
    values: dict[str, CheckedValue] = {}
    if checked.handle is not None:
        features_of(checked.handle).ensure(Use.READ)
    for check in checked.checks:
        if checked.handle is None:
            values[check.name] = 0 if check.freshness is None else None
        elif check.row_count is not None:
            values[check.name] = rows_of(checked.handle)
        elif check.freshness is not None:
            newest, is_told = newest_of(checked.handle, check.freshness.column)
            if is_told:
                values[check.name] = newest
        elif not state_of(checked.handle).files:
            values[check.name] = 0
    return values
