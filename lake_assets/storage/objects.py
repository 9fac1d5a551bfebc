"""The store in a bucket of S3, Google's or Azure's, or of whoever speaks as one of them: obstore's.

obstore is the Rust library through which deltalake itself reads and writes buckets, so both mean
the same by a name and by an option. A bucket keeps what it has acknowledged: nothing is flushed.
"""

import io
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Self

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import S3, LakeUri
from lake_assets.storage.object_errors import ensure_bucket, told
from lake_assets.storage.open_bucket import Bucket, for_deltalake, open_bucket
from lake_assets.storage.store import STAGED, FileStat, Readable, Writing

_PART_BYTES = 8 * 1024 * 1024
"""Of a file that is written piece by piece, which a bucket takes as up to 10,000 parts: 80 GB. What
is written is held until a part is full, so a writer takes up to `_PARTS` + 1 of it."""

_PARTS = 2
"""Parts on their way at once."""

_READ_BYTES = 1024 * 1024
"""That a reader asks for at least: each request costs as much as about so many bytes."""

_LISTED = 1_000
"""Names of a bucket in one answer."""

_COPIES, _COPY_TIMEOUT = 16, "600s"
"""Files at once that a store copies by itself, and how long a large one may take it."""

_ONE_BY_ONE = {"aws_disable_bulk_delete": "true"}
_NOT_KNOWN = "501 Not Implemented"
"""What a server answers that has not all of S3."""


