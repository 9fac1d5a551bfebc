"""What a lake tells of its erasures: who was erased is told by keyed hashes alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.model.erasures import ErasureState
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import ERASURE_REQUESTS, erased_of
from lake_assets.settings.schema import Settings
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.storage.open_store import lake_of

_SHOWN_DIGESTS = 1


def audit(settings: Settings) -> list[dict[str, Any]]:
    """Each erasure, the oldest first, in a form that JSON has.

    Raises:
        LakeError: the ledger is damaged or cannot be read, or its key is gone or another.
    """
    ledger = ErasureLedger(lake_of(settings), settings.state_dir, settings.erasure.key_bytes)
    return [
        {
            "id": one.id,
            "requested_at": one.requested_at.isoformat(),
            "column": one.column,
            "digests": list(one.digests),
            "later": one.later.value,
            "state": one.state.value,
            "rows": dict(one.rows),
            "is_proved": one.is_proved,
        }
        for one in ledger.read().every
    ]


def has_work(settings: Settings, feeds: Sequence[Feed]) -> bool:
    """Whether somebody asks for an erasure, one is not done, or raw rows were left out by one.

    Raises:
        LakeError: the lake cannot be read.
    """
    lake = lake_of(settings)
    requests = open_table(lake, ERASURE_REQUESTS)
    if requests is not None and rows_of(requests):
        return True
    erasures = audit(settings)
    if any(one["state"] != ErasureState.DONE for one in erasures):
        return True
    tables = (open_table(lake, erased_of(feed.feed)) for feed in feeds) if erasures else ()
    return any(table is not None and rows_of(table) for table in tables)


def in_words(one: Mapping[str, Any]) -> str:
    """One of `audit` in a line."""
    shown = ", ".join(digest[:12] for digest in one["digests"][:_SHOWN_DIGESTS])
    further = len(one["digests"]) - _SHOWN_DIGESTS
    hashes = f"{shown}… and {further} more" if further > 0 else f"{shown}…"
    proved = ", proved" if one["is_proved"] else ""
    rows, tables = sum(one["rows"].values()), len(one["rows"])
    named = f"{one['id']}  {one['requested_at'][:19]}  {one['column']} {hashes}"
    done = f"{one['state']}{proved}, {rows:,} rows of {tables} tables, later ones {one['later']}"
    return f"{named}: {done}"
