"""Values in the entries of a table's log: statistics, names of files, conditions.

Texts are looked for in all of an entry. Whole numbers only where an entry has those of rows, since
sizes and times are any numbers.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from lake_assets.erasure.sought import Sought

_OF_ROWS = frozenset({"minValues", "maxValues", "partitionValues"})
"""Fields whose numbers are those of rows."""


def in_entries(sought: Sought, lines: Sequence[bytes]) -> set[int]:
    """Which values some lines of a log have: each is an entry, or the statistics of one."""
    found: set[int] = set()
    may = sought.in_texts(pa.array(lines, pa.large_binary()))
    numbers = may & set(sought.numbers)
    found |= may - numbers
    if numbers or sought.has_short_numbers:
        for line in lines:
            if numbers or b"Values" in line:
                found |= set(_numbers(sought, line))
    return found


def _numbers(sought: Sought, line: bytes) -> Iterator[int]:
    try:
        told = json.loads(line)
    except ValueError:
        return
    for names, value in _leaves(told, ()):
        is_of_rows = not _OF_ROWS.isdisjoint(names)
        for index in sought.numbers:
            if is_of_rows and sought.is_among(index, value, names):
                yield index
            elif isinstance(value, str) and not sought.ones[index].is_short:
                digits = re.escape(sought.ones[index].value)
                if re.search(rf"(?<![0-9]){digits}(?![0-9])", value):
                    yield index


def _leaves(told: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:  # noqa: ANN401 - JSON
    """All that JSON tells, also within texts that are JSON, and the names of the fields there."""
    if isinstance(told, dict):
        for name, value in told.items():
            yield from _leaves(value, (*names, name))
    elif isinstance(told, list):
        for value in told:
            yield from _leaves(value, names)
    elif isinstance(told, str) and told[:1] in {"{", "["}:
        try:
            inner = json.loads(told)
        except ValueError:
            yield names, told
        else:
            yield from _leaves(inner, names)
    else:
        yield names, told
