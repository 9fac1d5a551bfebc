"""What a restore asks of whoever knows erasures: that none of their rows are in what it brings."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Obeyed:
    """What was done for erasures to hold in tables that are about to be restored."""

    rows: Mapping[str, int] = field(default_factory=dict)
    """By table, how many left it."""

    dropped: tuple[str, ...] = ()
    """Tables (`TableRef.relative`) that are to be made again from others, and not restored."""

    left: tuple[str, ...] = ()
    """In words, what is not done, and what to do."""


Obey: TypeAlias = Callable[[Store, ErasureLedger, Collection[str]], Obeyed]
"""Takes rows out of tables that lie in a folder as in a lake, and nobody uses yet.

It is given that folder's store; the ledger whose erasures are to hold, which are all that the lake,
the backup or its place knows; and ids of those of which the backup has nothing. Called again with
the same tables, copied again, after it was cut off.
"""
