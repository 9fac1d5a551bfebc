"""Copies of files in a bucket's archive: which they are, and that there is a whole one.

That the original goes then is `sources.files.bucket`'s.
"""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from lake_assets.model.lake_uri import LakeUri
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.opening import BadFileError, Opener
from lake_assets.sources.files.samples import sample_of
from lake_assets.storage.bucket_files import (
    BucketFiles,
    ColdFileError,
    ObjectSeen,
    OtherContentError,
)


def below(place: LakeUri, name: str) -> str:
    """The key of a name below a prefix."""
    return f"{place.path}/{name}" if place.path else name


class BucketArchive:
    """The prefix that files of a feed are moved to. Thread-safe, as far as `open_file` is.

    Methods raise LakeError where the bucket refuses.
    """

    def __init__(
        self,
        address: str | None,
        files: BucketFiles,
        open_file: Callable[[ObjectSeen], Opener],
    ) -> None:
        """Know where it is.

        Args:
            address: of the prefix; None where files are not archived.
            files: of the bucket.
            open_file: gives what opens one of them.
        """
        self._root = None if address is None else LakeUri.parse(address)
        self._files, self._open = files, open_file
        self._claimed, self._lock = set[str](), Lock()

    def keys(self, entry: Entry) -> tuple[str, ...]:
        """Keys that a file may have there: its name's, or that and its first offset."""
        if self._root is None:
            return ()
        plain = below(self._root, entry.file.name)
        return plain, f"{plain}.{entry.first}"

    def is_of(self, entry: Entry, seen: ObjectSeen) -> bool:
        """Whether what is under one of its keys is the file: of its size, and its tag or sample."""
        if seen.size != entry.file.size:
            return False
        if self._files.are_alike(seen.etag, entry.file.etag):
            return True
        try:
            return bool(entry.sample) and sample_of(self._open(seen), seen.size) == entry.sample
        except (FileNotFoundError, BadFileError):
            return False

    def ensure(self, entry: Entry, seen: ObjectSeen) -> None:
        """Have a copy of a file.

        Raises:
            ColdFileError: it is in a class of storage that is not copied.
            FileExistsError: other files have both of its names there.
            FileNotFoundError: it went, or is another by now.
            OSError: what was copied is not what is there now.
        """
        names = self.keys(entry)
        try:
            for key in names:
                with self._claim(key) as is_free:
                    if is_free and self._has(entry, seen, key):
                        return
        except OtherContentError as problem:
            words = "was written while it was archived"
            raise FileNotFoundError(errno.ENOENT, words, entry.file.name) from problem
        raise FileExistsError(errno.EEXIST, "is there already, and another file", names[-1])

    @contextmanager
    def _claim(self, key: str) -> Iterator[bool]:
        """Whether no other file is on its way to a key: `a.7`, or `a` whose first offset is 7."""
        with self._lock:
            is_free = key not in self._claimed
            self._claimed.add(key)
        try:
            yield is_free
        finally:
            if is_free:
                with self._lock:
                    self._claimed.remove(key)

    def _has(self, entry: Entry, seen: ObjectSeen, key: str) -> bool:
        """Whether a file's copy is under a key, where it is made if nothing is."""
        there = self._files.stat(key)
        if there is not None:
            return self._is_same(seen, there)
        self._copy(entry, seen, key)
        return True

    def _copy(self, entry: Entry, seen: ObjectSeen, key: str) -> None:
        """Copy, and look: others may archive there, and Azure may copy after it has answered."""
        self._files.copy(seen, key)
        there = self._files.stat(key)
        if there is None or not (
            self.is_of(entry, there) if entry.sample else self._is_same(seen, there)
        ):
            raise OSError(errno.EIO, "is not what was copied there", key)

    def _is_same(self, seen: ObjectSeen, there: ObjectSeen) -> bool:
        try:
            return self._files.is_same(seen, there)
        except ColdFileError:
            return False  # nobody can tell of either: under another name nothing is lost
