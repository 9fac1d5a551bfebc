"""Rows of several subjects in the workers: each decoded by its subject's decoder, by its schema id.

Knows no registry: what `SubjectsDecoder` has no answer for comes back as a question.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.bad_rows import with_problems
from lake_assets.formats.base import Decoded, Decoder, HasMessageColumns
from lake_assets.formats.confluent.other_rows import judge
from lake_assets.formats.subjects.column_names import Names, renamed
from lake_assets.formats.subjects.joined import Joined, with_columns
from lake_assets.formats.subjects.rescued import rescued_in_feed
from lake_assets.model.misfits import RESCUED
from lake_assets.model.quarantine import Reason

_OF_A_SUBJECT = (Reason.INCOMPATIBLE_SCHEMA.value, Reason.FOREIGN_MESSAGE.value)
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
class OfSubject:
    """What reads the rows of one subject, into its own columns."""

    subject: str
    decoder: Decoder

    names: Names = field(default_factory=dict)
    """By its own name, the feed's column where that has another one."""

    def decode(self, rows: pa.RecordBatch) -> Decoded:
        """Rows of the subject, which their details name, in the feed's columns that it has."""
        decoded = self.decoder.decode(rows)
        if self.names:
            decoded = replace(decoded, columns=self._in_feed(decoded.columns))
        is_told = pc.is_in(decoded.reason, value_set=pa.array(_OF_A_SUBJECT))
        if not pc.any(is_told, min_count=0).as_py():
            return decoded
        prefix = f"subject {self.subject}: "
        named = pc.binary_join_element_wise(prefix, decoded.detail, "")
        return replace(decoded, detail=pc.if_else(is_told, named, decoded.detail))

    def _in_feed(self, columns: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [
            rescued_in_feed(array, self.names) if name == RESCUED else array
            for name, array in zip(columns.schema.names, columns.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=renamed(columns.schema, self.names))


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectsDecoder:
    """A `formats.base.Decoder`."""

    columns: pa.Schema
    """Columns of the decoded rows, whichever subject they are of."""

    subjects: tuple[OfSubject, ...]

    owners: Mapping[int, int]
    """By schema id, which of the subjects it is of."""

    strangers: Strangers
    renames: Renames = field(default_factory=Renames)

    @property
    def unused(self) -> pa.Schema:
        """Columns that some subject has and no row has used yet."""
        found = {one.name.lower(): one for one in self.columns}
        for subject in self.subjects:
            for one in renamed(subject.decoder.unused, subject.names):
                found.setdefault(one.name.lower(), one)
        return pa.schema(list(found.values())[len(self.columns) :])

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """By message type, the columns that its rows may have, whichever subject they are of."""
        found: dict[str, frozenset[str]] = {}
        for subject in self.subjects:
            if isinstance(subject.decoder, HasMessageColumns):
                for name, columns in subject.decoder.message_columns.items():
                    named = frozenset(subject.names.get(one, one) for one in columns)
                    found[name] = found.get(name, frozenset()) | named
        return found

    @property
    def has_waiting(self) -> bool:
        """Whether rows of some schema ids wait for the registry."""
        return bool(self.strangers.waiting_ids)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, by `value` and `schema_id`."""
        return with_problems(batch, self._decoded(batch))

    def _decoded(self, batch: pa.RecordBatch) -> Decoded:
        ids = batch["schema_id"].cast(pa.int64())
        whose = self._whose(ids)
        places = whose.fill_null(-1).to_numpy()
        order = np.argsort(places, kind="stable")
        found, starts = np.unique(places[order], return_index=True)
        if len(found) == 1 and found[0] >= 0:
            of_subject: OfSubject = self.subjects[found[0]]
            decoded = of_subject.decode(batch)
            return replace(decoded, columns=with_columns(decoded.columns, self.columns))
        values = batch["value"].cast(pa.binary())
        reason, detail, asked = judge(values, ids, pc.is_valid(whose), self.strangers)
        joined = Joined(self.columns, len(ids))
        for place, part in zip(found.tolist(), np.split(order, starts)[1:], strict=True):
            if place >= 0:
                rows = pa.array(part, pa.int64())
                joined.add(self.subjects[place].decode(batch.take(rows)), rows)
        return joined.with_others(reason, detail, asked.dictionary_encode())

    def _whose(self, ids: pa.Array) -> pa.Array:
        """Which decoder reads each row: int32, null where none does."""
        known = pa.array(list(self.owners), pa.int64())
        return pa.array(self.owners.values(), pa.int32()).take(pc.index_in(ids, value_set=known))
