"""What an API's answer means for a call: delivered, to be tried again, or given up. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

_AGAIN = frozenset({408, 425, 429})
"""Of the statuses that blame the request, those by which the same one may pass later."""

_LONGEST_PAUSE_S = 86_400.0
"""Of what an API asks to wait; more is a mistake of its clock, and this one is tried after it."""


class Verdict(StrEnum):
    """What is done about a call."""

    DELIVERED = "delivered"
    AGAIN = "again"  # later, the same
    GIVEN_UP = "given up"  # the same would be refused again


def verdict_of(status: int) -> Verdict:
    """What a status means: any of 2xx delivers; 408, 425, 429 and 5xx may pass; others do not."""
    if 200 <= status < 300:  # noqa: PLR2004 - HTTP's classes
        return Verdict.DELIVERED
    return Verdict.AGAIN if status in _AGAIN or status >= 500 else Verdict.GIVEN_UP  # noqa: PLR2004


def asked_pause_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that `Retry-After` asks to wait, of a number or a date; None if it asks nothing.

    Args:
        headers: of the answer, by names in lower case.
        now: with a time zone; that of the answer's `Date` is better, and taken if it is there.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:12]), _LONGEST_PAUSE_S)
    at = _instant(text)
    if at is None:
        return None
    since = _instant(headers.get("date", "")) or now
    return min(max(0.0, (at - since).total_seconds()), _LONGEST_PAUSE_S)


def _instant(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
