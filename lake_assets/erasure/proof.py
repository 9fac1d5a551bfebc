"""The proof of an erasure: a look for its values at all that the product wrote of a lake.

At data files of all versions, whether a log names them or not, logs, state, Dagster's storage,
temporary files, and backups that are known of. It changes nothing, and tells no value: what is
found is named by its hash. `Proof.how` says what is looked for less. Copies elsewhere, which nobody
can look at from here, are `erasure.copies`'.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa

from lake_assets.erasure.places import Place, PlacedFile, places_of
from lake_assets.erasure.scan_content import Scan, rows_of_sqlite
from lake_assets.erasure.scanned import Kind, Scanned
from lake_assets.erasure.screen import Screen
from lake_assets.erasure.sought import SHORT_NUMBER, SHORT_TEXT, Sought, as_text
from lake_assets.erasure.unpack import UnreadableError
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import LakeAssetsError, first_line
from lake_assets.settings.schema import Settings

_WAITING = 64
"""Files that wait for a thread: more would be memory."""

_TELL_EVERY_S = 5.0

HOW = (
    (
        f"texts of {SHORT_TEXT} or more characters: anywhere in each file's bytes, in each column, "
        "and in what is packed (gzip, zstd, lz4, xz, bzip2, zlib, zip, tar), as they are and as "
        "JSON, addresses, base64 and hexadecimal digits write them"
    ),
    "shorter texts: as the whole value of a column",
    (
        f"whole numbers of {SHORT_NUMBER} or more digits: by their digits in texts and payloads, "
        "where no digit is beside them, and as values of columns of whole numbers, but of offsets "
        "and those that begin with `_`, and in fields of payloads that are messages of Protobuf "
        "(but packed lists); shorter "
        "ones: as values of columns of the wanted name, and in statistics of it"
    ),
    (
        "not looked for: short whole numbers within payloads, and any within payloads of Avro, "
        "which are found by the rows of silver that came of them; values in another case, cut or "
        "hashed"
    ),
)
"""What is looked for how, in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What a scan found, and what it looked at."""

    scanned: Scanned
    how: tuple[str, ...] = HOW

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found in what could be read."""
        return not self.scanned.findings

    @property
    def is_whole(self) -> bool:
        """Whether all could be read that is known of; of temporary files, what could be."""
        return all(one.is_temporary for one in self.scanned.unread)


def prove(
    settings: Settings,
    wanted: Sequence[Wanted],
    key: bytes,
    *,
    dagster_home: Path | None = None,
    temporary: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Proof:
    """Look for values at everything of a lake, in one pass for all of them, in bounded memory.

    Args:
        settings: where the lake is.
        wanted: whose values; with what tables have in their place that hide the column.
        key: of the lake's erasures: values are named by their hashes.
        dagster_home: of the Dagster that runs the lake; by default the demo's.
        temporary: folder of temporary files; by default this user's.
        tell: told now and then how far it is.
    """
    sought = Sought.of(wanted)
    places, unread = places_of(settings, dagster_home, temporary)
    scanned = Scanned(digests=sought.digests(key), unread=list(unread))
    _Scanning(sought, scanned, tell).run(places)
    return Proof(scanned=scanned)


_NAMES = 1_000
"""Of files that are looked at together: for many values an expression takes long to be made."""


@dataclass(frozen=True, slots=True)
class _Scanning:
    sought: Sought
    scanned: Scanned
    tell: Callable[[str], None]

    def run(self, places: Sequence[Place]) -> None:
        done, told_at = 0, time.monotonic()
        under_way: set[Future[None]] = set()
        screens: list[Screen] = []
        local = threading.local()

        def begin() -> None:
            local.screen = Screen(self.sought)
            screens.append(local.screen)

        def look(file: PlacedFile, *, is_named: bool) -> None:
            self._file(file, local.screen, is_named=is_named)

        with ThreadPoolExecutor(os.cpu_count() or 1, "scan", initializer=begin) as pool:
            for place in places:
                for file, is_named in self._named(self._files(place)):
                    under_way.add(pool.submit(look, file, is_named=is_named))
                    if len(under_way) < _WAITING:
                        continue
                    ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    done += _raised(ended)
                    if time.monotonic() - told_at > _TELL_EVERY_S:
                        self.tell(f"{done} files scanned")
                        told_at = time.monotonic()
            done += _raised(wait(under_way).done)
        for screen in screens:
            screen.flush()
        self.tell(f"{done} files scanned")

    def _files(self, place: Place) -> Iterator[PlacedFile]:
        try:
            yield from place.files()
        except (LakeAssetsError, OSError) as problem:
            self.scanned.failed(str(place), first_line(problem))

    def _named(self, files: Iterator[PlacedFile]) -> Iterator[tuple[PlacedFile, bool]]:
        """Files, and whether their addresses may have a value: many are looked at together."""
        while some := [*islice(files, _NAMES)]:
            names = pa.array([file.address.encode() for file in some], pa.large_binary())
            are = self.sought.may_have(names, are_payloads=False)
            yield from ((file, are) for file in some)

    def _file(self, file: PlacedFile, screen: Screen, *, is_named: bool) -> None:
        shown = self._shown(file) if is_named else file.address
        found = partial(self._found, file.kind, shown)
        scan = Scan(sought=self.sought, screen=screen, found=found, is_log=file.is_log)
        try:
            with file.open() as source:
                size = source.size()
                self.scanned.read(file.kind, files=1, size=size)
                is_sqlite = size > 0 and source.read_at(6, 0) == b"SQLite"
                rows = scan.run(source, file.name.rpartition("/")[2])
                self.scanned.read(file.kind, rows=rows)
            if is_sqlite and file.path is not None:
                for table, cells in rows_of_sqlite(str(file.path)):
                    found(f"table {table}", self.sought.in_texts(cells))
        except FileNotFoundError:
            return  # deleted meanwhile
        except (UnreadableError, LakeAssetsError, OSError, sqlite3.Error, pa.ArrowException) as why:
            told = first_line(why)
            told = "cannot be read" if self._in_words(told) else told
            self.scanned.failed(shown, told, is_temporary=file.kind is Kind.SPILL)

    def _shown(self, file: PlacedFile) -> str:
        """A file's address; without its folders' names if they have a value."""
        address = file.address
        in_name = self._in_words(address)
        if not in_name:
            return address
        start = address[: len(address) - len(file.name)]
        shown = start + "/".join(file.name.split("/")[:2]) + "/…"
        if self._in_words(shown):
            shown = f"{start}…"
        self._found(file.kind, shown, "its name", in_name)
        return shown

    def _in_words(self, words: str) -> set[int]:
        """Which values are told by words, such as an address."""
        return self.sought.in_texts(as_text(words.encode()))

    def _found(self, kind: Kind, file: str, where: str, values: set[int]) -> None:
        if values:
            self.scanned.found(kind, file, where, values)


def _raised(ended: set[Future[None]]) -> int:
    for one in ended:
        one.result()
    return len(ended)
