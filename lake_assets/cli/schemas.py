"""`lake-assets schemas`: which columns silver has had, since when, and why."""

from collections.abc import Collection, Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    KeysOption,
    LakeOption,
    pick_feeds,
)
from lake_assets.delta.catalog import ensure_known, keys_found
from lake_assets.logs.schema_log import entries_of
from lake_assets.model.feeds import Feed
from lake_assets.model.schema_history import SchemaEntry
from lake_assets.settings.load import load_settings
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


def schemas(
    *,
    key: KeysOption = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which columns silver has had, when each came or got wider, and why.

    Why is `declared` (the feed says so), `inferred` (rows had such values), `registry` (with the
    version, subject and id of the schema), `transformed` (the feed's function gives it),
    `selected`, `found` (nothing that is known says why) or `dropped`. The versions of registered
    schemas that are known are shown, too. Reads the lake alone, and changes nothing.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    store = lake_of(settings)
    feeds = pick_feeds(settings, feed, keys=key)
    found = {picked.feed: _entries(store, picked, key) for picked in feeds}
    without = {picked.feed for picked in feeds if not picked.has_silver}
    result = [_as_json(name, entry) for name, some in found.items() for entry in some]
    tell("schemas", result, as_json=as_json, show=lambda: _show(found, without))


def _show(found: Mapping[str, Sequence[SchemaEntry]], without: Collection[str]) -> None:
    for name, some in found.items():
        if some:
            stdout.print(history_table(name, some))
        elif name in without:
            stdout.print(f"feed {name} has no silver tables, whose columns would be here")
        else:
            stdout.print(f"nothing is kept of feed {name} yet; run `lake-assets stream`")


def _entries(store: Store, feed: Feed, keys: Sequence[str] | None) -> list[SchemaEntry]:
    entries = entries_of(store, feed.feed)
    if not keys:
        return entries
    # A key that the feed had once has a history, too.
    if unknown := {*keys} - {entry.key for entry in entries}:
        ensure_known(feed, keys_found(store, feed), sorted(unknown))
    return [entry for entry in entries if entry.key in {None, *keys}]


def history_table(feed: str, entries: Sequence[SchemaEntry]) -> Table:
    """Changes as people read them: what happened to several keys' tables at once is one line."""
    shown = Table(title=f"feed {feed}", title_justify="left")
    shown.add_column("time (UTC)", no_wrap=True)
    for title in ("column", "type", "before", "why", "keys"):
        shown.add_column(title, overflow="fold")
    keys: dict[SchemaEntry, list[str]] = {}
    for entry in entries:
        keys.setdefault(_of_no_key(entry), []).append(entry.key or "")
    everyone = {entry.key for entry in entries if entry.key is not None}
    for entry, some in keys.items():
        named = "" if some == [""] else ", ".join(sorted(some))
        shown.add_row(
            f"{entry.at:%Y-%m-%d %H:%M:%S}",
            escape(entry.column or ""),
            escape(entry.type or ("-" if entry.column else "")),
            escape(entry.before or ""),
            escape(_why(entry)),
            "all" if len(everyone) > 1 and everyone == {*some} else named,
        )
    return shown


def _of_no_key(entry: SchemaEntry) -> SchemaEntry:
    return SchemaEntry(
        key=None,
        column=entry.column,
        type=entry.type,
        before=entry.before,
        reason=entry.reason,
        note=entry.note,
        at=entry.at,
    )


def _why(entry: SchemaEntry) -> str:
    reason = entry.reason
    words = reason.why.value
    if reason.version is not None:
        of_subject = f" of {reason.subject}" if reason.subject else ""
        words += f", version {reason.version}{of_subject} (id {reason.schema_id})"
    return f"{words}: {entry.note}" if entry.note else words


def _as_json(feed: str, entry: SchemaEntry) -> dict[str, object]:
    return {
        "feed": feed,
        "key": entry.key,
        "time": entry.at.isoformat() if entry.at else None,
        "column": entry.column,
        "type": entry.type,
        "before": entry.before,
        "why": entry.reason.why.value,
        "version": entry.reason.version,
        "schema_id": entry.reason.schema_id,
        "subject": entry.reason.subject,
        "note": entry.note,
    }
