"""What a lake tells of its erasures: who was erased is told by keyed hashes alone."""

from collections.abc import Mapping
from typing import Any

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


def recorded(one: Mapping[str, Any]) -> tuple[str, ...]:
    """One of `audit` as a table's row shows it."""
    shown = ", ".join(digest[:12] for digest in one["digests"][:_SHOWN_DIGESTS])
    further = len(one["digests"]) - _SHOWN_DIGESTS
    return (
        one["id"],
        one["requested_at"][:19],
        one["column"],
        f"{shown}… and {further} more" if further > 0 else f"{shown}…",
        one["later"],
        one["state"],
        f"{sum(one['rows'].values()):,}",
        "yes" if one["is_proved"] else "",
    )
