"""Rows of several subjects in the workers: each decoded by its subject's decoder, by its schema id.

Knows no registry: what `SubjectsDecoder` has no answer for comes back as a question.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import (
    Decoded,
    Decoder,
    HasMessageColumns,
    Question,
    SchemaIdQuestion,
)
from lake_assets.formats.confluent.other_rows import judge
from lake_assets.model.quarantine import Reason

_OF_A_SUBJECT = pa.array([Reason.INCOMPATIBLE_SCHEMA.value, Reason.FOREIGN_MESSAGE.value])
"""Reasons whose details name a version, which says little without its subject."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Strangers:
    """What is known of ids that no decoder reads: a `confluent.other_rows.KnownIds`."""

    subject: str
    unusable: Mapping[int, str] = field(default_factory=dict)
    unknown_ids: frozenset[int] = frozenset()
    foreign_ids: frozenset[int] = frozenset()
    waiting_ids: frozenset[int] = frozenset()
    is_flooded: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectsDecoder:
    """A `formats.base.Decoder`."""

    columns: pa.Schema
    """Columns of the decoded rows, whichever subject they are of."""

    subjects: tuple[str, ...]
    decoders: tuple[Decoder, ...]
    """One a subject, all with these columns."""

    owners: Mapping[int, int]
    """By schema id, which of the decoders reads it."""

    strangers: Strangers
    renames: Renames = field(default_factory=Renames)

    @property
    def unused(self) -> pa.Schema:
        """Columns that some subject has and no row has used yet."""
        found = {one.name.lower(): one for one in self.columns}
        for decoder in self.decoders:
            for one in decoder.unused:
                found.setdefault(one.name.lower(), one)
        return pa.schema(list(found.values())[len(self.columns) :])

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """By message type, the columns that its rows may have, whichever subject they are of."""
        found: dict[str, frozenset[str]] = {}
        for decoder in self.decoders:
            if isinstance(decoder, HasMessageColumns):
                for name, columns in decoder.message_columns.items():
                    found[name] = found.get(name, frozenset()) | columns
        return found

    @property
    def has_waiting(self) -> bool:
        """Whether rows of some schema ids wait for the registry."""
        return bool(self.strangers.waiting_ids)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, by `value` and `schema_id`."""
        ids = batch["schema_id"].cast(pa.int64())
        whose = self._whose(ids)
        found = pc.unique(whose).to_pylist()
        if len(found) == 1 and found[0] is not None:
            return self._by(found[0], batch)
        values = batch["value"].cast(pa.binary())
        reason, detail, asked = judge(values, ids, pc.is_valid(whose), self.strangers)
        joined = _Joined(self.columns, len(ids))
        for place in sorted(one for one in found if one is not None):
            rows = pc.indices_nonzero(pc.equal(whose, place)).cast(pa.int64())
            joined.add(self._by(place, batch.take(rows)), rows)
        return joined.with_others(reason, detail, asked.dictionary_encode())

    def _whose(self, ids: pa.Array) -> pa.Array:
        """Which decoder reads each row: int32, null where none does."""
        known = pa.array(list(self.owners), pa.int64())
        return pa.array(self.owners.values(), pa.int32()).take(pc.index_in(ids, value_set=known))

    def _by(self, place: int, rows: pa.RecordBatch) -> Decoded:
        """Rows of one subject, which their details name."""
        decoded = self.decoders[place].decode(rows)
        is_told = pc.is_in(decoded.reason, value_set=_OF_A_SUBJECT)
        if not pc.any(is_told, min_count=0).as_py():
            return decoded
        prefix = f"subject {self.subjects[place]}: "
        named = pc.binary_join_element_wise(prefix, decoded.detail, "")
        return replace(decoded, detail=pc.if_else(is_told, named, decoded.detail))


class _Joined:
    """Parts of a batch put back where their rows were."""

    def __init__(self, columns: pa.Schema, total: int) -> None:
        self._sources = np.full(total, -1, np.int64)
        self._start = 0
        self._columns = [pa.RecordBatch.from_pylist([], schema=columns)]
        self._reason = [pa.nulls(0, pa.string())]
        self._detail = [pa.nulls(0, pa.string())]
        self._question = [pa.nulls(0, pa.int32())]
        self._message = [pa.nulls(0, pa.int64())]
        self._questions: dict[Question, int] = {}
        self._messages: list[str] = []

    def add(self, part: Decoded, rows: pa.Array) -> None:
        """Rows that were decoded, and where they were."""
        count = len(rows)
        self._sources[rows.to_numpy()] = np.arange(self._start, self._start + count)
        self._start += count
        self._columns.append(part.columns)
        self._reason.append(part.reason)
        self._detail.append(part.detail)
        places = [self._questions.setdefault(one, len(self._questions)) for one in part.questions]
        self._question.append(pa.array(places, pa.int32()).take(part.question))
        message = pa.nulls(count, pa.int64())
        if part.message is not None:
            message = pc.add(part.message.cast(pa.int64()), len(self._messages))
            self._messages += part.messages
        self._message.append(message)

    def with_others(self, reason: pa.Array, detail: pa.Array, asked: pa.DictionaryArray) -> Decoded:
        """All rows, with what is said of those that are of no part.

        Args:
            reason: why a row is refused.
            detail: what that means.
            asked: the schema id that a row asks about.
        """
        own: list[Question] = [SchemaIdQuestion(one) for one in asked.dictionary.to_pylist()]
        where = pa.array(self._sources, mask=self._sources < 0)
        question = pc.add(pa.concat_arrays(self._question).take(where), len(own))
        return Decoded(
            columns=pa.concat_batches(self._columns).take(where),
            reason=pc.coalesce(reason, pa.concat_arrays(self._reason).take(where)),
            detail=pc.coalesce(detail, pa.concat_arrays(self._detail).take(where)),
            question=pc.coalesce(asked.indices.cast(pa.int32()), question.cast(pa.int32())),
            questions=(*own, *self._questions),
            message=pa.concat_arrays(self._message).take(where),
            messages=tuple(self._messages),
        )
