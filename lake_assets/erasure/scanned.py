"""What a scan found, what it read, and what it could not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock


class Kind(StrEnum):
    """Of places where values may be."""

    DATA = "data files"
    LOG = "logs of tables"
    STATE = "state"
    BACKUP = "backups"
    DAGSTER = "Dagster's storage"
    SPILL = "temporary files"
    OTHER = "other files of the lake"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A value in a file."""

    kind: Kind
    file: str
    """Its address, without the value where that has it."""

    where: str
    """Which column, or what part of the file."""

    value: int
    """Which of the wanted values, in their order."""

    digest: str
    """The value's keyed hash."""


@dataclass(slots=True)
class Amount:
    """What was read of one kind."""

    files: int = 0
    size: int = 0
    """Bytes, as they are stored."""

    rows: int = 0
    """Of Parquet files."""


@dataclass(frozen=True, slots=True)
class Unread:
    """What was not scanned."""

    what: str
    why: str
    is_temporary: bool = False
    """Of a process that may be another lake's: it goes when that ends, or with the machine."""


@dataclass(kw_only=True)
class Scanned:
    """The result of a scan as it grows. Thread-safe."""

    digests: tuple[str, ...]
    findings: list[Finding] = field(default_factory=list)
    amounts: dict[Kind, Amount] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    _seen: set[tuple[str, str, int]] = field(default_factory=set, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def found(self, kind: Kind, file: str, where: str, values: Iterable[int]) -> None:
        """Take in what one part of a file has."""
        with self._lock:
            for value in sorted(values):
                if (file, where, value) not in self._seen:
                    self._seen.add((file, where, value))
                    digest = self.digests[value]
                    self.findings.append(
                        Finding(kind=kind, file=file, where=where, value=value, digest=digest)
                    )

    def read(self, kind: Kind, *, files: int = 0, size: int = 0, rows: int = 0) -> None:
        """Count what was read."""
        with self._lock:
            amount = self.amounts.setdefault(kind, Amount())
            amount.files += files
            amount.size += size
            amount.rows += rows

    def failed(self, what: str, why: str, *, is_temporary: bool = False) -> None:
        """Note what could not be read."""
        with self._lock:
            self.unread.append(Unread(what, why, is_temporary))

    @property
    def words(self) -> Iterator[str]:
        """What was read, by kind."""
        for kind in Kind:
            if (amount := self.amounts.get(kind)) is not None:
                rows = f", {amount.rows} rows" if amount.rows else ""
                yield f"{kind.value}: {amount.files} files, {amount.size} bytes{rows}"
