"""Telling which values of a column are wanted: by the values, or by what an erasure keeps of them.

Values allow to leave out files by their bounds; keyed hashes do not, and are what is left of a
request whose process died. Pure.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.erasure.wanted import equal_to, is_text
from lake_assets.model.erasures import bytes_text, digest_of, number_text
from lake_assets.silver.rescued_persons import texts_under


@dataclass(frozen=True, kw_only=True, slots=True)
class Matching:
    """What tells the wanted values of one column."""

    column: str
    key: bytes = field(repr=False)
    """Of the hashes."""

    digests: frozenset[str]
    spellings: Sequence[str] = field(default=(), repr=False)
    """`Wanted.spellings`; empty if only the hashes are known."""

    plain: Sequence[str] = field(default=(), repr=False)
    """The values as they are looked for in payloads and texts; likewise."""

    def values(self, kind: pa.DataType) -> pa.Array | None:
        """The wanted values as a column of this type has them; None if they are not known."""
        return equal_to(self.spellings, kind) if self.spellings else None

    def test(self, found: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Which of some values of a column are wanted; nulls are not."""
        if pa.types.is_dictionary(found.type):
            found = found.cast(found.type.value_type)
        values = self.values(found.type)
        if values is not None:
            return pc.is_in(found, value_set=values)
        distinct = pc.unique(found).drop_null()
        texts = texts_of(distinct)
        is_wanted = [digest_of(self.key, self.column, text) in self.digests for text in texts]
        return pc.is_in(found, value_set=distinct.filter(pa.array(is_wanted, pa.bool_())))

    def is_key(self, key: bytes | None) -> bool:
        """Whether the key of a row at its source is a wanted value, or JSON that names one."""
        try:
            text = (key or b"").decode()
        except UnicodeDecodeError:
            return False
        if digest_of(self.key, self.column, text) in self.digests:
            return True
        return text.startswith("{") and self.is_in_json(text)

    def is_in_json(self, text: str) -> bool:
        """Whether JSON names the column, at any depth, with a wanted value.

        A text that is none is taken for one that does, where who called has found a value in it.
        """
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return bool(self.spellings)
        found = texts_under(parsed, {self.column.lower()})
        return any(digest_of(self.key, self.column, value) in self.digests for _, value in found)


def texts_of(values: pa.Array) -> list[str]:
    """Values of a column as they are hashed."""
    if is_text(values.type):
        return [str(value) for value in values.to_pylist()]
    if pa.types.is_integer(values.type):
        return [number_text(value) for value in values.to_pylist()]
    return [bytes_text(value) for value in values.to_pylist()]
