"""Which batch, or which change, of an application each of some tables has, and a checksum of that.

A table that is put back alone from a copy, or is gone, no longer fits the checksum that its
companions recorded. Reads only.
"""

from collections.abc import Mapping
from hashlib import blake2b

from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.model.tables import TableRef


def numbers_of(app_id: str, tables: Mapping[TableRef, DeltaTable]) -> dict[TableRef, int]:
    """By table, the newest number that it records of an application; those without are absent."""
    numbers = {table: handle.transaction_version(app_id) for table, handle in tables.items()}
    return {table: number for table, number in numbers.items() if number}


def checksum(numbers: Mapping[TableRef, int]) -> int:
    """A checksum of which number each table has, below 2**63, as Delta's transactions hold it.

    A sum of hashes, so that the tables' order is of no matter; 0 if there are none.
    """
    total = 0
    for table, number in numbers.items():
        text = f"{table.relative}:{number}".encode()
        total += int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
    return total % 2**63


def checksum_record(app_id: str, numbers: Mapping[TableRef, int]) -> Batch:
    """The application transaction that records the checksum of an application's numbers."""
    return Batch(_checksum_app(app_id), checksum(numbers))


def recorded_checksum(app_id: str, handle: DeltaTable) -> int:
    """The checksum that a table records of an application; that of no numbers if it has none."""
    return handle.transaction_version(_checksum_app(app_id)) or checksum({})


def _checksum_app(app_id: str) -> str:
    return f"{app_id}:tables"
