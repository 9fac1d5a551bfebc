"""What a scan looks for: values as they may be written anywhere, and in columns.

Texts are found as they are, and as JSON, addresses, base64 and hexadecimal digits write them. Whole
numbers are found by their digits, and in columns of whole numbers. What is short would be found
everywhere, and is looked for by less: see `SHORT_TEXT` and `SHORT_NUMBER`.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.erasure.wanted import Wanted, equal_to, is_text
from lake_assets.erasure.wire_numbers import forms, has_number
from lake_assets.model.erasures import digest_of

SHORT_TEXT = 4
"""Characters of a text below which it is looked for as the whole value of a column alone."""

SHORT_NUMBER = 6
"""Digits of a whole number below which it is looked for in columns of the wanted name alone."""

_COUNTED = frozenset({"offset", "partition", "schema_id"})
"""Columns of bronze and of what stands beside it whose numbers are those of a source. So are those
of silver whose names begin with `_`."""

_LONGEST = 10_000
"""Bytes of an expression that looks for several values. With one of 14 kB, RE2 takes 200 MB/s; with
one of 24 kB it gives up its automaton and takes four hundred times as long."""

_PACKED = 6
"""Bytes of a text from which on base64 and hexadecimal digits have enough of it to be its own."""


@dataclass(frozen=True, slots=True)
class One:
    """A value of a column that is looked for."""

    column: str
    value: str = field(repr=False)

    @property
    def is_number(self) -> bool:
        """Whether it is a whole number."""
        return re.fullmatch(r"-?[0-9]{1,38}", self.value) is not None

    @property
    def is_short(self) -> bool:
        """Whether it is looked for by less."""
        return len(self.value.lstrip("-")) < (SHORT_NUMBER if self.is_number else SHORT_TEXT)


@dataclass(frozen=True)
class Sought:
    """All values that one scan looks for; told apart by their indexes. Thread-safe."""

    ones: tuple[One, ...]

    @classmethod
    def of(cls, wanted: Sequence[Wanted]) -> "Sought":
        """The values of requests, each once."""
        every = (One(one.column, value) for one in wanted for value in one.values)
        return cls(tuple(dict.fromkeys(every)))

    @property
    def overlap(self) -> int:
        """Bytes that pieces of a text must have in common, so that no value is cut."""
        longest = max((len(one.value.encode()) for one in self.ones), default=0)
        return 8 * longest + 16  # each escaped, and backslashes of JSON in JSON in JSON

    def digests(self, key: bytes) -> tuple[str, ...]:
        """What names the values where they are not to be told."""
        return tuple(digest_of(key, one.column, one.value) for one in self.ones)

    def may_have(self, texts: pa.Array, *, are_payloads: bool) -> bool:
        """Whether any of some texts or payloads has a value: the first look, of many at once."""
        patterns = [pattern for pattern, _ in self._patterns]
        if are_payloads:
            patterns += [pattern for pattern, _ in self._wire_patterns]
        return any(pc.any(pc.match_substring_regex(texts, one)).as_py() for one in patterns)

    def in_texts(self, texts: pa.Array, *, are_payloads: bool = False) -> set[int]:
        """Which values texts have, as bytes; none that is short."""
        return self._anywhere(texts) | (self._in_messages(texts) if are_payloads else set())

    def as_whole(self, values: pa.Array, column: str) -> set[int]:
        """Which values a column has as the whole value of a row: of whole numbers, and short ones.

        Args:
            values: of any type, but no dictionary.
            column: its name, and those of the structs that it is in, with points between.
        """
        if pa.types.is_integer(values.type):
            return self._equal(values, self._numbers_of(column))
        if not has_bytes(values.type):
            return set()
        short = (i for i, one in enumerate(self.ones) if one.is_short and not one.is_number)
        return self._equal(values, (*short, *self._numbers_of(column)))

    def _numbers_of(self, column: str) -> list[int]:
        names = column.lower().split(".")
        is_counted = names[-1] in _COUNTED or names[-1].startswith("_")
        return [
            index
            for index, one in enumerate(self.ones)
            if one.is_number and (one.column.lower() in names or not (one.is_short or is_counted))
        ]

    def is_among(self, index: int, value: object, names: Sequence[str]) -> bool:
        """Whether a number, or a text of one, is the value of that index.

        Args:
            index: of a whole number.
            value: any.
            names: of the fields that it is in.
        """
        one = self.ones[index]
        if isinstance(value, bool) or not isinstance(value, int | str):
            return False
        is_its = one.column.lower() in {name.lower() for name in names}
        return str(value) == str(int(one.value)) and (is_its or not one.is_short)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Indexes of whole numbers."""
        return tuple(index for index, one in enumerate(self.ones) if one.is_number)

    @cached_property
    def has_short_numbers(self) -> bool:
        """Whether there are whole numbers that are looked for by name."""
        return any(self.ones[index].is_short for index in self.numbers)

    def _equal(self, values: pa.Array, may: Sequence[int]) -> set[int]:
        each = {i: equal_to([self.ones[i].value], values.type) for i in may}
        known = {i: one for i, one in each.items() if one is not None and len(one)}
        if not known:
            return set()
        every = pa.concat_arrays(list(known.values()))
        is_hit = pc.is_in(values, every)
        if not pc.any(is_hit).as_py():
            return set()
        hits = pc.unique(values.filter(is_hit))
        return {i for i, one in known.items() if pc.any(pc.is_in(hits, one)).as_py()}

    def _in_messages(self, values: pa.Array) -> set[int]:
        """Which whole numbers payloads have that are messages of Protobuf."""
        found: set[int] = set()
        for pattern, each in self._wire_patterns:
            hits = values.filter(pc.match_substring_regex(values, pattern))
            for payload in hits.drop_null().to_pylist():
                found |= {i for i in each if has_number(payload, int(self.ones[i].value))}
        return found

    @cached_property
    def _wire_patterns(self) -> tuple[tuple[bytes, tuple[int, ...]], ...]:
        each = [
            (i, b"|".join(map(_exactly, forms(int(self.ones[i].value)))))
            for i in self.numbers
            if not self.ones[i].is_short
        ]
        return tuple(
            (pattern, tuple(index for index, _ in group)) for pattern, group in _joined(each)
        )

    def _anywhere(self, values: pa.Array) -> set[int]:
        found: set[int] = set()
        for pattern, each in self._patterns:
            is_hit = pc.match_substring_regex(values, pattern)
            if pc.any(is_hit).as_py():
                hits = values.filter(is_hit)
                found |= {
                    index
                    for index, own in each
                    if pc.any(pc.match_substring_regex(hits, own)).as_py()
                }
        return found

    @cached_property
    def _patterns(self) -> tuple[tuple[bytes, tuple[tuple[int, bytes], ...]], ...]:
        each = [(i, _pattern(one)) for i, one in enumerate(self.ones) if not one.is_short]
        return tuple(_joined(each))


