"""Where a lake is, for eyes that are not the product's: a folder or a bucket, through pyarrow."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import pyarrow.fs as pafs


@dataclass(frozen=True, slots=True)
class FileThere:
    """A file or an object."""

    path: str
    """Below the place's root."""

    size: int
    changed_at: float
    """`time.time`, of the disk's or the store's clock."""


@dataclass(frozen=True, slots=True)
class Place:
    """A root and how it is read."""

    files: pafs.FileSystem
    root: str

    def files_below(self, folder: str = "") -> list[FileThere]:
        """All files below a folder, at any depth; none if it is not there."""
        base = f"{self.root}/{folder}".rstrip("/")
        selector = pafs.FileSelector(base, recursive=True, allow_not_found=True)
        return [
            FileThere(
                one.path.removeprefix(self.root).lstrip("/"),
                one.size,
                one.mtime.timestamp() if one.mtime else 0.0,
            )
            for one in self.files.get_file_info(selector)
            if one.is_file
        ]

    def folders(self, folder: str) -> list[str]:
        """The folders in a folder; none if it is not there."""
        selector = pafs.FileSelector(self.full(folder), allow_not_found=True)
        found = self.files.get_file_info(selector)
        return [
            one.path.removeprefix(self.root).strip("/")
            for one in found
            if one.type is pafs.FileType.Directory
        ]

    def read(self, path: str) -> bytes:
        """What a file has.

        Raises:
            FileNotFoundError: there is none.
        """
        with self.files.open_input_stream(self.full(path)) as source:
            return bytes(source.read())

    def full(self, path: str) -> str:
        """As pyarrow names it."""
        return f"{self.root}/{path}"


def on_disk(folder: str) -> Place:
    """A folder of this machine."""
    return Place(pafs.LocalFileSystem(), folder.rstrip("/"))


def in_bucket(address: str, options: Mapping[str, str]) -> Place:
    """A folder of a bucket.

    Args:
        address: `s3://bucket/folder`.
        options: as a lake's settings have them, of the server that is to be asked.
    """
    parts = urlsplit(address)
    endpoint = urlsplit(options["aws_endpoint_url"])
    files = pafs.S3FileSystem(
        access_key=options["aws_access_key_id"],
        secret_key=options["aws_secret_access_key"],
        region=options["aws_region"],
        scheme=endpoint.scheme,
        endpoint_override=endpoint.netloc,
        force_virtual_addressing=False,
        connect_timeout=5,
        request_timeout=20,
    )
    return Place(files, f"{parts.netloc}{parts.path}".rstrip("/"))