class ObjectStore:
    """Keeps `storage.store.Store` in the bucket of `root`."""

    def __init__(self, root: LakeUri, options: Mapping[str, str]) -> None:
        """Open the store; nothing is asked of it yet.

        Args:
            root: in the bucket.
            options: as deltalake takes them (`aws_access_key_id`, `aws_endpoint`, `aws_allow_http`,
                …), and `max_retries` and `retry_timeout` (`60` or `60s`). What is not there is
                looked for where obstore looks: in the service of the machine that it runs on.

        Raises:
            SettingsError: an option is not known, or has a value that cannot be used.
        """
        self.root = root
        self.options = for_deltalake(options)
        self._store = open_bucket(root, options)
        self._one_by_one: Bucket | None = None

    def below(self, folder: LakeUri) -> Self:
        """As `Store` has it."""
        return type(self)(folder, self.options)

    def put_if_absent(self, file: LakeUri, content: bytes) -> bool:
        """As `Store` has it: a put that the store makes only where there is no such file."""
        key = self._key(file)
        with told(file, "written"):
            try:
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def get(self, file: LakeUri) -> bytes:
        """As `Store` has it."""
        key = self._key(file)
        with told(file, "read"):
            return bytes(obstore.get(self._store, key).bytes())

    @contextmanager
    def open_for_reading(self, file: LakeUri) -> Iterator[Readable]:
        """As `Store` has it: what is read comes in ranges, and ahead of the reader."""
        key = self._key(file)
        with told(file, "read"):
            reader = obstore.open_reader(self._store, key, buffer_size=_READ_BYTES)
        with io.BufferedReader(_Download(file, reader)) as stream:
            yield stream

    def stat(self, file: LakeUri) -> FileStat | None:
        """As `Store` has it; a bucket that is not there has no such file, either."""
        key = self._key(file)
        with told(file, "read"):
            try:
                known = obstore.head(self._store, key)
            except FileNotFoundError:
                return None
        # Whoever puts the same content again gets the same etag: the time tells them apart.
        modified_ns = int(known["last_modified"].timestamp() * 1e9)
        tag = f"{known['e_tag']}-{known['version']}-{modified_ns}"
        return FileStat(known["size"], modified_ns, tag)

    def list_from(self, folder: LakeUri, start: str = "") -> Iterator[str]:
        """As `Store` has it; what is deeper below the folder is read, too, and left out.

        Raises:
            LakeError: also, the store does not list in order (S3's directory buckets).
        """
        key = self._key(folder)
        # Lists begin after a name: from the one that comes before all that begin as this one does.
        offset = f"{key}/{start[:-1]}".lstrip("/") if start[:-1] else None
        last = ""
        with told(folder, "listed"):
            for found in obstore.list(self._store, key or None, offset=offset, chunk_size=_LISTED):
                keys = [last, *(one["path"] for one in found)]
                if any(before > after for before, after in pairwise(keys)):
                    fact = "is not listed in the order of names"
                    raise LakeError(str(folder), fact, "Use a general purpose bucket")
                last = keys[-1]
                for name in (one[len(key) :].removeprefix("/") for one in keys[1:]):
                    if name >= start and "/" not in name and not name.endswith(STAGED):
                        yield name

    def staged(self, folder: LakeUri) -> list[str]:  # noqa: ARG002 - there are none
        """As `Store` has it: a file appears when all of its parts are there."""
        return []

    def folders(self, folder: LakeUri) -> list[str]:
        """As `Store` has it."""
        key = self._key(folder)
        with told(folder, "listed"):
            listed = obstore.list_with_delimiter(self._store, key or None)
        return sorted(prefix.rpartition("/")[2] for prefix in listed["common_prefixes"])

    def delete(self, file: LakeUri) -> None:
        """As `Store` has it."""
        key = self._key(file)
        with told(file, "deleted"):
            try:
                self._delete(key)
            except FileNotFoundError as problem:
                ensure_bucket(file, problem)

    def delete_folder(self, folder: LakeUri, *, first: str = "") -> None:
        """As `Store` has it, a thousand files a request where the store takes them so."""
        key = self._key(folder)
        with told(folder, "deleted"):
            listed = obstore.list(self._store, key or None, chunk_size=_LISTED)
            names = [one["path"] for found in listed for one in found]
            begins = self._key(folder / first) + "/" if first else ""
            ordered = sorted(names, reverse=True)
            ordered.sort(key=lambda name: not name.startswith(begins))
            for start in range(0, len(ordered), _LISTED):
                self._delete(ordered[start : start + _LISTED])

    def copy_folder(self, folder: LakeUri, to: LakeUri, *, last: str = "") -> None:
        """Have the store copy all that is below a folder, what has the names there giving way.

        What is below the folder `last` in it comes when the rest is there, the first name first.

        Raises:
            LakeError: the bucket cannot be read or written; or a file is larger than a store copies
                by itself (S3: 5 GB).
        """
        bucket = open_bucket(self.root, {"timeout": _COPY_TIMEOUT, **self.options})
        key, new = self._key(folder), self._key(to)
        ends = f"{self._key(folder / last)}/" if last else "/"
        with told(folder, "copied"):
            listed = obstore.list(self._store, key or None, chunk_size=_LISTED)
            names = sorted(one["path"] for found in listed for one in found)

            def copy(name: str) -> None:
                obstore.copy(bucket, name, f"{new}{name[len(key) :]}")

            with ThreadPoolExecutor(_COPIES) as pool:
                list(pool.map(copy, (name for name in names if not name.startswith(ends))))
            for name in names:
                if name.startswith(ends):
                    copy(name)

    def _delete(self, keys: str | list[str]) -> None:
        """Delete them in one request, or one by one where the store knows no such request."""
        if self._one_by_one is None:
            try:
                obstore.delete(self._store, keys)
            except BaseError as problem:
                if self.root.scheme != S3 or _NOT_KNOWN not in str(problem):
                    raise
                self._one_by_one = open_bucket(self.root, {**self.options, **_ONE_BY_ONE})
        if self._one_by_one is not None:
            obstore.delete(self._one_by_one, keys)

    @contextmanager
    def open_for_writing(self, file: LakeUri, *, durable: bool = False) -> Iterator[Writing]:  # noqa: ARG002 - each is
        """As `Store` has it, in parts; those of a writer that died are never seen.

        A bucket keeps them until a rule of its life cycle deletes unfinished uploads: set one.
        """
        key = self._key(file)
        with told(file, "written"):
            writer = obstore.open_writer(
                self._store, key, buffer_size=_PART_BYTES, max_concurrency=_PARTS
            )
        yield _Upload(file, writer)
        # Not where the block raised: closing is what makes the file appear.
        with told(file, "written"):
            writer.close()

    def make_folder(self, folder: LakeUri) -> None:
        """As `Store` has it: a bucket has no folders."""

    def flush(self) -> None:
        """As `Store` has it: nothing is left to do."""

    def sync(self, file: LakeUri) -> None:
        """As `Store` has it."""
        if self.stat(file) is None:
            raise FileNotFoundError(str(file))

    def _key(self, file: LakeUri) -> str:
        if (file.scheme, file.bucket) != (self.root.scheme, self.root.bucket):
            raise LakeError(str(file), f"is not in the bucket of {self.root}", "Open its own store")
        return file.path


class _Upload(io.RawIOBase):
    """What is written to it goes into the bucket's file; closing it changes nothing."""

    def __init__(self, file: LakeUri, writer: "obstore.WritableFile") -> None:
        super().__init__()
        self._file = file
        self._writer = writer

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - whatever has bytes
        with told(self._file, "written"):
            return self._writer.write(memoryview(data).cast("B"))


class _Download(io.RawIOBase):
    """A bucket's file, of which any part can be read."""

    def __init__(self, file: LakeUri, reader: "obstore.ReadableFile") -> None:
        super().__init__()
        self._file = file
        self._reader = reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with told(self._file, "read"):
            return self._reader.seek(offset, whence)

    def tell(self) -> int:
        return self._reader.tell()

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - whatever takes bytes
        with told(self._file, "read"):
            data = self._reader.read(len(buffer))
        buffer[: len(data)] = memoryview(data)
        return len(data)
