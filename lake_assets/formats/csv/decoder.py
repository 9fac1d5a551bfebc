"""CSV in the workers: bronze's values to columns, `_rescued`, and refusals."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.bad_rows import with_problems
from lake_assets.formats.base import Decoded
from lake_assets.formats.csv.columns import column_of
from lake_assets.formats.csv.records import Dialect, Records, read_records
from lake_assets.formats.json.parse import text_of
from lake_assets.formats.schema_merge import in_words
from lake_assets.model.misfits import RECORD, RESCUED, OnMismatch
from lake_assets.model.quarantine import Reason

_NO_COLUMNS = pa.schema([])

_SHOWN = 100
"""Characters of a field that a detail shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CsvDecoder:
    """A `formats.base.Decoder`."""

    columns: pa.Schema
    """Those of the tables; of those that are not declared, all rows have nulls."""

    fields: pa.Schema
    """The declared columns, in the order of a record's fields."""

    dialect: Dialect
    on_mismatch: OnMismatch
    unused: pa.Schema = _NO_COLUMNS
    renames: Renames = field(default_factory=Renames)
    has_waiting: bool = False

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, by `value`."""
        values = batch["value"].cast(pa.binary())
        records = read_records(pc.fill_null(values, b""), self.dialect)
        counts = pc.list_value_length(records.fields)
        misfits: dict[int, dict[str, Any]] = defaultdict(dict)
        made = {}
        for at, column in enumerate(self.fields):
            texts = _field(records.fields, counts, at)
            made[column.name], bad = column_of(texts, column.type)
            for row in bad:
                misfits[row][column.name] = texts[row].as_py()
        wrong = pc.indices_nonzero(pc.not_equal(counts, len(self.fields))).to_pylist()
        odd = {row: counts[row].as_py() for row in wrong}
        if self.on_mismatch is OnMismatch.RESCUE:
            refusals, rescued = _refused(records), self._rescued(values, misfits, odd)
        else:
            refusals = {**self._mismatches(misfits, odd), **_refused(records)}
            rescued = {}
        return with_problems(batch, self._decoded(made, refusals, rescued, len(values)))

    def _rescued(
        self, values: pa.Array, misfits: dict[int, dict[str, Any]], odd: dict[int, int]
    ) -> dict[int, str]:
        """By row, what of it is in no column; of a record that is too long or short all is."""
        rescued = {row: text_of(fields) for row, fields in misfits.items()}
        return rescued | {row: text_of({RECORD: values[row].as_py().decode()}) for row in odd}

    def _mismatches(
        self, misfits: dict[int, dict[str, Any]], odd: dict[int, int]
    ) -> dict[int, tuple[Reason, str]]:
        """By row, why it is refused."""
        found = {}
        for row, fields in misfits.items():
            name, text = next(iter(fields.items()))
            kind = in_words(self.fields.field(name).type)
            found[row] = Reason.TYPE_MISMATCH, f"{name} is no {kind}: {text_of(text)[:_SHOWN]}"
        there = len(self.fields)
        for row, count in odd.items():
            words = f"{count} fields, and {there} columns are declared"
            found[row] = Reason.TYPE_MISMATCH, words
        return found

    def _decoded(
        self,
        made: dict[str, pa.Array],
        refusals: dict[int, tuple[Reason, str | None]],
        rescued: dict[int, str],
        count: int,
    ) -> Decoded:
        arrays = []
        taken = pa.array([row not in refusals for row in range(count)], pa.bool_())
        for column in self.columns:
            if column.name == RESCUED and rescued:
                array = pa.array([rescued.get(row) for row in range(count)], pa.string())
            else:
                array = made.get(column.name, pa.nulls(count, column.type))
            if refusals:
                array = pc.if_else(taken, array, pa.scalar(None, array.type))
            arrays.append(array if array.type == column.type else array.cast(column.type))
        told = [refusals.get(row, (None, None)) for row in range(count)] if refusals else None
        nothing = pa.nulls(count, pa.string())
        return Decoded(
            columns=pa.RecordBatch.from_arrays(arrays, schema=self.columns),
            reason=pa.array([why for why, _ in told], pa.string()) if told else nothing,
            detail=pa.array([words for _, words in told], pa.string()) if told else nothing,
            question=pa.nulls(count, pa.int32()),
        )


def _field(records: pa.ListArray, counts: pa.Array, at: int) -> pa.StringArray:
    """A field of each record; null where it has none."""
    offsets = records.offsets
    starts = pa.array(offsets[:-1]).cast(pa.int64())
    is_there = pc.fill_null(pc.greater(counts, at), fill_value=False)
    where = pc.if_else(is_there, pc.add(starts, at), pa.scalar(None, pa.int64()))
    return records.values.take(where)


def _refused(records: Records) -> dict[int, tuple[Reason, str | None]]:
    return {
        row: (Reason.UNDECODABLE, problem) if problem else (Reason.EMPTY_VALUE, None)
        for row, problem in records.problems.items()
    }
