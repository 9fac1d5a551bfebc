"""The contract of a place of files: a folder of a disk, or a prefix of a bucket.

It lists files with size and time, opens one as it was found, and takes away what bronze has. What
is in a file is not its business. `sources.files.open_place` alone knows which places there are;
each is held to this by `lake_assets_tests/sources/files/place_contract.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.opening import Opener


@dataclass(frozen=True, kw_only=True, slots=True)
class Present:
    """A file that was found once, as it is now."""

    size: int
    is_as_found: bool
    """Whether it is the content that was found: in its own place, or where it was archived."""

    open: Opener


@dataclass(frozen=True, kw_only=True, slots=True)
class InOrder:
    """Files whose names come after one, in the order of their names."""

    files: Iterator[Found]
    """Looked at as they are asked for, without those that go meanwhile."""

    is_last: bool
    """Whether there are no others after them."""


class FilePlace(Protocol):
    """Where a feed's files are, as its source declares it. Used by one thread, and not pickled.

    But for `leave`, which so many threads call at once as `leaves_at_once` says, each of another
    file.

    All methods raise SourceError where the place cannot be used: a disk does not answer, a bucket
    is not there, refuses us or does not answer. The message names the place, fact and next step.
    """

    leaves_at_once: ClassVar[int]

    def ensure(self, *, timeout_s: float | None = None) -> None:
        """Make sure that files can be listed.

        Args:
            timeout_s: for an answer, where one is waited for.

        Raises:
            SourceNotFoundError: the folder, or the bucket, is not there.
        """

    def ensure_all(self) -> None:
        """Make sure that a file which is not there is gone: also that its archive is there.

        Raises:
            SourceNotFoundError: one of them is not, as when a disk is not mounted.
        """

    def files(self) -> Iterator[Found]:
        """The files that the source reads, in no order, one at a time, in bounded memory."""

    def files_after(self, last: str, most: int) -> InOrder:
        """The first files after a name, in order.

        Args:
            last: the name; empty for all.
            most: as many at most, which is what is in memory at once.
        """

    def look(self, name: str) -> Found | None:
        """A file as it is now; None if it is not there, or no file."""

    def opener(self, file: Found) -> Opener:
        """What opens a file that was just looked at."""

    def read_ahead(self, files: Sequence[Found]) -> None:
        """Take note that these are read next, about in this order: a hint, which may be wrong."""

    def is_still(self, file: Found) -> bool:
        """Whether a file that was looked at, and read to its end, was that all the while."""

    def find(self, entry: Entry) -> Present | None:
        """A file that was found before, in its place or, if it is as it was, in the archive."""

    def begin_archive(self) -> None:
        """Make the archive where no file has left yet, so that later it is known to be away."""

    def leave(self, entry: Entry, *, makes_archive: bool) -> None:
        """Archive or delete a file whose rows bronze has, if it is as it was found.

        Called again after a kill at any point, it finishes what was begun: never is the file in
        neither place, and once this returns it is in one.

        Args:
            entry: the file.
            makes_archive: whether none left before.

        Raises:
            OSError: the disk refuses, or the archive has another file of the name.
        """
