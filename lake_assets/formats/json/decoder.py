"""JSON in the workers: bronze's values to columns, `_rescued`, refusals and questions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.bad_rows import with_problems
from lake_assets.formats.base import Decoded
from lake_assets.formats.json.folded_types import FoldedColumns
from lake_assets.formats.json.inference import MOST_COLUMNS, ddl_of
from lake_assets.formats.json.plain_reader import read_plain
from lake_assets.formats.json.row_reader import Read, Row, Rules, read_rows
from lake_assets.formats.json.vector_reader import can_read, read_values
from lake_assets.formats.questions import NewColumnsQuestion, Question
from lake_assets.model.misfits import RESCUED, OnUnknown
from lake_assets.model.quarantine import Reason

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonDecoder:
    """A `formats.base.Decoder`."""

    columns: pa.Schema
    """Those of the tables; of those that are not read, all rows have nulls."""

    rules: Rules
    unused: pa.Schema = _NO_COLUMNS
    renames: Renames = field(default_factory=Renames)
    has_waiting: bool = False

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, by `value`."""
        return with_problems(batch, self._decoded(batch["value"].cast(pa.binary())))

    def _decoded(self, values: pa.Array) -> Decoded:
        is_empty = pc.less(pc.binary_length(values), 1).fill_null(fill_value=True)
        rows = pc.indices_nonzero(pc.invert(is_empty)).cast(pa.int64())
        is_whole = len(rows) == len(values)
        parts = list(self._read(values if is_whole else values.take(rows)))
        read = pa.concat_batches([self._conformed(part) for part in parts] or [self._nothing()])
        if is_whole and not any(part.rows for part in parts):
            none = pa.nulls(len(values), pa.string())
            unasked = pa.nulls(len(values), pa.int32())
            return Decoded(columns=read, reason=none, detail=none, question=unasked)
        outcomes = [row for part in parts for row in part.rows or [_FINE] * part.columns.num_rows]
        return _spread(read, outcomes, self._asked(outcomes), rows, is_empty)

    def _read(self, values: pa.Array) -> Iterator[Read]:
        """The values in their order, together where nothing is to be said of any of them."""
        if not len(values):
            return
        rules = self.rules
        if not rules.fields.names or not can_read(rules.fields):
            yield read_rows(values.to_pylist(), rules)
            return
        is_ignoring = rules.on_unknown is OnUnknown.IGNORE
        columns = read_values(values, rules.fields, ignores_unknown=is_ignoring, exact=rules.added)
        yield self._read_mixed(values) if columns is None else Read(columns=columns, rows=[])

    def _read_mixed(self, values: pa.Array) -> Read:
        """Values of which some need to be looked at; the others do not wait for that."""
        rest = self.rules.on_unknown
        if rest is OnUnknown.ADD_COLUMNS and self.rules.room < 1:
            rest = OnUnknown.RESCUE
        raw = values.to_pylist()
        plain = read_plain(
            raw,
            self.rules.fields,
            rest=rest.value if rest in {OnUnknown.IGNORE, OnUnknown.RESCUE} else None,
        )
        others = sorted(set(range(len(raw))).difference(plain.rows))
        read = read_rows([raw[row] for row in others], self.rules)
        rows = [_FINE] * len(raw)
        for row, text in plain.rescued.items():
            rows[row] = Row(values={}, rescued=text)
        for row, outcome in zip(others, read.rows, strict=True):
            rows[row] = outcome
        order = np.argsort(np.array([*plain.rows, *others], np.int64))
        columns = pa.concat_batches([plain.columns, read.columns]).take(pa.array(order))
        return Read(columns=columns, rows=rows)

    def _asked(self, outcomes: Sequence[Row]) -> NewColumnsQuestion | None:
        """The one question of all rows that can have further columns, or wider ones.

        Of new names it has no more than a table may have; the first ones by their names.
        """
        folded = FoldedColumns(MOST_COLUMNS)
        for row in outcomes:
            for name, kind in row.wider.items():
                folded.add(name, kind)
        if not folded.kinds and not folded.crowded:
            return None
        known = {*self.rules.fields.names}
        names = sorted({*folded.kinds, *folded.crowded})
        new = [name for name in names if name not in known][:MOST_COLUMNS]
        kept = known.union(new)
        columns = (
            (n, ddl_of(folded.kinds[n].type)) for n in names if n in kept & folded.kinds.keys()
        )
        return NewColumnsQuestion(tuple(columns), tuple(sorted(folded.crowded & kept)))

    def _conformed(self, part: Read) -> pa.RecordBatch:
        """What was read, in the columns of the tables."""
        read = part.columns
        # Without any column a batch of Arrow's does not know how many rows it has.
        count = len(part.rows) or read.num_rows
        arrays = []
        for column in self.columns:
            if column.name in read.schema.names:
                array = read[column.name]
            elif column.name == RESCUED and part.rows:
                array = pa.array([row.rescued for row in part.rows], pa.string())
            else:
                array = pa.nulls(count, column.type)
            arrays.append(array if array.type == column.type else array.cast(column.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)

    def _nothing(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], schema=self.columns)


def _spread(
    read: pa.RecordBatch,
    outcomes: Sequence[Row],
    asked: NewColumnsQuestion | None,
    rows: pa.Array,
    is_empty: pa.Array,
) -> Decoded:
    """Put what was read back where it came from, and what is to be said beside it.

    Args:
        read: the values that are not empty, in their order.
        outcomes: what became of them.
        asked: the question of those that can have further columns.
        rows: int64, where they were.
        is_empty: of all rows.
    """
    questions: dict[Question, int] = {}
    each = (asked if row.wider else row.question for row in outcomes)
    codes = [
        None if question is None else questions.setdefault(question, len(questions))
        for question in each
    ]
    where = pc.index_in(pa.arange(0, len(is_empty)), value_set=rows)

    def placed(answers: Sequence[object], kind: pa.DataType) -> pa.Array:
        return pa.array(answers, kind).take(where)

    reason = placed([row.reason for row in outcomes], pa.string())
    empty = pa.scalar(Reason.EMPTY_VALUE.value, pa.string())
    return Decoded(
        columns=read.take(where),
        reason=pc.if_else(is_empty, empty, reason),
        detail=placed([row.detail for row in outcomes], pa.string()),
        question=placed(codes, pa.int32()),
        questions=tuple(questions),
    )


_FINE = Row(values={})
