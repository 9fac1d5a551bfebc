"""Whole numbers in messages of Protobuf, by their wire format alone: no schema is asked. Pure.

A field's bytes do not tell whether they are a text or a message; what can be read as a message is
looked at as one. Format: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator

_MOST = 1 << 64

_DEPTH = 16
"""Of messages in messages."""

_FRAMED = 5
"""Bytes before the message's place in its schema, where a registry's id stands before it."""


def forms(number: int) -> Iterator[bytes]:
    """The bytes by which a message may have a number."""
    if -(1 << 63) <= number < _MOST:
        yield _varint(number % _MOST)
        yield (number % _MOST).to_bytes(8, "little")
    if -(1 << 63) <= number < 1 << 63:
        yield _varint(_zigzag(number))
    if -(1 << 31) <= number < 1 << 32:
        yield (number % (1 << 32)).to_bytes(4, "little")


def _zigzag(number: int) -> int:
    return (number << 1) ^ (number >> 63) if number >= 0 else (-number << 1) - 1


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def has_number(payload: bytes, number: int) -> bool:
    """Whether a payload is a message with the number in a field, framed by a registry or not."""
    wanted = {*forms(number)}
    starts = [0]
    if len(payload) > _FRAMED and payload[0] == 0:
        starts += _after_places(payload)
    return any(_has(payload[start:], wanted, 0) for start in starts)


def _after_places(payload: bytes) -> list[int]:
    """Where the message begins after the registry's id: the numbers of its place stand before."""
    try:
        count, at = _read(payload, _FRAMED)
        for _ in range(count >> 1):
            _, at = _read(payload, at)
    except IndexError:
        return []
    return [at]


def _read(message: bytes, at: int) -> tuple[int, int]:
    """A varint, and where it ends.

    Raises:
        IndexError: it does not end.
    """
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80 or shift > 63:  # noqa: PLR2004 - seven bits a byte, of 64
            return number, at


def _has(message: bytes, wanted: set[bytes], depth: int) -> bool:
    """Whether this is a message, and a field of it has one of these bytes as its number."""
    fields = _fields(message)
    if fields is None:
        return False
    return any(
        depth < _DEPTH and _has(value, wanted, depth + 1) if is_nested else value in wanted
        for value, is_nested in fields
    )


def _fields(message: bytes) -> list[tuple[bytes, bool]] | None:
    """The bytes of each field, and whether they may be a message; None if this is none."""
    found: list[tuple[bytes, bool]] = []
    at = 0
    try:
        while at < len(message):
            tag, at = _read(message, at)
            end = _end(message, tag, at)
            if end is None or end > len(message):
                return None
            is_nested = tag & 7 == 2  # noqa: PLR2004 - of a length that stands before
            start = _read(message, at)[1] if is_nested else at
            found.append((message[start:end], is_nested))
            at = end
    except IndexError:
        return None
    return found


def _end(message: bytes, tag: int, at: int) -> int | None:
    """Where a field's value ends; None if nothing is tagged so."""
    kind = tag & 7
    if tag >> 3 == 0:
        return None
    if kind == 0:
        return _read(message, at)[1]
    if kind == 2:  # noqa: PLR2004 - of a length
        length, start = _read(message, at)
        return start + length
    return {1: at + 8, 5: at + 4, 3: at, 4: at}.get(kind)
