"""Texts hidden before they are written: hashed with a key, cut, or replaced; in Spark's workers.

Which columns are hidden how is a feed's `mask` (`model.transforms`).
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.json.parse import parse, text_of
from lake_assets.model.misfits import RESCUED
from lake_assets.model.transforms import Mask

HIDDEN = "***"
"""What stands for a text, or for what of it is hidden."""

_SHOWN, _LONG_ENOUGH = 4, 8
"""Characters that `last4` shows, of a text of how many at least: of a shorter one they are half."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Masks:
    """How columns are hidden."""

    by_column: Mapping[str, Mask] = field(default_factory=dict)
    hidden_names: frozenset[str] = frozenset()
    """The decoded columns that they are made of, in any case: what did not fit is in `_rescued`."""

    hides_rescued: bool = False
    """Whether all of `_rescued` is hidden: what a function made of which column is not known."""

    key: bytes = field(default=b"", repr=False)
    """Of `hash`."""

    def of(self, name: str) -> Mask | None:
        """How a column is hidden; None if it is not."""
        return self.by_column.get(name)

    def hidden(self, name: str, values: pa.Array) -> pa.Array:
        """The values of a column, hidden if it is; nulls stay null."""
        mask = self.by_column.get(name)
        return values if mask is None else self._hidden(values, mask)

    def masked(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Selected rows with the columns hidden; nulls stay null.

        One that no row has used yet is not among them.
        """
        there = [one for one in self.by_column.items() if one[0] in rows.schema.names]
        for name, mask in there:
            rows = _replaced(rows, name, self._hidden(rows[name], mask))
        return rows

    def without_rescued(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Decoded rows without what did not fit a column that is hidden, whoever selects it."""
        if RESCUED not in rows.schema.names or rows[RESCUED].null_count == rows.num_rows:
            return rows
        if self.hides_rescued:
            rows = _replaced(rows, RESCUED, self._hidden(rows[RESCUED], Mask.REDACT))
        elif self.hidden_names:
            hide = _without(self.hidden_names)
            rows = _replaced(rows, RESCUED, _of_values(rows[RESCUED], hide))
        return rows

    def _hidden(self, texts: pa.Array, mask: Mask) -> pa.Array:
        match mask:
            case Mask.HASH:
                return _of_values(texts, _digest_with(self.key))
            case Mask.LAST4:
                is_long = pc.greater_equal(pc.utf8_length(texts), _LONG_ENOUGH)
                shown = pc.utf8_slice_codeunits(texts, -_SHOWN)
                cut = pc.binary_join_element_wise(HIDDEN, shown, "")
                return pc.if_else(is_long, cut, HIDDEN)
        return pc.if_else(pc.is_valid(texts), HIDDEN, pa.scalar(None, pa.string()))


def _digest_with(key: bytes) -> Callable[[str], str]:
    """Hashes texts; what the key alone decides is done once."""
    begun = hmac.new(key, digestmod=hashlib.sha256)

    def digest(text: str) -> str:
        one = begun.copy()
        one.update(text.encode())
        return one.hexdigest()

    return digest


def _replaced(rows: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), values)


def _of_values(texts: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """Each distinct text changed once."""
    encoded = texts.dictionary_encode()
    changed = [change(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(changed, pa.string()).take(encoded.indices)


def _without(names: frozenset[str]) -> Callable[[str], str]:
    """Hides the values of some names in a JSON object."""
    lower = {name.lower() for name in names}

    def hide(text: str) -> str:
        found = parse(text.encode())
        return text_of({n: HIDDEN if n.lower() in lower else value for n, value in found.items()})

    return hide
