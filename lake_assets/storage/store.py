"""What a store of files promises, whatever it is made of.

A file is there whole or not at all, whoever looks and however a writer dies, and is known by its
name alone: there are folders where a disk needs them, and nobody asks for one. Each implementation
is held to it by `lake_assets_tests/storage/contract.py`.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple, Protocol, Self, TypeAlias

from lake_assets.model.lake_uri import LakeUri

STAGED = ".tmp"
"""How names of files end that a store writes and nobody is to see yet. Lists leave them out; what a
killed writer left is deleted by whoever deletes a table's unused files."""

DROPPED = ".dropped"
"""How names of folders end, after a dot, that are being deleted and nobody is to see any more."""


class FileStat(NamedTuple):
    """What a store knows of a file without reading it."""

    size: int
    """Bytes."""

    modified_ns: int
    """When it was written, by the store's clock, in nanoseconds since 1970."""

    tag: str
    """Another one for each file that was ever under this name, whatever its content."""


Readable: TypeAlias = str | BinaryIO
"""A file as pyarrow takes it to read any part of it: a path, or an open file."""


class Writing(Protocol):
    """A file that is being written; also what pyarrow takes for one."""

    def write(self, data: bytes | memoryview, /) -> int | None:
        """Add these bytes at the end."""


class Store(Protocol):
    """One disk, or one bucket. Thread-safe, and usable in another process after pickling.

    All methods raise `LakeError` where the store cannot be used: it is not there or not reachable,
    refuses us, is full or read-only. The message names the file, the fact and the next step.
    """

    @property
    def root(self) -> LakeUri:
        """A place on the disk or in the bucket that all files are in that it is asked for."""

    @property
    def options(self) -> Mapping[str, str]:
        """What deltalake takes to open a table in it; of a disk, nothing. May hold secrets."""

    def below(self, folder: LakeUri) -> Self:
        """The store whose root is a folder of this one, with all that is else set of it."""

    def put_if_absent(self, file: LakeUri, content: bytes) -> bool:
        """Make a file with this content; False if there is one already, and nothing happens.

        Of any number of callers at once at most one is told True. None of them may be, where a
        network lost the answer to one and asking again found its own file: so False says only that
        the caller must look at what is there. The folder must be there (`make_folder`): a log that
        somebody deletes meanwhile does not come back with its last commit alone.
        """

    def get(self, file: LakeUri) -> bytes:
        """A file's content.

        Raises:
            FileNotFoundError: there is no such file.
        """

    def open_for_reading(self, file: LakeUri) -> AbstractContextManager[Readable]:
        """A file to read parts of, for pyarrow.

        Raises:
            FileNotFoundError: there is no such file; perhaps only when it is read.
        """

    def stat(self, file: LakeUri) -> FileStat | None:
        """What is known of a file; None if there is no such file."""

    def list_from(self, folder: LakeUri, start: str = "") -> Iterator[str]:
        """Names of the files right in a folder, from `start` on, in the order of code points.

        A log is read from a version on so. Bounded memory, however many there are; none for a
        folder that is not there. Files that come or go meanwhile may be among them or not.
        """

    def staged(self, folder: LakeUri) -> list[str]:
        """Names of files right in a folder that are being written, or whose writer was killed.

        None where a store keeps what is not finished out of sight, as a bucket does.
        """

    def folders(self, folder: LakeUri) -> list[str]:
        """Names of the folders right in a folder, in order; none of one that is not there.

        On a disk, and on servers that have folders of their own (SeaweedFS, for two minutes), one
        whose last file was deleted may still be told: whoever asks looks into it.
        """

    def delete(self, file: LakeUri) -> None:
        """Delete a file; nothing happens if there is none."""

    def delete_folder(self, folder: LakeUri, *, first: str = "") -> None:
        """Delete all that is below a folder; nothing happens if there is none.

        On a disk it goes in one step for readers, and what a killed process leaves of it goes when
        a folder beside it is deleted next. In a bucket files go one after the other, what is below
        the folder `first` in it before the rest, and the last name first.
        """

    def open_for_writing(
        self, file: LakeUri, *, durable: bool = False
    ) -> AbstractContextManager[Writing]:
        """Write a file of any size piece by piece, in bounded memory, in place of one of that name.

        It appears when the block ends, and never if that raises; with `durable` only when its
        content is, whatever the settings ask.
        """

    def make_folder(self, folder: LakeUri) -> None:
        """Make a folder, and those above it, where the store has folders."""

    def flush(self) -> None:
        """Return when all that was written so far is as durable as the store's settings ask."""

    def sync(self, file: LakeUri) -> None:
        """Return when one file is durable, whatever the settings ask.

        Raises:
            FileNotFoundError: there is no such file.
        """
