"""Which of the rows that were read are new: by key and watermark, and by what they hold. Pure.

A row that landed with the same key and watermark is the same, unless a column that both have holds
something else: a table may get columns meanwhile, and a clock may be too coarse for two changes.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lake_assets.errors import SourceError
from lake_assets.model.postgres_source import PostgresSource


class Row(NamedTuple):
    """A row as it was read."""

    mark: int
    """Its watermark, as a number."""

    told: Sequence[str | None]
    """Watermark and key, as texts."""

    value: str | None
    """As JSON; None of one that is too large."""


class NewRow(NamedTuple):
    """A row that lands."""

    key: str
    """As JSON."""

    mark: int
    value: str | None


def new_rows(found: Sequence[Row], known: Mapping[tuple[str, int], bytes | None]) -> list[NewRow]:
    """Those that did not land yet.

    Args:
        found: rows that were read.
        known: what landed last of a key and a watermark.
    """
    rows = (NewRow(_key(row), row.mark, row.value) for row in found)
    return [
        row
        for row in rows
        if (row.key, row.mark) not in known or _differs(row.value, known[row.key, row.mark])
    ]


def _key(row: Row) -> str:
    return json.dumps(list(row.told[1:]), ensure_ascii=False)


def _differs(value: str | None, known: bytes | None) -> bool:
    if value is None or known is None:
        return value is not None or known is not None
    if value.encode() == known:
        return False
    now, then = _columns(value), _columns(known)
    return any(now[name] != then[name] for name in now.keys() & then.keys())


def _columns(value: str | bytes) -> dict[str, Any]:
    """By column what it holds; numbers as they are written, which Python would round."""
    found: dict[str, Any] = json.loads(value, parse_float=_number, parse_int=_number)
    return found


def _number(digits: str) -> tuple[str]:
    """What no text is equal to, and no array."""
    return (digits,)


class Told:
    """Makes sure that keys tell rows apart, over one pass."""

    def __init__(self, source: PostgresSource) -> None:
        """Nothing was read yet."""
        self._source = source
        self._last: Sequence[str | None] | None = None

    def ensure_told_apart(self, found: Sequence[Row]) -> None:
        """Of the rows that come next, in the order of watermark and key.

        Raises:
            SourceError: a key is null, or two rows have the same.
        """
        names = ", ".join(self._source.key)
        for row in found:
            if None in row.told:
                fact = f"has a row whose key ({names}) is null, at {row.told[0]}"
                raise SourceError(self._source.title, fact, "Give a `key` that is never null")
            if row.told == self._last:
                fact = (
                    f"has two rows with the same key ({names}): {', '.join(map(str, row.told[1:]))}"
                )
                raise SourceError(self._source.title, fact, "Name all columns that tell rows apart")
            self._last = row.told
