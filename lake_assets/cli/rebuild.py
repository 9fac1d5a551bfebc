"""`lake-assets rebuild`: a layer derived again from the one before it."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from lake_assets.cli.console import stdout
from lake_assets.cli.refresh import show_report
from lake_assets.cli.shared import (
    FeedOption,
    LakeOption,
    for_each,
    pick_feed,
    pick_feeds,
    with_silver,
)
from lake_assets.errors import SettingsError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Refreshed
from lake_assets.model.view_order import turns_of
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.silver.redone import Redone
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.reprocess import rebuild_silver
from lake_assets.streams.reset import reset_bronze


class RebuildLayer(StrEnum):
    """What can be rebuilt."""

    SILVER = "silver"
    GOLD = "gold"
    BRONZE = "bronze"


def rebuild(
    *,
    layer: Annotated[RebuildLayer, typer.Argument(help="Which tables to derive from scratch.")],
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key", "--game", help="Only this key; may be given again.", show_default="all keys"
        ),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="Silver: only rows that came into bronze since then (UTC).",
            show_default="all rows",
        ),
    ] = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
) -> None:
    """Derive silver from bronze, or gold from silver, from scratch.

    For after a schema or an expectation was corrected. Each table is replaced in one commit, so
    readers see the old rows or the new ones, and the streams may go on meanwhile. `rebuild silver`
    of all keys, with the streams stopped, also drops columns that hold nothing and that no row's
    message makes, such as those of a renamed field's old name; with the streams stopped, too, it
    gives tables the layout that the feed says (`partition_by`). `rebuild bronze`
    drops the feed's tables and reads its source again; feeds are protected from that unless they
    say otherwise.
    """
    settings = load_settings(lake=lake)
    if since is not None and layer is not RebuildLayer.SILVER:
        raise SettingsError("--since", f"does not go with {layer}", "Leave it out")
    if layer is RebuildLayer.SILVER:
        at = since.replace(tzinfo=UTC) if since else None
        feeds = with_silver(pick_feeds(settings, feed, keys=key))
        endpoints = control.locate(settings, feeds)
        for_each(
            feeds,
            lambda one: show(rebuild_silver(settings, one, endpoints, keys=key, since=at)),
        )
    elif layer is RebuildLayer.GOLD:
        for_each(
            turns_of(pick_feeds(settings, feed, keys=key)),
            lambda one: _show_gold(refresh_gold(settings, one, keys=key, full_refresh=True)),
        )
    else:
        # What drops tables asks for one feed by its name.
        _reset(settings, pick_feed(settings, feed), key)


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


def _show_gold(found: Refreshed) -> None:
    for report in found.reports:
        show_report(report)


def _reset(settings: Settings, feed: Feed, keys: list[str] | None) -> None:
    if keys:
        raise SettingsError("--key", "does not go with bronze", "Leave it out")
    dropped = reset_bronze(settings, feed)
    files = feed.source.files
    words = f"`lake-assets stream` reads {feed.source.declared.title} again"
    if files is not None and files.archive is not None:
        words += f", and none that is in {files.archive}: move back what is to be read again"
    told = f"{len(dropped)} tables dropped; {words}"
    stdout.print(told, markup=False, highlight=False, soft_wrap=True)
