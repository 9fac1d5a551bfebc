"""A prefix of a bucket as a place of files: `place.FilePlace`, over obstore.

What is declared and what a bucket answers become names below the prefix and errors of the source.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import ClassVar

from pydantic import SecretStr

from lake_assets.errors import LakeError, NoBucketError, SourceError, SourceNotFoundError
from lake_assets.model.files_source import FilesSource
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.load import secret_of
from lake_assets.settings.secrets import Secrets
from lake_assets.sources.files.bucket_ahead import Read, ReadAhead
from lake_assets.sources.files.bucket_archive import BucketArchive, below
from lake_assets.sources.files.bucket_stream import BucketStream
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.opening import Opener
from lake_assets.sources.files.place import InOrder, Present
from lake_assets.sources.files.samples import tells_all
from lake_assets.storage.bucket_files import (
    BucketFiles,
    ColdFileError,
    ObjectSeen,
    OtherContentError,
)

_LOG = logging.getLogger(__name__)

_KNOWN_EMPTY = 100_000
"""Files without a byte that are remembered: of each is asked once whether it is one."""


class Bucket:
    """The prefix that a source declares."""

    leaves_at_once: ClassVar[int] = 16

    def __init__(
        self, source: FilesSource, look_up: Callable[[str], SecretStr] = secret_of
    ) -> None:
        """Know where it is, and who asks; nothing is asked yet.

        Args:
            source: what is declared.
            look_up: knows secrets by their variables.

        Raises:
            SettingsError: a secret is not there, or an option cannot be used.
        """
        self._source, self._secrets = source, Secrets(look_up)
        secret = {name: self._secrets.value(one) for name, one in source.secrets.items()}
        self._options = {**source.options, **secret}
        self._root = LakeUri.parse(source.path)
        self._files = BucketFiles(self._root, self._options)
        self._ahead = ReadAhead(self._read)
        self._archive = BucketArchive(source.archive, self._files, self._opener)
        self._others = set[ObjectSeen]()
        self._empty: dict[ObjectSeen, bool] = {}

    def ensure(self, *, timeout_s: float | None = None) -> None:
        """As `FilePlace` has it: a prefix that nothing is below is one, too."""
        files = self._files
        if timeout_s is not None:
            soon = {"timeout": f"{timeout_s}s", "connect_timeout": f"{timeout_s}s"}
            patience = {"max_retries": "1", "retry_timeout": f"{timeout_s}"}
            files = BucketFiles(self._root, {**self._options, **soon, **patience})
        with self._asking():
            next(files.pages(self._root.path, most=1), None)

    def ensure_all(self) -> None:
        """As `FilePlace` has it: the archive is in the same bucket."""
        self.ensure()

    def files(self) -> Iterator[Found]:
        """As `FilePlace` has it: a request for a thousand names, also of those not read."""
        return self._listed("")

    def files_after(self, last: str, most: int) -> InOrder:
        """As `FilePlace` has it; names up to the last one are not asked for.

        Raises:
            SourceError: also, the bucket does not list in order (S3's directory buckets).
        """
        found = list(islice(self._listed(last, in_order=True), most))
        return InOrder(files=iter(found), is_last=len(found) < most)

    def look(self, name: str) -> Found | None:
        """As `FilePlace` has it."""
        seen = self._stat(self._key(name))
        return None if seen is None else _found(seen, name)

    def opener(self, file: Found) -> Opener:
        """As `FilePlace` has it: ranges of just that content are asked for."""
        return self._opener(self._seen(file))

    def read_ahead(self, files: Sequence[Found]) -> None:
        """As `FilePlace` has it: small ones are asked for, some at once."""
        self._ahead.ask([self._seen(file) for file in files])

    def is_still(self, file: Found) -> bool:
        """As `FilePlace` has it: nothing but content of that tag was read, or that was noticed."""
        if file.etag and file.size:
            return self._seen(file) not in self._others
        now = self.look(file.name)
        return now is not None and now.is_as(file)

    def find(self, entry: Entry) -> Present | None:
        """As `FilePlace` has it: an archived one has its size, and its tag or its sample."""
        read = self._ahead.take(self._seen(entry.file))
        if read is not None and self._is_there(entry.file, read):
            opener = partial(BucketStream, self._seen(entry.file), entry.file.name, read)
            return Present(size=entry.file.size, is_as_found=True, open=opener)
        now = self.look(entry.file.name)
        if now is not None and now.is_as(entry.file):
            return Present(size=now.size, is_as_found=True, open=self.opener(now))
        for key in self._archive.keys(entry):
            seen = self._stat(key)
            if seen is not None and self._archive.is_of(entry, seen):
                return Present(size=seen.size, is_as_found=True, open=self._opener(seen))
        if now is None:
            return None
        # Encrypted anew, or put into another class of storage by a copy, it has another tag.
        is_same = tells_all(now.size) and self._archive.is_of(entry, self._seen(now))
        return Present(size=now.size, is_as_found=is_same, open=self.opener(now))

    def begin_archive(self) -> None:
        """As `FilePlace` has it: a prefix needs no making."""

    def leave(self, entry: Entry, *, makes_archive: bool) -> None:  # noqa: ARG002 - as above
        """As `FilePlace` has it: a copy that is whole, and then the file goes.

        A kill between the two leaves both, and the next call finds the copy and does not make
        another. A file that is written in the moment between the last look and the deletion is
        lost, as long as the bucket keeps no versions. One in cold storage stays.
        """
        name, key = entry.file.name, self._key(entry.file.name)
        now = self.look(name)
        if now is None:
            self.ensure()  # or the bucket is what is not there
            return
        if not now.is_as(entry.file):
            return
        if self._source.archive is None:
            if not entry.problem:  # nothing of one that could not be read is in bronze
                with self._asking():
                    self._files.delete(key)
            return
        try:
            with self._asking():
                self._archive.ensure(entry, self._seen(now))
        except ColdFileError:
            _LOG.warning("file %r stays: it is in a class of storage that is not copied", name)
            return
        now = self.look(name)
        if now is not None and now.is_as(entry.file):
            with self._asking():
                self._files.delete(key)

    def _is_there(self, file: Found, read: Read) -> bool:
        """Whether a file that was asked for came as it was found."""
        try:
            return len(read(self._seen(file), 0, file.size)) == file.size
        except (FileNotFoundError, OtherContentError, ColdFileError):
            return False

    def _listed(self, last: str, *, in_order: bool = False) -> Iterator[Found]:
        after, begins = (self._key(last) if last else ""), len(below(self._root, ""))
        before = after
        with self._asking():
            for page in self._files.pages(self._root.path, after=after):
                for seen in page:
                    name = seen.key[begins:]
                    if in_order:
                        self._ensure_order(before, seen)
                        before = max(before, seen.key)
                    # The mark of the prefix itself has no name below it.
                    if name and self._source.matches(name) and self._is_file(seen):
                        yield _found(seen, name)

    def _ensure_order(self, before: str, seen: ObjectSeen) -> None:
        # What has no byte may be a mark of a folder, `a/`, which comes after `a-b` as `a`.
        key = seen.key if seen.size else f"{seen.key}/"
        if key < before:
            fact = "is not listed in the order of names, which `discovery: ordered` needs"
            raise SourceError(str(self._root), fact, "Use a general purpose bucket, or `list`")

    def _is_file(self, seen: ObjectSeen) -> bool:
        """Whether a name without a byte is a file: a mark of a folder (`a/`) is listed as `a`.

        There may be a file `a` as well, which is another.
        """
        if seen.size:
            return True
        known = self._empty.get(seen)
        if known is None:
            if len(self._empty) >= _KNOWN_EMPTY:
                self._empty.clear()
            known = self._empty[seen] = self._stat(seen.key) == seen
        return known

    def _stat(self, key: str) -> ObjectSeen | None:
        with self._asking():
            return self._files.stat(key)

    def _opener(self, seen: ObjectSeen) -> Opener:
        return partial(BucketStream, seen, seen.key, self._ahead.take(seen) or self._read)

    def _read(self, seen: ObjectSeen, start: int, end: int) -> bytes:
        with self._asking():
            try:
                return self._files.read(seen, start, end)
            except OtherContentError:
                self._others.add(seen)
                raise

    def _seen(self, file: Found) -> ObjectSeen:
        return ObjectSeen(self._key(file.name), file.size, file.modified_ns // 10**9, file.etag)

    def _key(self, name: str) -> str:
        return below(self._root, name)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """What a bucket refuses, as the source's error; without our secrets."""
        try:
            yield
        except LakeError as problem:
            fact, step = self._secrets.masked(problem.fact), problem.next_step
            kind = SourceNotFoundError if isinstance(problem, NoBucketError) else SourceError
            raise kind(problem.thing, fact, step) from None


def _found(seen: ObjectSeen, name: str) -> Found:
    return Found(name, seen.size, seen.modified_s * 10**9, seen.etag)
