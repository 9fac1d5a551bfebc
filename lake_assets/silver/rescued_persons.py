"""Values of named columns within `_rescued`: what did not fit, and tells whose a row is.

A text for a column of whole numbers, a list in the place of an id, an object with the name in it.
"""

import json
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.erasures import number_text

_Told = TypeVar("_Told")


def texts_within(text: str, columns: Collection[str]) -> Iterator[tuple[str, str]]:
    """As `texts_under`, of JSON; of a text that is none nothing is given."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield from texts_under(found, columns)


def texts_under(found: object, columns: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each value that JSON has under the name of a column, at any depth, as an erasure hashes it.

    A whole number is given as such and as its digits, since the column may be one of texts.

    Args:
        found: the JSON, parsed.
        columns: names in lower case.

    Yields:
        The column, and a value's text.
    """
    waiting: list[tuple[object, str | None]] = [(found, None)]
    while waiting:
        value, column = waiting.pop()
        if isinstance(value, dict):
            waiting += [
                (one, name.lower() if name.lower() in columns else column)
                for name, one in value.items()
            ]
        elif isinstance(value, list):
            waiting += [(one, column) for one in value]
        elif column is not None and isinstance(value, str):
            yield column, value
        elif column is not None and isinstance(value, int) and not isinstance(value, bool):
            yield column, str(value)
            yield column, number_text(value)


def rows_naming(
    texts: pa.Array, columns: Collection[str], tells: Callable[[str], _Told | None]
) -> Iterator[tuple[int, _Told]]:
    """Rows whose JSON names one of some columns, and of which `tells` gives something.

    Args:
        texts: JSON, or null; each distinct one that names a column is asked about once.
        columns: names in lower case.
        tells: what is to be known of a text, or None.
    """
    if not columns or texts.null_count == len(texts):
        return
    may = pa.repeat(pa.scalar(value=False), len(texts))
    for column in columns:
        names_it = pc.match_substring(texts, f'"{column}"', ignore_case=True)
        may = pc.or_(may, names_it.fill_null(fill_value=False))
    known: dict[str, _Told | None] = {}
    for row, is_it in enumerate(may.to_pylist()):
        if not is_it:
            continue
        text = texts[row].as_py()
        if text not in known:
            known[text] = tells(text)
        if (found := known[text]) is not None:
            yield row, found
