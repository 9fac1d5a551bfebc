"""`lake-assets requeue`: quarantined rows, moved to silver where they now belong."""

from collections.abc import Sequence
from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.confirm import DryRunOption
from lake_assets.cli.console import stdout
from lake_assets.cli.rebuild import as_result, show
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    KeysOption,
    LakeOption,
    for_each,
    pick_feeds,
    with_silver,
)
from lake_assets.logs.quarantined import rows_by_reason
from lake_assets.model.feeds import Feed
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.silver.redone import Redone
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.reprocess import requeue as move


def requeue(
    *,
    key: KeysOption = None,
    skipped: Annotated[
        bool,
        typer.Option(
            "--skipped",
            help="Also rows of batches that were skipped (`stream --skip-batch`), once what made "
            "them fail is repaired.",
        ),
    ] = False,
    dry_run: DryRunOption = False,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move quarantined rows that now decode, route and pass to their silver tables.

    For after a key was added to the feed, a schema was registered or an expectation was corrected.
    Each row is moved exactly once; the others stay. The streams may go on meanwhile.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    feeds = with_silver(pick_feeds(settings, feed, keys=key))
    if dry_run:
        _look(settings, feeds, as_json=as_json)
        return
    endpoints = control.locate(settings, feeds)
    done: list[tuple[Feed, Redone]] = []

    def act(one: Feed) -> None:
        found = move(settings, one, endpoints, key, with_skipped=skipped)
        done.append((one, found))
        if not as_json:
            show(found)

    failed = for_each(feeds, act)
    tell("requeue", as_result(done), failed, as_json=as_json)


def _look(settings: Settings, feeds: Sequence[Feed], *, as_json: bool) -> None:
    """Tell how many rows would be tried; which of them fit now, only decoding tells."""
    found = {feed.feed: rows_by_reason(lake_of(settings), feed) for feed in feeds}

    def show_counts() -> None:
        for feed, reasons in found.items():
            words = ", ".join(f"{rows:,} {reason}" for reason, rows in reasons.items())
            stdout.print(f"{feed}: would try rows of quarantine: {words or 'none'}", soft_wrap=True)

    tell("requeue", {"is_dry_run": True, "quarantined": found}, as_json=as_json, show=show_counts)
