"""`lake-assets refresh`: gold views brought up to date."""

from typing import Annotated

import typer

from lake_assets.cli.console import stdout
from lake_assets.cli.shared import FeedOption, LakeOption, pick_feed
from lake_assets.gold.run import refresh_views
from lake_assets.settings.load import load_settings


def refresh(
    *,
    view: Annotated[
        str | None, typer.Option(help="Only this view.", show_default="all views")
    ] = None,
    game: Annotated[
        list[str] | None,
        typer.Option(help="Only this game; may be given again.", show_default="all games"),
    ] = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
) -> None:
    """Bring gold views up to date with silver; games that did not change are left alone.

    All games of a view are computed in one Spark job. Readers see the old rows or the new ones.
    """
    settings = load_settings(lake=lake)
    chosen = pick_feed(settings, feed)
    reports = refresh_views(settings, chosen, views=[view] if view else None, games=game)
    for report in reports:
        for one in report.refreshed:
            stdout.print(f"{one.view} of {one.game}: {one.rows:,} rows", highlight=False)
        if report.up_to_date:
            stdout.print(f"{len(report.up_to_date)} were up to date", highlight=False)
        if not report.refreshed and not report.up_to_date:
            stdout.print("nothing to refresh: silver has no table yet; run `lake-assets stream`")
