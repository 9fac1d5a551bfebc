"""A file as a look at its place has it. Opens nothing."""

from typing import NamedTuple


class Found(NamedTuple):
    """A file as it was when it was looked at."""

    name: str
    """Below the folder, or the prefix, of the source, with `/` between folders."""

    size: int
    """Bytes."""

    modified_ns: int
    """Nanoseconds since 1970, by the clock of where it is."""

    etag: str = ""
    """What a bucket calls this content; empty of a file on a disk."""

    def is_as(self, other: "Found") -> bool:
        """Whether another look saw the same content under the same name.

        A bucket's own tag says so, where there is one: a copy of the same content is the same.
        """
        if self.etag and other.etag:
            return self[:2] == other[:2] and self.etag == other.etag
        return self[:3] == other[:3]
