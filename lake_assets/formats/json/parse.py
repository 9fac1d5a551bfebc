"""One value's bytes to what JSON says, and back to text; exact, and strict where JSON is.

A byte-order mark is skipped. Numbers keep their digits (`numbers.Number`). Of a name that an object
has twice the last counts, as in Spark.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from lake_assets.formats.json.numbers import Number, integer

DEEPEST = 100
"""Levels that a value may nest: no producer has ten, and readers that nest themselves overflow."""

_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string that nobody closed goes on to the end; else each quote in it is tried as a beginning."""

_BRACKETS = re.compile(r"[\[{}\]]")

_PLAIN_NAME = re.compile(r"[\w$-]+")

_BOM = "\ufeff"


class NotReadableError(Exception):
    """The bytes are no JSON object; says where, and what is wrong."""


def parse(value: bytes) -> dict[str, Any]:
    """The object that a value is.

    Raises:
        NotReadableError: it is none.
    """
    try:
        text = value.decode().removeprefix(_BOM)
    except UnicodeDecodeError as problem:
        reason = f"at byte {problem.start}: not UTF-8 ({problem.reason})"
        raise NotReadableError(reason) from problem
    if is_deep(text):
        reason = f"nested deeper than {DEEPEST} levels"
        raise NotReadableError(reason)
    try:
        decoded = _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        reason = f"at character {problem.pos}: {problem.msg}"
        raise NotReadableError(reason) from problem
    if not isinstance(decoded, dict):
        reason = f"at character 0: {_WORDS.get(type(decoded), 'a number')}, not an object"
        raise NotReadableError(reason)
    return decoded


def is_deep(text: str) -> bool:
    """Whether a value nests deeper than `DEEPEST`, by its brackets outside of strings."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > DEEPEST:
            return True
    return False


def text_of(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """A parsed value as compact JSON, numbers with the digits that they came with."""
    match value:
        case Number():
            return str(value)
        case dict():
            return f"{{{','.join(f'{_quoted(k)}:{text_of(v)}' for k, v in value.items())}}}"
        case list():
            return f"[{','.join(text_of(item) for item in value)}]"
        case str():
            return _quoted(value)
    return json.dumps(value)


def is_unicode(text: str) -> bool:
    """Whether it can be stored: half of a surrogate pair is valid JSON, and no character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def path_in_words(path: Iterable[str | None]) -> str:
    """Names from the outermost to the innermost one, None for items: `device.tags[].id`.

    Quoted are those that would read as several, or cannot be stored as they are.
    """
    parts = ("[]" if name is None else f".{_plain_or_quoted(name)}" for name in path)
    return "".join(parts).removeprefix(".")


def _plain_or_quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not is_unicode(text))


def _no_number(text: str) -> None:
    raise NotReadableError(f"{text} is no number of JSON")


_WORDS = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}

_DECODER = json.JSONDecoder(
    parse_float=Number,
    parse_int=integer,
    parse_constant=_no_number,
)
