"""Where a table, a file or a log lies: below a folder of this machine, or in a bucket. Pure.

A file system and a bucket allow nearly any character in a name. Spark takes some of them for
patterns, and Spark and deltalake give addresses (`file:///…%20…`) where they were given paths; the
forms that they take and give are made and read here, and nobody else may put one together.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from lake_assets.errors import LakeError

LOCAL, S3, GCS, AZURE = "file", "s3", "gs", "az"

_KINDS = {"s3": S3, "s3a": S3, "gs": GCS, "az": AZURE, "abfs": AZURE, "abfss": AZURE}
"""By an address's scheme, the kind of place it means."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*")
"""A bucket, or an Azure container, `container@account.dfs.core.windows.net` with its account."""

_NO_NAME = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f]")
"""What is in no name below a folder: an empty part, `.`, `..`, a control character."""

_PLAIN = "/=:+,@~!$&'()*;"
"""What stands for itself in an address, beside letters, digits and `_.-`."""


def is_address(text: str) -> bool:
    """Whether a text is an address (`s3://…`, `file:/…`) and no path."""
    return _ADDRESS.match(text) is not None


@dataclass(frozen=True, slots=True)
class LakeUri:
    """One place; `/` goes to a name below it."""

    scheme: str
    """`LOCAL`, `S3`, `GCS` or `AZURE`."""

    bucket: str
    """Empty of a local one."""

    path: str
    """Of a local one absolute; of others the key, without a slash before it. Never encoded."""

    @classmethod
    def local(cls, path: Path) -> Self:
        """A folder or file of this machine.

        Raises:
            LakeError: the path is not absolute.
        """
        if not path.is_absolute():
            raise LakeError(str(path), "is no absolute path", "Write it from the root on")
        return cls(LOCAL, "", str(path))

    @classmethod
    def parse(cls, text: str) -> Self:
        """What a user wrote: an absolute path, or an address; nothing in it is encoded.

        Raises:
            LakeError: it is neither, or of a kind of store that is not known.
        """
        scheme = _ADDRESS.match(text)
        return cls.local(Path(text)) if scheme is None else cls._of(scheme[1], text)

    @classmethod
    def from_address(cls, address: str) -> Self:
        """What Spark or deltalake means by an address, encoded, or by a path without a scheme.

        Raises:
            LakeError: as `parse`.
        """
        scheme = _ADDRESS.match(address)
        if scheme is None:
            return cls.local(Path(address))
        if scheme[1].lower() == LOCAL:
            path = address[len(scheme[1]) + 1 :]
            below = path[2:].partition("/")[2] if path.startswith("//") else path
            return cls.local(Path("/", unquote(below)))
        return cls._of(scheme[1], unquote(address))

    @classmethod
    def _of(cls, scheme: str, text: str) -> Self:
        kind = _KINDS.get(scheme.lower())
        if kind is None:
            is_file = scheme.lower() == LOCAL
            raise LakeError(
                text,
                f"is an address of a kind that is not supported ({scheme}://…)",
                "Write the folder's path alone"
                if is_file
                else "Use a folder, s3://, gs:// or az://",
            )
        bucket, _, path = text.partition(":/")[2].removeprefix("/").partition("/")
        path = path.strip("/")
        if not _BUCKET.fullmatch(bucket) or (path and _NO_NAME.search(path)):
            fact = "is no address of a bucket and a path in it"
            raise LakeError(text, fact, f"Write {kind}://bucket/path, without `..` and empty parts")
        return cls(kind, bucket, path)

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, or mounted to it."""
        return self.scheme == LOCAL

    @property
    def name(self) -> str:
        """The last part of the path; the bucket's if there is none."""
        return self.path.rpartition("/")[2] or self.bucket

    @property
    def parent(self) -> "LakeUri":
        """One part up; the root of a disk or a bucket is its own."""
        above = self.path.rpartition("/")[0]
        return LakeUri(self.scheme, self.bucket, above or ("/" if self.is_local else ""))

    def __truediv__(self, relative: str) -> "LakeUri":
        """A file or folder below: its name, or several with slashes between, not encoded.

        Raises:
            LakeError: that is no name, or leads elsewhere than below.
        """
        if _NO_NAME.search(relative):
            fact = f"can have nothing below it that is called {relative!r}"
            raise LakeError(str(self), fact, "Use another name")
        is_root = self.path in {"", "/"}
        path = f"{self.path}{relative}" if is_root else f"{self.path}/{relative}"
        return LakeUri(self.scheme, self.bucket, path)

    def relative_to(self, above: "LakeUri") -> str:
        """The names from a place above to this one, with slashes between.

        Raises:
            ValueError: it is not below that place.
        """
        names = self.path.removeprefix(above.path).removeprefix("/")
        if above / names != self:
            raise ValueError(f"{self} is not below {above}")
        return names

    def __str__(self) -> str:
        """For people, and as `parse` takes it."""
        if self.is_local:
            return self.path
        scheme = "abfss" if "@" in self.bucket else self.scheme
        return f"{scheme}://{self.bucket}/{self.path}".removesuffix("/")

    def as_path(self) -> Path:
        """A local one as a path.

        Raises:
            LakeError: it is in a bucket.
        """
        if not self.is_local:
            fact = "is in a bucket, and a folder of this machine is needed"
            raise LakeError(str(self), fact, "Name a folder on a local or mounted disk")
        return Path(self.path)

    def overlaps(self, folder: Path) -> bool:
        """Whether a folder of this machine is in it, or it is in the folder, links followed."""
        if not self.is_local:
            return False
        own, other = self.as_path().resolve(), folder.resolve()
        return own.is_relative_to(other) or other.is_relative_to(own)

    def for_spark(self) -> str:
        """As Spark's readers take it, with `delta.table_paths.SPARK_OPTIONS`: never encoded.

        Raises:
            LakeError: it is in Azure, and its account is not known.
        """
        if self.is_local:
            return self.path
        if self.scheme == AZURE and "@" not in self.bucket:
            fact = "does not name its account, which Spark asks for"
            step = f"Write abfss://{self.bucket}@<account>.dfs.core.windows.net/{self.path}"
            raise LakeError(str(self), fact, step)
        # Not `abfss`, which takes no endpoint without TLS: a property says whether TLS is used.
        scheme = {S3: "s3a", AZURE: "abfs"}.get(self.scheme, self.scheme)
        return f"{scheme}://{self.bucket}/{self.path}"

    def for_deltalake(self) -> str:
        """As deltalake takes it: a local one as a path, another one as an encoded address."""
        if self.is_local:
            return self.path
        scheme = "abfss" if "@" in self.bucket else self.scheme
        return f"{scheme}://{self.bucket}/{quote(self.path, safe=_PLAIN)}"

    def for_catalogs(self) -> str:
        """As other engines take it: an encoded address, `file:///…` of a local one."""
        return Path(self.path).as_uri() if self.is_local else self.for_deltalake()
