"""Which key a feed's silver was hashed with, as its tables record it: never the key itself.

With another key the same text is another hash, so rows of two keys in one table would join with
nothing. All of `rebuild silver` gives all rows the new one; from before that until after it the
tables say that they go over to another (`streams.key_rotation`).
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.committer import Committer
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError, first_line
from lake_assets.model.tables import TableRef

_PROPERTY = "lake_assets.masking_key"
"""Of a silver table with columns that are hashed."""

_NEXT = "lake_assets.next_masking_key"
"""The same of the key that a table is going over to: meanwhile it may have hashes of both."""

_CONSTANT = b"lake_assets: which masking key this is"


def fingerprint(key: bytes) -> str:
    """What is told of a key: by a keyed hash of a constant, from which it cannot be had back."""
    return hmac.new(key, _CONSTANT, hashlib.sha256).hexdigest()[:32]


def ensure_same(committer: Committer, tables: Iterable[TableRef], key: bytes) -> None:
    """Make sure that no table has hashes of another key, and none of two.

    Raises:
        LakeError: one has, or may have.
    """
    mark = fingerprint(key)
    for table, handle in _opened(committer, tables).items():
        if coming := _property(handle, _NEXT):
            raise LakeError(
                table.name,
                f"is going over to another masking key (fingerprint {coming}, and that of "
                f"LAKE_ASSETS_MASKING_KEY is {mark}): the rebuild that does it is under way or "
                "broke off, so that there may be hashes of two keys",
                "Once none is under way, stop the streams and run `lake-assets rebuild silver` "
                "with the key that is to hold, which hashes all rows with it",
            )
        if (recorded := _property(handle, _PROPERTY)) and recorded != mark:
            raise LakeError(
                table.name,
                f"has hashes of another masking key (fingerprint {recorded}, and that of "
                f"LAKE_ASSETS_MASKING_KEY is {mark}), to which new ones are not equal",
                "Set the key that it was written with; or, to go over to the new one, stop the "
                "streams and run `lake-assets rebuild silver`, which hashes all rows anew",
            )


def record(committer: Committer, tables: Iterable[TableRef], key: bytes) -> None:
    """Have the tables say which key their hashes are of, and that they go over to none.

    Raises:
        LakeError: the lake cannot be written.
    """
    _set(committer, tables, {_PROPERTY: fingerprint(key), _NEXT: ""})


def begin_rotation(committer: Committer, tables: Iterable[TableRef], key: bytes) -> None:
    """Have the tables say that they go over to a key: `ensure_same` refuses all from now on.

    Raises:
        LakeError: the lake cannot be written.
    """
    _set(committer, tables, {_NEXT: fingerprint(key)})


def cancel_rotation(committer: Committer, tables: Iterable[TableRef]) -> None:
    """Have the tables say so no longer, where no row was hashed with the other key yet.

    Raises:
        LakeError: the lake cannot be written.
    """
    _set(committer, tables, {_NEXT: ""})


def has_others(committer: Committer, tables: Iterable[TableRef], key: bytes) -> bool:
    """Whether a table has hashes of another key."""
    recorded = (_property(one, _PROPERTY) for one in _opened(committer, tables).values())
    return any(one and one != fingerprint(key) for one in recorded)


def is_rotating(committer: Committer, tables: Iterable[TableRef]) -> bool:
    """Whether a table goes over to some key."""
    return any(_property(one, _NEXT) for one in _opened(committer, tables).values())


def _set(committer: Committer, tables: Iterable[TableRef], wanted: Mapping[str, str]) -> None:
    """Set properties of those tables that are there and have others."""
    for table, handle in _opened(committer, tables).items():
        if all(_property(handle, name) == value for name, value in wanted.items()):
            continue
        # What was never set need not be emptied.
        changed = {n: v for n, v in wanted.items() if v or _property(handle, n)}
        log = log_of(committer.store, table)
        try:
            log.open().alter.set_table_properties(changed, raise_if_not_exists=False)
        except (DeltaError, OSError) as problem:
            fact = f"cannot record which masking key its hashes are of ({first_line(problem)})"
            raise LakeError(table.name, fact, "Check the folder and the disk") from problem


def _opened(committer: Committer, tables: Iterable[TableRef]) -> dict[TableRef, DeltaTable]:
    return committer.opened(list(tables))


def _property(handle: DeltaTable, name: str) -> str:
    return handle.metadata().configuration.get(name) or ""
