"""Telling the disk's trouble from others': a lake that is full or read-only may be written later.

Errors come from Python, from Arrow, from deltalake and, as text, from Spark's JVM and workers.
"""

import errno
import os

from lake_assets.errors import causes_of

_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)

_WORDS = {os.strerror(number): number for number in _PASSING}


def disk_trouble(problem: BaseException) -> str | None:
    """Why the disk takes no data, if that is the cause of an error; None if it is not."""
    for cause in causes_of(problem):
        number = getattr(cause, "errno", None)
        if number in _PASSING:
            return _told(number)
        phrase = next((words for words in _WORDS if words in str(cause)), None)
        if phrase is not None:
            return _told(_WORDS[phrase])
    return None


def _told(number: int) -> str:
    return f"the disk takes no data ({os.strerror(number).lower()})"
