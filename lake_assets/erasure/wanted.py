"""Whose rows are asked to be erased: values of a column, and how each may be written. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.errors import ErasureError
from lake_assets.model.erasures import bytes_text, digest_of, number_text

_LONGEST = 8_000
"""Characters of an expression that looks for several values: RE2 gives up its automaton for longer
ones, and takes hundreds of times as long."""

_SEVEN_BITS = 0x7F

_SPACE, _DELETE = 0x20, 0x7F
"""The first byte of a printable character of ASCII, and that after the last one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Some values of one column."""

    column: str
    values: tuple[str, ...] = field(repr=False)

    def spellings(self, hidden: Iterable[str] = ()) -> tuple[str, ...]:
        """All texts by which a column may have one of the values, as `equal_to` takes them.

        Args:
            hidden: what tables have in its place, that hide the column.
        """
        return tuple(dict.fromkeys([*self.values, *hidden]))

    def digests(self, key: bytes, hidden: Iterable[str] = ()) -> tuple[str, ...]:
        """As `model.erasures.Erasure` has them: of what columns of each type have."""
        texts = [*self.spellings(hidden), *map(number_text, _numbers(self.values))]
        texts += map(bytes_text, _raw(self.values))
        return tuple(digest_of(key, self.column, text) for text in dict.fromkeys(texts))


def ensure_sensible(wanted: Wanted) -> Wanted:
    """Refuse what nobody can mean: no column, no value, an empty one.

    Raises:
        ErasureError: it is one of these.
    """
    if not wanted.column.strip():
        raise ErasureError("--column", "is empty", "Name the column that tells a person")
    if not wanted.values:
        raise ErasureError("an erasure", "names no value", "Give --value or --values")
    if any(not value.strip() for value in wanted.values):
        raise ErasureError(
            f"a value of {wanted.column}",
            "is empty, and rows that tell nobody would be erased",
            "Leave it out",
        )
    return wanted


def equal_to(spellings: Sequence[str], kind: pa.DataType) -> pa.Array | None:
    """The values of a column's type that are among the wanted; None of a type that has no such.

    Texts are compared as they are, whole numbers by what they are, and bytes as the text in UTF-8
    or by its hexadecimal digits. `1` is nobody's `01` where ids are texts, and no byte `1`'s `31`.
    """
    if is_text(kind):
        return pa.array(spellings, kind)
    if pa.types.is_integer(kind):
        low, high = _bounds(kind)
        return pa.array([n for n in sorted(_numbers(spellings)) if low <= n <= high], kind)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array(_raw(spellings), kind)
    return None


def _numbers(texts: Iterable[str]) -> set[int]:
    return {int(text) for text in texts if re.fullmatch(r"[+-]?[0-9]{1,38}", text)}


def _raw(texts: Iterable[str]) -> list[bytes]:
    """The bytes that texts are, and those whose hexadecimal digits they are.

    Digits of bytes that are a text themselves are such only after `0x`: `3132` is a person of that
    number, not the person `12`.
    """
    found = []
    for text in texts:
        found.append(text.encode())
        digits = re.fullmatch(r"(0x)?(([0-9A-Fa-f]{2})+)", text)
        if digits is None:
            continue
        raw = bytes.fromhex(digits[2])
        if digits[1] or not all(_SPACE <= byte < _DELETE for byte in raw):
            found.append(raw)
    return found


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of texts."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    bits = kind.bit_width
    if pa.types.is_signed_integer(kind):
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1


def patterns_of(values: Iterable[str]) -> tuple[str, ...]:
    """Regular expressions (RE2), one of which finds each of the values in a payload or a text.

    A value is found where no letter or digit is beside it, as it is or as JSON writes it, and where
    its length is before it, as Protobuf and Avro write texts.
    """
    patterns, length = [""], 0
    for value in values:
        part = "|".join(_parts(value))
        if length + len(part) > _LONGEST and patterns[-1]:
            patterns, length = [*patterns, ""], 0
        patterns[-1] = f"{patterns[-1]}|{part}" if patterns[-1] else part
        length += len(part)
    return tuple(pattern for pattern in patterns if pattern)


def _parts(value: str) -> Iterator[str]:
    as_json = (json.dumps(value, ensure_ascii=escapes)[1:-1] for escapes in (True, False))
    for one in dict.fromkeys([value, *as_json]):
        yield f"(^|[^0-9A-Za-z_]){re.escape(one)}([^0-9A-Za-z_]|$)"
    size = len(value.encode())
    for before in (_varint(size), _varint(2 * size)):
        yield "".join(f"\\x{{{byte:x}}}" for byte in before) + re.escape(value)


def _varint(number: int) -> bytes:
    """The last byte of a length as both formats write it; those before it have other bits."""
    found = bytearray()
    while number > _SEVEN_BITS:
        found.append(number & _SEVEN_BITS | (_SEVEN_BITS + 1))
        number >>= 7
    found.append(number)
    return bytes(found[-1:])
