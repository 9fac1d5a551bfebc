"""One small file of a bucket that is replaced only as long as it is what was read.

Of any number of processes that read it and write it anew, wherever they run, one succeeds: what a
lock is on a disk. Files of a lake that are not shared so are `objects`'.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError

from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.object_errors import ensure_bucket, told
from lake_assets.storage.open_bucket import open_bucket

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult, UpdateVersion


class ConditionalFile:
    """A file and the version of it that was read last; of one thread."""

    def __init__(self, file: LakeUri, options: Mapping[str, str]) -> None:
        """Nothing is asked yet.

        Raises:
            SettingsError: an option cannot be used.
        """
        self._file = file
        self._bucket = open_bucket(file, options)
        self._known: UpdateVersion | None = None

    def __str__(self) -> str:
        """For messages."""
        return str(self._file)

    def read(self) -> bytes | None:
        """What it has, which the next `write` is to replace; None if it is not there.

        Raises:
            LakeError: the bucket cannot be read.
        """
        try:
            with told(self._file, "read"):
                found = obstore.get(self._bucket, self._file.path)
                content = bytes(found.bytes())
        except FileNotFoundError:
            self._known = None
            return None
        self._known = version_of(found.meta)
        return content

    def write(self, content: bytes) -> bool:
        """Replace what was read last, or make the file where there was none.

        Returns:
            False if another one has replaced or made it since, and nothing happened.

        Raises:
            LakeError: the bucket cannot be written.
        """
        with told(self._file, "written"):
            try:
                put = obstore.put(
                    self._bucket,
                    self._file.path,
                    content,
                    mode="create" if self._known is None else self._known,
                    use_multipart=False,
                )
            except (AlreadyExistsError, PreconditionError, FileNotFoundError) as problem:
                if isinstance(problem, FileNotFoundError):
                    ensure_bucket(self._file, problem)
                put = None
        if put is None:
            # Where the answer to our own was lost, asking again found our own.
            return self.read() == content
        self._known = version_of(put)
        return True


def version_of(known: "ObjectMeta | PutResult") -> "UpdateVersion":
    """What a bucket calls a version of a file: an etag, and with some a number or a name.

    Args:
        known: of a file that was read or put.
    """
    named = {"e_tag": known["e_tag"], "version": known["version"]}
    return cast("UpdateVersion", {name: value for name, value in named.items() if value})
