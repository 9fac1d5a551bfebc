"""`lake-assets drop`: tables of keys and views that a feed declares no more leave the lake."""

from lake_assets.cli.answer import tell
from lake_assets.cli.confirm import (
    DryRunOption,
    YesOption,
    counted,
    ensure_confirmed,
    in_words,
    say,
    touched,
)
from lake_assets.cli.rebuild import show
from lake_assets.cli.shared import (
    FeedsOption,
    HomeOption,
    JsonOption,
    KeysOption,
    LakeOption,
    OneFeedOption,
    pick_feed,
)
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.reprocess import rebuild_silver
from lake_assets.streams.undeclared_tables import drop_undeclared, undeclared_tables


def drop(
    *,
    key: KeysOption = None,
    feed: OneFeedOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop the silver and gold tables of keys and views that a feed declares no more.

    For after a key or a view was renamed or taken out of the feed. Bronze keeps all rows. Streams
    must not run. If silver tables were dropped, silver is derived again from bronze: rows of a key
    that is gone are in quarantine then (`unknown_key`).
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    one = pick_feed(settings, feed)
    tables = undeclared_tables(lake_of(settings), one, key)
    found = touched(lake_of(settings), tables)
    if not found:
        say([f"feed {one.feed}: every table is of a key and a view that it declares"])
    elif dry_run:
        say(["would drop:", *in_words(found)])
    else:
        what = f"{counted(len(found), 'table')} would be dropped"
        ensure_confirmed(what, in_words(found), yes=yes)
        if drop_undeclared(settings, one, tables):
            endpoints = control.locate(settings, [one])
            redone = rebuild_silver(settings, one, endpoints)
            if not as_json:
                show(redone)
    dropped = [] if dry_run else found
    result = {"feed": one.feed, "is_dry_run": dry_run, "dropped": dropped, "found": found}
    tell("drop", result, as_json=as_json)