def _joined(
    each: Sequence[tuple[int, bytes]],
) -> Iterator[tuple[bytes, tuple[tuple[int, bytes], ...]]]:
    """Expressions that find what any of some finds, and those that each is made of."""
    group: list[tuple[int, bytes]] = []
    for one in each:
        if group and sum(len(own) + 1 for _, own in (*group, one)) > _LONGEST:
            yield b"|".join(own for _, own in group), tuple(group)
            group = []
        group.append(one)
    if group:
        yield b"|".join(own for _, own in group), tuple(group)


def has_bytes(kind: pa.DataType) -> bool:
    """Whether a type's values are texts or bytes."""
    return is_text(kind) or is_binary(kind)


def is_binary(kind: pa.DataType) -> bool:
    """Whether a type's values are bytes, which may be messages."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def as_texts(values: pa.Array) -> pa.Array:
    """A column's values as bytes, as the other functions take them: a text need not be one then."""
    return values.cast(pa.large_binary())


def as_text(content: bytes) -> pa.Array:
    """Some bytes as one text, which are not copied."""
    offsets = pa.array([0, len(content)], pa.int64()).buffers()[1]
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(content)])


def _pattern(one: One) -> bytes:
    """An expression of RE2 over bytes that finds a value however it is written."""
    if one.is_number:
        return b"(?:^|[^0-9])" + one.value.encode() + b"(?:[^0-9]|$)"
    return b"|".join((_escaped(one.value), *_packed(one.value.encode())))


def _exactly(raw: bytes) -> bytes:
    return b"".join(rb"\x%02x" % byte for byte in raw)


def _escaped(text: str) -> bytes:
    return b"".join(_character(character) for character in text)


def _character(character: str) -> bytes:
    """One character, as it is and as JSON (in JSON, …) and addresses escape it."""
    own = character.encode()
    if character.isascii() and character.isalnum():
        return own
    percent = b"".join(b"%%(?i:%02x)" % byte for byte in own)
    units = character.encode("utf-16-be")
    escaped = b"".join(
        rb"\\+u(?i:%s)" % units[at : at + 2].hex().encode() for at in range(0, len(units), 2)
    )
    return rb"(?:\\*%s|%s|%s)" % (_exactly(own), percent, escaped)


def _packed(raw: bytes) -> Iterator[bytes]:
    if len(raw) < _PACKED:
        return
    yield b"(?i:" + raw.hex().encode() + b")"
    for before in range(3):
        # Characters that also have bits of what stands before or after are left out.
        first, whole = -(-before * 4 // 3), (before + len(raw)) * 8 // 6
        yield re.escape(b64encode(b"\0" * before + raw)[first:whole])
