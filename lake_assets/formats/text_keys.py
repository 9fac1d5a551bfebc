"""Keys of rows in JSON or text, which name columns of a keyed table's `by`.

As an object of JSON, or, if it is one column, as a string, number or boolean of JSON, or as text;
all of JSON also below `payload`, beside a `schema`, as Kafka Connect writes it.
"""

import json
import re
from collections.abc import Sequence


def texts_of(key: bytes, by: Sequence[str]) -> list[str] | None:
    """The columns' values in a key, as text; None if it does not say all of them."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    try:
        found = json.loads(
            text, parse_int=_AsItStands, parse_float=_AsItStands, parse_constant=_AsItStands
        )
    except (ValueError, RecursionError):
        found = _AsItStands(text)
    if isinstance(found, bool | _AsItStands):
        # It stands for itself; what is framed, as Avro and protobuf are, has control characters.
        return [text] if len(by) == 1 and not _CONTROL.search(text) else None
    if isinstance(found, dict) and found.keys() == {"schema", "payload"}:
        found = found["payload"]
    if isinstance(found, dict):
        values = [found.get(name) for name in by]
    elif len(by) == 1:
        values = [found]
    else:
        return None
    return [as_text(one) for one in values] if all(map(_is_plain, values)) else None


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Half a character, which JSON may escape and no column holds."""


class _AsItStands(str):
    """A number of JSON, or a text that is no JSON, as it stands."""

    __slots__ = ()


def _is_plain(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and not _SURROGATE.search(value))


def as_text(value: object) -> str:
    """A value of a key as `csv.columns` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
