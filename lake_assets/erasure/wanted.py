"""Whose rows are asked to be erased: values of a column, and how each may be written. Pure."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.errors import ErasureError
from lake_assets.model.erasures import digest_of

_LONG_ENOUGH = 4
"""Characters of a text that are looked for anywhere in a payload; a shorter one is looked for where
no letter or digit is beside it, as it would be found in most payloads else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Some values of one column."""

    column: str
    values: tuple[str, ...] = field(repr=False)

    def spellings(self, hidden: Iterable[str] = ()) -> tuple[str, ...]:
        """All texts by which a column may have one of the values.

        Args:
            hidden: what tables have in its place, that hide the column.
        """
        every = [spelling for value in self.values for spelling in _spellings(value)]
        return tuple(dict.fromkeys([*every, *hidden]))

    def digests(self, key: bytes, hidden: Iterable[str] = ()) -> tuple[str, ...]:
        """As `model.erasures.Erasure` has them."""
        return tuple(digest_of(key, self.column, text) for text in self.spellings(hidden))


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


def _spellings(value: str) -> tuple[str, ...]:
    whole = (str(int(value)),) if re.fullmatch(r"[+-]?[0-9]{1,38}", value) else ()
    return (value, *whole, value.encode().hex())


def equal_to(spellings: Sequence[str], kind: pa.DataType) -> pa.Array | None:
    """The values of a column's type that are among the wanted; None of a type that has no such.

    Texts are compared as they are, whole numbers by their digits, and bytes as the text in UTF-8 or
    its hexadecimal digits.
    """
    if is_text(kind):
        return pa.array(spellings, kind)
    if pa.types.is_integer(kind):
        low, high = _bounds(kind)
        numbers = {int(text) for text in spellings if re.fullmatch(r"-?[0-9]{1,38}", text)}
        return pa.array(sorted(number for number in numbers if low <= number <= high), kind)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raw = [text.encode() for text in spellings]
        raw += [bytes.fromhex(text) for text in spellings if re.fullmatch(r"([0-9a-f]{2})+", text)]
        return pa.array(raw, kind)
    return None


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


def somewhere_in(values: Iterable[str]) -> str:
    """A regular expression (RE2) that finds one of the values in a payload or a text.

    Whole numbers are found where no digit is beside them, and short texts where no letter or digit
    is; others anywhere, also as JSON writes them.
    """
    parts = []
    for value in values:
        if re.fullmatch(r"-?[0-9]+", value):
            parts.append(f"(^|[^0-9]){value}([^0-9]|$)")
            continue
        as_json = (json.dumps(value, ensure_ascii=a)[1:-1] for a in (True, False))
        written = dict.fromkeys([value, *as_json])
        for one in written:
            text = re.escape(one)
            short = f"(^|[^0-9A-Za-z]){text}([^0-9A-Za-z]|$)"
            parts.append(text if len(value) >= _LONG_ENOUGH else short)
    return "|".join(parts)
