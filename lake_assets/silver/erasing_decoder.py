"""Judging whose a row is by its message's own fields, before a feed makes other columns of them.

What a `select` leaves out, a function changes and a `mask` takes out of `_rescued` is told there
alone.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import Decoded, Decoder
from lake_assets.silver.erased_rows import RowEraser
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.transforming_decoder import TransformingDecoder

_Any = TypeVar("_Any", bound=Decoder)


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasingDecoder:
    """A `formats.base.Decoder` that refuses rows as erased, for a task alone."""

    inner: Decoder
    eraser: RowEraser

    @property
    def columns(self) -> pa.Schema:
        """As the other decoder says."""
        return self.inner.columns

    @property
    def unused(self) -> pa.Schema:
        """As the other decoder says."""
        return self.inner.unused

    @property
    def renames(self) -> Renames:
        """As the other decoder says."""
        return self.inner.renames

    @property
    def has_waiting(self) -> bool:
        """As the other decoder says."""
        return self.inner.has_waiting

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, and refuse those that are erased."""
        return self.eraser.judged(batch, self.inner.decode(batch))


def with_fields_judged(decoder: _Any, eraser: RowEraser) -> _Any:
    """A decoder that judges what it makes columns of; itself, if it gives fields as they are."""
    if not isinstance(decoder, SelectingDecoder | TransformingDecoder):
        return decoder
    inner = with_fields_judged(decoder.inner, eraser)
    if inner is decoder.inner:
        inner = ErasingDecoder(inner=inner, eraser=eraser)
    return replace(decoder, inner=inner)
