"""Feeds whose rows may be lost in tables that another feed has made good again for itself.

Of a table that was put back by another engine, or whose files are gone, each feed that fills it
finds that out by itself. Once one of them has derived its rows again, nothing in the table tells
the others any more; so they are told here before, and refuse to go on until they do the same.
"""

from collections.abc import Iterable

from lake_assets.delta.table_log import log_of
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import quarantine_of
from lake_assets.storage.store import Store

_NAME = "_lost_rows.txt"
"""In the folder of the feed's quarantine table, which says how far its silver is."""


def note_lost(lake: Store, feeds: Iterable[str], fact: str) -> None:
    """Have feeds refuse to go on, until `clear_lost`.

    Raises:
        LakeError: the lake cannot be written.
    """
    for feed in feeds:
        note_lost_in(lake, log_of(lake, quarantine_of(feed)).folder, fact)


def note_lost_in(lake: Store, quarantine: LakeUri, fact: str | None) -> None:
    """As `note_lost`, of a feed whose quarantine table is in a folder; None is as `clear_lost`."""
    file = quarantine / _NAME
    if fact is None:
        lake.delete(file)
        return
    with lake.open_for_writing(file, durable=True) as stream:
        stream.write(fact.encode())
    lake.sync(file)


def lost_rows(lake: Store, feed: str) -> str:
    """In words, what became of a feed's rows; empty if nothing did."""
    try:
        return lake.get(_file(lake, feed)).decode(errors="replace") or "rows of it were lost"
    except FileNotFoundError:
        return ""


def clear_lost(lake: Store, feed: str) -> None:
    """All of a feed's rows were derived again."""
    lake.delete(_file(lake, feed))


def _file(lake: Store, feed: str) -> LakeUri:
    return log_of(lake, quarantine_of(feed)).folder / _NAME
