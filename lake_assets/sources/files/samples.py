"""Whether a file begins with the bytes that were counted: told by a digest of some of them.

A file that grew has them still; one that was rewritten with more has others, in its begin or where
it ended.
"""

import hashlib
from pathlib import Path

_BYTES = 64 * 1024
"""Of the begin, and of the end."""


def sample_of(path: str, size: int) -> str:
    """A digest of a file's first bytes, by the begin and the end of these.

    Args:
        path: where the file is.
        size: how many bytes; it may have more.

    Raises:
        OSError: the disk does not give it, or it is not there.
    """
    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        digest.update(file.read(min(size, _BYTES)))
        if size > _BYTES:
            begin = max(_BYTES, size - _BYTES)
            file.seek(begin)
            digest.update(file.read(size - begin))
    return digest.hexdigest()
