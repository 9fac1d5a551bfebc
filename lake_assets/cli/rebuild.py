"""`lake-assets rebuild`: a layer derived again from the one before it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.confirm import (
    DryRunOption,
    YesOption,
    counted,
    ensure_confirmed,
    in_words,
    touched,
)
from lake_assets.cli.console import stdout
from lake_assets.cli.refresh import as_result as as_result_of_gold
from lake_assets.cli.refresh import problems_of
from lake_assets.cli.refresh import show as show_refreshed
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    KeysOption,
    LakeOption,
    for_each,
    pick_feed,
    pick_feeds,
    with_silver,
)
from lake_assets.delta.catalog import ensure_known, keys_found, tables_of
from lake_assets.errors import FeedError, UsageError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Refreshed
from lake_assets.model.tables import EVERY_KEY, TableRef, quarantine_of
from lake_assets.model.view_order import turns_of
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.silver.redone import Redone
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.reprocess import rebuild_silver
from lake_assets.streams.reset import ensure_resettable, reset_bronze

_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]


class RebuildLayer(StrEnum):
    """What can be rebuilt."""

    SILVER = "silver"
    GOLD = "gold"
    BRONZE = "bronze"


def rebuild(
    *,
    layer: Annotated[RebuildLayer, typer.Argument(help="Which tables to derive from scratch.")],
    key: KeysOption = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=_TIMES,
            help="Silver: only rows that came into bronze since then (UTC).",
            show_default="all rows",
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            formats=_TIMES,
            help="Silver: only rows that came into bronze before then (UTC).",
            show_default="all rows",
        ),
    ] = None,
    view: Annotated[
        str | None,
        typer.Option("--view", help="Gold: only this view.", show_default="all views"),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Derive silver from bronze, or gold from silver, from scratch.

    For after a schema or an expectation was corrected. Each table is replaced in one commit, so
    readers see the old rows or the new ones, and the streams may go on meanwhile. `rebuild silver`
    of all keys, with the streams stopped, also drops columns that hold nothing and that no row's
    message makes, such as those of a renamed field's old name; with the streams stopped, too, it
    gives tables the layout that the feed says (`partition_by`). `rebuild bronze`
    drops the feed's tables and reads its source again; feeds are protected from that unless they
    say otherwise. Ends as `refresh` does where gold is held up.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    _ensure_fits(
        layer, {"--since": since, "--until": until, "--view": view, "--key": tuple(key or ())}
    )
    _ensure_in_order(since, until)
    if layer is RebuildLayer.BRONZE:
        # What drops tables asks for one feed by its name.
        feeds: Sequence[Feed] = [pick_feed(settings, feed)]
        ensure_resettable(feeds[0])
    else:
        feeds = pick_feeds(settings, feed, keys=key, view=view)
    if layer is RebuildLayer.SILVER:
        feeds = with_silver(feeds)
    _ensure_declared(feeds, view)
    lake_now, is_asked = lake_of(settings), dry_run or not yes
    named = _tables(lake_now, feeds, layer, key, view) if is_asked else ()
    now, rows = touched(lake_now, named), _whose(since, until)
    lines = [*in_words(now), *_beside(layer, key)]
    if dry_run:
        result = {"is_dry_run": True, "layer": layer, "since": since, "until": until, "tables": now}
        show = partial(_say, [_heading(layer, rows), *lines])
        tell("rebuild", result, as_json=as_json, show=show)
        return
    if now:
        what = f"{rows and f'{rows}, of '}{counted(len(now), 'table')} would be {_ENDS[layer]}"
        ensure_confirmed(what, lines, yes=yes)
    if layer is RebuildLayer.SILVER:
        _silver(settings, feeds, key, (since, until), as_json=as_json)
    elif layer is RebuildLayer.GOLD:
        _gold(settings, feeds, key, view, as_json=as_json)
    else:
        _reset(settings, feeds[0], as_json=as_json)


_ENDS = {
    RebuildLayer.SILVER: "replaced by what bronze makes now",
    RebuildLayer.GOLD: "replaced by what silver makes now",
    RebuildLayer.BRONZE: "dropped",
}


def _beside(layer: RebuildLayer, keys: Sequence[str] | None) -> Iterator[str]:
    if layer is RebuildLayer.SILVER and keys:
        yield "rows of these keys also leave quarantine, or come into it"


def _whose(since: datetime | None, until: datetime | None) -> str:
    """Which rows are meant, where not all are; the counts are those of whole tables."""
    times = [f"since {since}" if since else "", f"before {until}" if until else ""]
    told = " and ".join(filter(None, times))
    return f"only rows that came into bronze {told} (UTC)" if told else ""


def _heading(layer: RebuildLayer, rows: str) -> str:
    end = f"would be {_ENDS[layer]}"
    return f"{rows} {end}; of these tables, which are counted whole:" if rows else f"{end}:"


_GO_WITH = {
    "--since": {RebuildLayer.SILVER},
    "--until": {RebuildLayer.SILVER},
    "--view": {RebuildLayer.GOLD},
    "--key": {RebuildLayer.SILVER, RebuildLayer.GOLD},
}


def _ensure_fits(layer: RebuildLayer, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value and layer not in _GO_WITH[option]:
            raise UsageError(option, f"does not go with {layer}", "Leave it out")


def _ensure_in_order(since: datetime | None, until: datetime | None) -> None:
    if since is not None and until is not None and since >= until:
        raise UsageError("--until", "is not after --since", "Name a later time, or leave one out")


def _ensure_declared(feeds: Sequence[Feed], view: str | None) -> None:
    names = sorted({one.name for feed in feeds for one in feed.gold})
    if view is not None and view not in names:
        there = f"Use one of: {', '.join(names)}" if names else "Declare it in the feed first"
        raise FeedError(f"view {view!r}", "is not declared", there)


def _tables(
    lake: Store,
    feeds: Sequence[Feed],
    layer: RebuildLayer,
    keys: Sequence[str] | None,
    view: str | None,
) -> Iterator[TableRef]:
    """What would be replaced or dropped as a whole."""
    for feed in feeds:
        if layer is RebuildLayer.BRONZE:
            yield from tables_of(lake, feed)
            continue
        known = keys_found(lake, feed)
        ensure_known(feed, known, keys or ())
        chosen = [key for key in known if not keys or key in keys]
        if layer is RebuildLayer.SILVER:
            yield from map(feed.silver_table, chosen)
            if not keys:
                yield quarantine_of(feed.feed)
            continue
        for one in feed.gold:
            if view in {None, one.name}:
                named = [] if keys else [EVERY_KEY]
                own = named if one.is_over_all else chosen
                yield from (feed.gold_table(one, key) for key in own)


def _silver(
    settings: Settings,
    feeds: Sequence[Feed],
    keys: list[str] | None,
    times: tuple[datetime | None, datetime | None],
    *,
    as_json: bool,
) -> None:
    since, until = (at.replace(tzinfo=UTC) if at else None for at in times)
    endpoints = control.locate(settings, feeds)
    done: list[tuple[Feed, Redone]] = []

    def act(feed: Feed) -> None:
        found = rebuild_silver(settings, feed, endpoints, keys=keys, since=since, until=until)
        done.append((feed, found))
        if not as_json:
            show(found)

    failed = for_each(feeds, act)
    tell("rebuild", as_result(done), failed, as_json=as_json)


def show(done: Redone) -> None:
    """Print what a requeue or a rebuild changed."""
    for table in sorted({*done.rows, *done.removed}):
        rows, removed = done.rows.get(table, 0), done.removed.get(table, 0)
        stdout.print(f"{table}: {rows:,} rows in, {removed:,} rows out", highlight=False)
    for (name, partition), offset in sorted(done.retained.items()):
        begins = f"{name}/{partition} begins at offset {offset:,}"
        stdout.print(f"{begins}: of older rows, silver stays as it was", highlight=False)
    if not done.rows and not done.removed:
        stdout.print("nothing to change")


def as_result(done: Iterable[tuple[Feed, Redone]]) -> list[dict[str, object]]:
    """What JSON has of it: an object a feed."""
    return [
        {
            "feed": feed.feed,
            "rows": one.rows,
            "removed": one.removed,
            "duplicates": one.duplicates,
            "retained": {f"{name}/{part}": at for (name, part), at in one.retained.items()},
        }
        for feed, one in done
    ]


def _gold(
    settings: Settings,
    feeds: Sequence[Feed],
    keys: list[str] | None,
    view: str | None,
    *,
    as_json: bool,
) -> None:
    done: list[tuple[Feed, Refreshed]] = []
    views = [view] if view else None

    def act(feed: Feed) -> None:
        found = refresh_gold(settings, feed, views=views, keys=keys, full_refresh=True)
        done.append((feed, found))
        if not as_json:
            show_refreshed(found)

    failed = for_each(turns_of(feeds), act)
    problems = [*failed, *problems_of(done)]
    tell("rebuild", as_result_of_gold(done), problems, as_json=as_json)


def _reset(settings: Settings, feed: Feed, *, as_json: bool) -> None:
    dropped = reset_bronze(settings, feed)
    files = feed.source.files
    words = f"`lake-assets stream` reads {feed.source.declared.title} again"
    if files is not None and files.archive is not None:
        words += f", and none that is in {files.archive}: move back what is to be read again"
    result = {"feed": feed.feed, "dropped": [table.name for table in dropped]}
    said = f"{len(dropped)} tables dropped; {words}"
    tell("rebuild", result, as_json=as_json, show=partial(_say, [said]))


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        stdout.print(line, markup=False, highlight=False, soft_wrap=True)
