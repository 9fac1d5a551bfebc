"""`lake-assets requeue`: quarantined rows, moved to silver where they now belong."""

from typing import Annotated

import typer

from lake_assets.cli.rebuild import show
from lake_assets.cli.shared import FeedOption, LakeOption, for_each, pick_feeds, with_silver
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.streams.reprocess import requeue as move


def requeue(
    *,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            "--game",
            help="Only rows of this key; may be given again.",
            show_default="all keys",
        ),
    ] = None,
    skipped: Annotated[
        bool,
        typer.Option(
            "--skipped",
            help="Also rows of batches that were skipped (`stream --skip-batch`), once what made "
            "them fail is repaired.",
        ),
    ] = False,
    feed: FeedOption = None,
    lake: LakeOption = None,
) -> None:
    """Move quarantined rows that now decode, route and pass to their silver tables.

    For after a key was added to the feed, a schema was registered or an expectation was corrected.
    Each row is moved exactly once; the others stay. The streams may go on meanwhile.
    """
    settings = load_settings(lake=lake)
    feeds = with_silver(pick_feeds(settings, feed, keys=key))
    endpoints = control.locate(settings, feeds)
    for_each(
        feeds,
        lambda one: show(move(settings, one, endpoints, key, with_skipped=skipped)),
    )
