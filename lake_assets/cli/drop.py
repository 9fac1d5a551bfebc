"""`lake-assets drop`: tables of keys and views that a feed declares no more leave the lake."""

from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.confirm import (
    DryRunOption,
    YesOption,
    ensure_confirmed,
    in_words,
    say,
    touched,
)
from lake_assets.cli.rebuild import show
from lake_assets.cli.shared import JsonOption, LakeOption, OneFeedOption, pick_feed
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.reprocess import rebuild_silver
from lake_assets.streams.undeclared_tables import drop_undeclared, undeclared_tables


def drop(
    *,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", help="Only tables of this key; may be given again."),
    ] = None,
    feed: OneFeedOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    lake: LakeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop the silver and gold tables of keys and views that a feed declares no more.

    For after a key or a view was renamed or taken out of the feed. Bronze keeps all rows. Streams
    must not run. If silver tables were dropped, silver is derived again from bronze: rows of a key
    that is gone are in quarantine then (`unknown_key`).
    """
    settings = load_settings(lake=lake)
    one = pick_feed(settings, feed)
    tables = undeclared_tables(lake_of(settings), one, key)
    found = touched(lake_of(settings), tables)
    if not found:
        say([f"feed {one.feed}: every table is of a key and a view that it declares"])
    elif dry_run:
        say(["would drop:", *in_words(found)])
    else:
        ensure_confirmed("These tables are dropped", in_words(found), yes=yes)
        if drop_undeclared(settings, one, tables):
            endpoints = control.locate(settings, [one])
            redone = rebuild_silver(settings, one, endpoints)
            if not as_json:
                show(redone)
    result = {"feed": one.feed, "dropped": [] if dry_run else found, "found": found}
    tell("drop", result, as_json=as_json)
