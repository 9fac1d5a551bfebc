"""Which key a feed's silver was hashed with, as its tables record it: never the key itself.

With another key the same text is another hash, so rows of two keys in one table would join with
nothing. All of `rebuild silver` gives all rows the new one.
"""

import hashlib
import hmac
from collections.abc import Iterable

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.committer import Committer
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError, first_line
from lake_assets.model.tables import TableRef

_PROPERTY = "lake_assets.masking_key"
"""Of a silver table with columns that are hashed."""

_CONSTANT = b"lake_assets: which masking key this is"


def fingerprint(key: bytes) -> str:
    """What is told of a key: by a keyed hash of a constant, from which it cannot be had back."""
    return hmac.new(key, _CONSTANT, hashlib.sha256).hexdigest()[:32]


def others(
    committer: Committer, tables: Iterable[TableRef], mark: str
) -> dict[TableRef, DeltaTable]:
    """The tables, opened, that record another key's fingerprint than `mark`, or none."""
    opened = committer.opened(list(tables))
    return {table: handle for table, handle in opened.items() if _recorded(handle) != mark}


def ensure_same(committer: Committer, tables: Iterable[TableRef], key: bytes) -> None:
    """Make sure that no table has hashes of another key.

    Raises:
        LakeError: one has.
    """
    for table, handle in others(committer, tables, fingerprint(key)).items():
        if recorded := _recorded(handle):
            raise LakeError(
                table.name,
                f"has hashes of another masking key (fingerprint {recorded}, and that of "
                f"LAKE_ASSETS_MASKING_KEY is {fingerprint(key)}), to which new ones are not equal",
                "Set the key that it was written with; or, to go over to the new one, stop the "
                "streams and run `lake-assets rebuild silver`, which hashes all rows anew",
            )


def record(committer: Committer, tables: Iterable[TableRef], key: bytes) -> None:
    """Have the tables say which key their hashes are of.

    Raises:
        LakeError: the lake cannot be written.
    """
    mark = fingerprint(key)
    for table in others(committer, tables, mark):
        log = log_of(committer.store, table)
        try:
            log.open().alter.set_table_properties({_PROPERTY: mark}, raise_if_not_exists=False)
        except (DeltaError, OSError) as problem:
            fact = f"cannot record which masking key its hashes are of ({first_line(problem)})"
            raise LakeError(table.name, fact, "Check the folder and the disk") from problem


def has_others(committer: Committer, tables: Iterable[TableRef], key: bytes) -> bool:
    """Whether a table has hashes of another key."""
    return any(map(_recorded, others(committer, tables, fingerprint(key)).values()))


def _recorded(handle: DeltaTable) -> str:
    return handle.metadata().configuration.get(_PROPERTY) or ""
