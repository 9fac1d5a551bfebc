"""A record's value as it stands in a file. Pure.

Of JSON lines each value is one line, as it came, so that a feed decodes or refuses it as it would
from the topic. Of protobuf, and of what registered schemas describe, each value follows its length.
"""

import json
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from lake_assets.runtime.varints import varint

ExportFormat: TypeAlias = Literal["jsonl", "protobuf", "framed"]

ENDINGS: Mapping[ExportFormat, str] = {"jsonl": "jsonl", "protobuf": "pb", "framed": "framed"}
"""Of files' names."""

_BOM = b"\xef\xbb\xbf"

_BLANK = b" \t\n\r\x0b\f"

_FRAME = b"\0"
"""What a value of a registered schema begins with, and no JSON does."""


def json_line(value: bytes | None) -> bytes:
    """A value as a line, with its end.

    JSON with lines of its own gets spaces in their place, which mean the same between values, and
    cannot be within. What would be no line, or several, and is no JSON, becomes a string of JSON; a
    missing value becomes `null`: a feed refuses both, as it does with the records.
    """
    if value is not None and value[:1] == b"{" and b"\n" not in value:
        return value + b"\n"
    return _line(value) + b"\n"


def delimited(value: bytes | None) -> bytes:
    """A value after its length, a varint; a missing one is empty."""
    content = value or b""
    return varint(len(content)) + content


ENCODERS: Mapping[ExportFormat, Callable[[bytes | None], bytes]] = {
    "jsonl": json_line,
    "protobuf": delimited,
    "framed": delimited,
}


def is_framed(value: bytes | None) -> bool:
    """Whether a value begins as a registry's serializers write it."""
    return value is not None and value[:1] == _FRAME


def _line(value: bytes | None) -> bytes:
    if value is None:
        return b"null"
    content = value.removeprefix(_BOM)  # readers pass over one, wherever it is
    is_line = content.strip(_BLANK) != b"" and not content.startswith(_BOM)
    if not is_line or (b"\n" in content and not _is_json(content)):
        return json.dumps(value.decode(errors="backslashreplace")).encode()
    return content.replace(b"\n", b" ")


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content.decode())
    except (ValueError, RecursionError):
        return False
    return True
