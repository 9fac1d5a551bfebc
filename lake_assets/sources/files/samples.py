"""Whether a file begins with the bytes that were counted: told by a digest of some of them.

A file that grew has them still; one that was rewritten with more has others, in its begin or where
it ended.
"""

import hashlib
import io

from lake_assets.sources.files.opening import Opener

_BYTES = 64 * 1024
"""Of the begin, and of the end."""


def tells_all(size: int) -> bool:
    """Whether a sample is one of all bytes of a file of that size."""
    return size <= 2 * _BYTES


def sample_of(file: Opener, size: int) -> str:
    """A digest of a file's first bytes, by the begin and the end of these.

    Args:
        file: opens it.
        size: how many bytes; it may have more.

    Raises:
        OSError: as `Opener` has it; so of its other errors.
    """
    digest = hashlib.blake2b(digest_size=16)
    with file() as raw:
        stream = io.BufferedReader(raw, _BYTES)
        digest.update(stream.read(min(size, _BYTES)))
        if size > _BYTES:
            begin = max(_BYTES, size - _BYTES)
            stream.seek(begin)
            digest.update(stream.read(size - begin))
    return digest.hexdigest()
