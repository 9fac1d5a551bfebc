"""`lake-assets drop`: tables of keys and views that a feed declares no more leave the lake."""

from functools import partial

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
from lake_assets.cli.rebuild import as_result, show
from lake_assets.cli.shared import (
    FeedsOption,
    HomeOption,
    JsonOption,
    KeysOption,
    LakeOption,
    OneFeedOption,
    pick_feed,
)
from lake_assets.errors import LakeAssetsError, LakeError, first_line
from lake_assets.model.tables import Layer
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.silver.redone import Redone
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.reprocess import rebuild_silver
from lake_assets.streams.undeclared_tables import drop_undeclared, undeclared_tables


def drop(
    *,
    key: KeysOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    feed: OneFeedOption = None,
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
    result = {"is_dry_run": dry_run, "tables": found, "silver": []}
    if not found:
        nothing = f"feed {one.feed}: each of its tables is of a key and a view that it declares"
        tell("drop", result, as_json=as_json, show=partial(say, [nothing]))
        return
    if dry_run:
        words = ["would be dropped:", *in_words(found)]
        tell("drop", result, as_json=as_json, show=partial(say, words))
        return
    what = f"{counted(len(found), 'table')} would be dropped"
    ensure_confirmed(what, in_words(found), yes=yes)
    redone: list[Redone] = []
    is_derived = any(table.layer is Layer.SILVER for table in tables)
    # Before anything is gone: without them silver could not be derived again.
    endpoints = control.locate(settings, [one]) if is_derived else None
    if drop_undeclared(settings, one, tables) and endpoints is not None:
        try:
            redone.append(rebuild_silver(settings, one, endpoints))
        except LakeAssetsError as problem:
            fact = f"tables were dropped, and silver was not derived again: {first_line(problem)}"
            step = "Run `lake-assets rebuild silver --yes`; streams do not go on without it"
            raise LakeError(f"feed {one.feed}", fact, step) from problem
    result["silver"] = as_result([(one, done) for done in redone])

    def tell_people() -> None:
        say([f"{counted(len(found), 'table')} dropped"])
        for done in redone:
            show(done)

    tell("drop", result, as_json=as_json, show=tell_people)
