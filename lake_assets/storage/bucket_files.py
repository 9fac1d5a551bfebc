"""Files of a bucket that others put there: listed with sizes, read as they were seen, copied.

A lake's own files are `objects`'. Whatever a bucket answers is a `LakeError`, but for a file that
is not there, is another by now, or is in a class of storage that is not read.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import obstore
from obstore.exceptions import BaseError, PreconditionError

from lake_assets.model.lake_uri import S3, LakeUri
from lake_assets.storage.object_errors import ensure_bucket, told
from lake_assets.storage.open_bucket import Bucket, open_bucket

_OPEN = 32
"""Buckets that stay open in a process, with their connections and the credentials that a machine's
role gave: each task of Spark's opens its own again, which would ask for these anew."""

_COPY_TIMEOUT = "600s"
"""For S3's answer to a copy, unless `timeout` is among the options: gigabytes take it a minute."""

_LISTED = 1_000
"""Names of a bucket in one answer."""

COPIED_BYTES = 5 * 1024**3
"""Of a file that S3 copies by itself; a larger one goes through this machine."""

_PIECE_BYTES = 8 * 1024 * 1024
"""Of a file that goes through this machine, and of two that are compared."""

_PART_BYTES, _MOST_PARTS = 8 * 1024 * 1024, 10_000
"""Bytes of a part of a file that goes through here, at least, and parts that S3 takes."""

_COLD = ("InvalidObjectState", "ObjectNotInActiveTier")
"""What S3 answers of a file in Glacier's classes that is read, or copied."""


class ObjectSeen(NamedTuple):
    """A file of a bucket as it was seen."""

    key: str
    size: int
    modified_s: int
    """When it was put, in seconds since 1970: a list may tell more of it than a look does."""

    etag: str
    """Another one for other content, without quotes; empty where the bucket gives none."""


class OtherContentError(Exception):
    """A file is another than the one that was seen."""


class ColdFileError(Exception):
    """A file is in a class of storage that nothing is read from, before it is restored."""


class BucketFiles:
    """The files of one bucket. Thread-safe."""

    def __init__(self, root: LakeUri, options: Mapping[str, str]) -> None:
        """Open it; nothing is asked yet. Arguments and errors are those of `open_bucket`."""
        self._root = root
        # Files are deleted one by one, which is all that some servers know of S3.
        usual = {"aws_disable_bulk_delete": "true"} if root.scheme == S3 else {}
        self._options = {**usual, **options}
        self._bucket = _opened(root, tuple(self._options.items()))

    @property
    def _patient(self) -> Bucket:
        """The bucket for what it takes time to answer."""
        return _opened(self._root, (("timeout", _COPY_TIMEOUT), *self._options.items()))

    def pages(
        self, prefix: str, *, after: str = "", most: int | None = None
    ) -> Iterator[list[ObjectSeen]]:
        """Files below a prefix, page by page, in the order in which the bucket tells them.

        Args:
            prefix: without a slash at its end; empty for all.
            after: a key; only greater ones are wanted, and asked for where a bucket can be.
            most: files of a page; by default as many as a bucket tells at once.
        """
        with told(self._place(prefix), "listed"):
            listed = obstore.list(
                self._bucket, prefix or None, offset=after or None, chunk_size=most or _LISTED
            )
            for page in listed:
                yield [_seen(one) for one in page]

    def stat(self, key: str) -> ObjectSeen | None:
        """A file as it is now; None if there is none.

        Raises:
            LakeError: also, the bucket is not there.
        """
        with told(self._place(key), "looked at"):
            try:
                return _seen(obstore.head(self._bucket, key))
            except FileNotFoundError as problem:
                ensure_bucket(self._place(key), problem)
                return None

    def read(self, seen: ObjectSeen, start: int, end: int) -> bytes:
        """Bytes of a file as it was seen, from one to before another, which both are in it.

        Raises:
            FileNotFoundError: it is not there any more.
            OtherContentError: it is another by now.
            ColdFileError: it must be restored first.
        """
        place = self._place(seen.key)
        options: obstore.GetOptions = {"range": (start, end)}
        if seen.etag:
            options["if_match"] = f'"{seen.etag}"'
        with told(place, "read"):
            try:
                got = obstore.get(self._bucket, seen.key, options=options)
                if seen.etag and _etag(got.meta["e_tag"]) != seen.etag:
                    raise OtherContentError  # of a store that does not know If-Match
                content = bytes(got.bytes())
            except PreconditionError as problem:
                raise OtherContentError from problem
            except BaseError as problem:
                _ensure_not_cold(problem)
                raise
        if len(content) != end - start:
            raise OtherContentError
        return content

    def are_alike(self, tag: str, other: str) -> bool:
        """Whether the tags of two files say that their content is the same.

        S3's do, being made of it; others' are numbers of a time or a version.
        """
        return self._root.scheme == S3 and bool(tag) and tag == other

    def is_same(self, one: ObjectSeen, other: ObjectSeen) -> bool:
        """Whether two files have the same content, which is read if nothing else tells.

        Raises as `read`.
        """
        if one.size != other.size:
            return False
        if self.are_alike(one.etag, other.etag):
            return True
        return all(mine == theirs for mine, theirs in zip(self._all(one), self._all(other)))  # noqa: B905 - of one size

    def copy(self, seen: ObjectSeen, key: str) -> None:
        """Put a copy of a file there, whole, in place of what is there.

        Raises as `read`; what the copy is of, if somebody writes the file meanwhile, is not said.
        """
        with told(self._place(seen.key), "copied"):
            if seen.size > COPIED_BYTES:
                self._write(key, seen)
                return
            try:
                obstore.copy(self._patient, seen.key, key)
            except BaseError as problem:
                _ensure_not_cold(problem)
                raise

    def delete(self, key: str) -> None:
        """Delete a file; nothing happens if there is none."""
        with told(self._place(key), "deleted"):
            try:
                obstore.delete(self._bucket, key)
            except FileNotFoundError as problem:
                ensure_bucket(self._place(key), problem)

    def _write(self, key: str, seen: ObjectSeen) -> None:
        """Put a copy of a file piece by piece; where one cannot be had, nothing is there."""
        part = max(_PART_BYTES, -(-seen.size // _MOST_PARTS))
        writer = obstore.open_writer(self._bucket, key, buffer_size=part)
        for piece in self._all(seen):
            writer.write(piece)
        writer.close()

    def _all(self, seen: ObjectSeen) -> Iterator[bytes]:
        """A file, piece by piece."""
        for start in range(0, seen.size, _PIECE_BYTES):
            yield self.read(seen, start, min(seen.size, start + _PIECE_BYTES))

    def _place(self, key: str) -> LakeUri:
        return LakeUri(self._root.scheme, self._root.bucket, key)


@lru_cache(maxsize=_OPEN)
def _opened(root: LakeUri, options: tuple[tuple[str, str], ...]) -> Bucket:
    return open_bucket(root, dict(options), is_foreign=True)


def _seen(one: "obstore.ObjectMeta") -> ObjectSeen:
    modified_s = int(one["last_modified"].timestamp())
    return ObjectSeen(one["path"], one["size"], modified_s, _etag(one["e_tag"]))


def _ensure_not_cold(problem: BaseError) -> None:
    if any(word in str(problem) for word in _COLD):
        raise ColdFileError from problem


def _etag(told: str | None) -> str:
    """A tag without its quotes, which Azure's lists leave out; none that says nothing of bytes."""
    return "" if told is None or told.startswith("W/") else told.strip('"')
