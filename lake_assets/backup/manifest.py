"""What a backup says of itself: which tables at which versions, of which files, with checksums.

Nouns and their JSON; where they lie is `backup.place`'s. A checksum is `digest_of`'s, and each
level has those of the one below: the manifest of each table's part, a part of its files.
"""

import hashlib
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from lake_assets.state.binding import Record

FORMAT = 2
"""Of a place, raised when an older release could not read it: one that has a ledger of erasures,
which it would not obey."""

WITHOUT_ERASURES = 1
"""Of a place that has none, and of manifests."""

_BYTES = 16


class CopiedFile(NamedTuple):
    """A file of a backup."""

    path: str
    """Below its table's folder, or the state's; not encoded."""

    size: int
    """Bytes."""

    digest: str


class _Noted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TablePart(_Noted):
    """All that a backup has of one table."""

    table: str
    """`TableRef.relative`."""

    version: int
    log: CopiedFile
    """The archive of its log up to that version."""

    files: tuple[CopiedFile, ...]
    journal: str | None = None
    """Of a requeue or a rebuild that was cut off, as the quarantine table's folder has it."""

    lost: str | None = None
    """Of a quarantine table: in words, what became of its feed's rows that silver lacks."""

    def as_json(self) -> bytes:
        """Its file: earlier releases read it, too, unless it has what they do not know of."""
        return self.model_dump_json(exclude_none=True).encode()


class TableSummary(_Noted):
    """A table, as the manifest tells of it."""

    table: str
    version: int
    rows: int | None
    """None where the log does not count them."""

    files: int
    size_bytes: int
    digest: str
    """Of its part."""


class Manifest(_Noted):
    """A whole backup: it is written when all that it names is durable."""

    format: int = WITHOUT_ERASURES
    number: int
    """One more than the backup before has, whatever the clock says."""

    run: str = ""
    """Who made it: no other one has the same folder. Empty of earlier releases."""

    made_at: str
    """When its versions were chosen, UTC, in ISO format; for people."""

    lake: Record
    """The lake's id, and where it and its state were."""

    tables: tuple[TableSummary, ...]
    state: tuple[CopiedFile, ...] = ()
    notes: tuple[str, ...] = ()
    """In words, what whoever restores it should know."""

    erasures: tuple[CopiedFile, ...] = ()
    """Files of the lake's ledger of erasures, which was read before versions were chosen."""

    def as_json(self) -> bytes:
        """Its file: earlier releases read it, too, unless it has erasures: they obey none."""
        unused = None if self.erasures else {"erasures"}
        return self.model_dump_json(indent=1, exclude=unused).encode()

    @property
    def made_at_s(self) -> float:
        """`made_at` in seconds since 1970."""
        return datetime.fromisoformat(self.made_at).timestamp()

    @property
    def folder(self) -> str:
        """Where in the place its own files are."""
        return folder_name(self.number, self.run)

    @property
    def size_bytes(self) -> int:
        """Of all data files."""
        return sum(table.size_bytes for table in self.tables)


def folder_name(number: int, run: str) -> str:
    """What the folder of a backup is called."""
    return f"{number:06}-{run}" if run else f"{number:06}"


def digest_of(content: bytes) -> str:
    """A checksum of some bytes."""
    return hashlib.blake2b(content, digest_size=_BYTES).hexdigest()


def new_digest() -> "hashlib.blake2b":
    """The same, of bytes that come piece by piece."""
    return hashlib.blake2b(digest_size=_BYTES)
