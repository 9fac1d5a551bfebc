"""New rows merged into a view in Arrow, as Spark would merge them. Pure.

Counts, sums, least and greatest values and averages of columns are told by pyarrow's `group_by` as
by Spark, to the bit but for the order in which floats are added. Which views consist of them is
`gold.arrow_mergeable`'s; reading and writing files is `gold.arrow_merge`'s.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.tables import STATE

SAFE_SUM = {pa.int64(): 2.0**62, pa.float64(): 2.0**53}
"""By what a sum of whole numbers becomes: the bound above which it might overflow, of which pyarrow
says nothing and Spark does, or not be exact, and then not what Spark's adding of doubles gives."""


class NotMergeableError(Exception):
    """What these rows come to is Spark's to say. Not an error of the user's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrowAggregate:
    """One column of a view's state: what is kept of rows, and how it is brought up to date."""

    source: str | None
    """Silver's column; None counts rows."""

    of_rows: str
    """pyarrow's aggregate over rows."""

    of_states: str
    """pyarrow's aggregate over what was kept of rows."""

    kind: pa.DataType

    def takes(self, kind: pa.DataType) -> bool:
        """Whether values of a type become one of `kind` as they do in Spark."""
        if self.of_rows == "count":
            return True
        if self.of_rows == "sum":
            return _is_number(kind)
        return bool(kind == self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Average:
    """A measure that is a quotient, and the struct beside it that merges."""

    total: ArrowAggregate
    count: ArrowAggregate

    @property
    def state(self) -> pa.DataType:
        """Type of the struct."""
        fields = [pa.field("sum", self.total.kind), pa.field("n", self.count.kind)]
        return pa.struct(fields)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrowAggregates:
    """A view that is merged by aggregates of columns."""

    group_keys: Mapping[str, str]
    """By column of the view, silver's."""

    measures: Mapping[str, ArrowAggregate | Average]
    columns: pa.Schema
    """Of the gold table, as `gold.compiled_view.CompiledView.columns`."""

    @property
    def sources(self) -> list[str]:
        """Silver's columns that the view reads."""
        read = (aggregate.source for aggregate in self._aggregates)
        return list(dict.fromkeys([*self.group_keys.values(), *(name for name in read if name)]))

    @property
    def _aggregates(self) -> list[ArrowAggregate]:
        aggregates: list[ArrowAggregate] = []
        for measure in self.measures.values():
            aggregates += (
                [measure] if isinstance(measure, ArrowAggregate) else [measure.total, measure.count]
            )
        return aggregates

    def merged(self, rows: Iterable[pa.Table], gold: Iterable[pa.Table]) -> pa.Table:
        """The view's rows, brought up to date.

        Args:
            rows: new ones of silver, with those of `sources` that its files have.
            gold: the view as it is, with `columns`.

        Raises:
            NotMergeableError: a sum may not fit, or silver's columns are not as the view's.
        """
        states = [*(self._held(table) for table in gold), *(self._of_rows(table) for table in rows)]
        whole = pa.concat_tables(states)
        for index, aggregate in enumerate(self._aggregates):
            _ensure_fits(aggregate, whole[_name(index)])
        aggregations = [
            (_name(index), aggregate.of_states) for index, aggregate in enumerate(self._aggregates)
        ]
        return self._gold(_grouped(whole, list(self.group_keys), aggregations))

    def _of_rows(self, rows: pa.Table) -> pa.Table:
        """Keys and aggregates of silver's rows."""
        self._ensure_known(rows.schema)
        for aggregate in self._aggregates:
            if aggregate.source is not None:
                _ensure_fits(aggregate, rows[aggregate.source])
        aggregations: list[tuple[str | list[str], str]] = [
            (aggregate.source or [], aggregate.of_rows) for aggregate in self._aggregates
        ]
        grouped = _grouped(rows, list(self.group_keys.values()), aggregations)
        return grouped.rename_columns(self._held_names).cast(self._held_schema)

    def _ensure_known(self, rows: pa.Schema) -> None:
        """Refuse what the view's own types do not tell.

        A column that is missing may be one that Spark finds under another spelling.
        """
        kinds = {name: rows.field(name).type for name in self.sources if name in rows.names}
        is_known = (
            len(kinds) == len(self.sources)
            and all(
                kinds[of] == self.columns.field(key).type for key, of in self.group_keys.items()
            )
            and all(
                aggregate.takes(kinds[aggregate.source])
                for aggregate in self._aggregates
                if aggregate.source
            )
        )
        if not is_known:
            raise NotMergeableError

    def _held(self, gold: pa.Table) -> pa.Table:
        """Keys and aggregates of the view's rows."""
        arrays = [gold[key] for key in self.group_keys]
        for name, measure in self.measures.items():
            if isinstance(measure, ArrowAggregate):
                arrays.append(gold[name])
            else:
                state = gold[STATE + name]
                arrays += [pc.struct_field(state, "sum"), pc.struct_field(state, "n")]
        return pa.table(arrays, names=self._held_names).cast(self._held_schema)

    def _gold(self, held: pa.Table) -> pa.Table:
        """The view's columns."""
        arrays = {key: held[number] for number, key in enumerate(self.group_keys)}
        place = len(self.group_keys)
        for name, measure in self.measures.items():
            if isinstance(measure, ArrowAggregate):
                arrays[name] = held[place]
                place += 1
                continue
            total, count = (held[place + i].combine_chunks() for i in range(2))
            place += 2
            some = pc.if_else(pc.equal(count, 0), pa.scalar(None, count.type), count)
            arrays[name] = pc.divide(total, pc.cast(some, total.type))
            arrays[STATE + name] = pa.StructArray.from_arrays(
                [total, count], fields=list(measure.state)
            )
        return pa.table([arrays[name] for name in self.columns.names], schema=self.columns)

    @property
    def _held_names(self) -> list[str]:
        return [*self.group_keys, *(_name(index) for index in range(len(self._aggregates)))]

    @property
    def _held_schema(self) -> pa.Schema:
        keys = [self.columns.field(key) for key in self.group_keys]
        states = [
            pa.field(_name(index), aggregate.kind)
            for index, aggregate in enumerate(self._aggregates)
        ]
        return pa.schema([*keys, *states])


def _is_number(kind: pa.DataType) -> bool:
    return any(
        is_it(kind)
        for is_it in (pa.types.is_signed_integer, pa.types.is_float32, pa.types.is_float64)
    )


def _grouped(
    rows: pa.Table, keys: Sequence[str], wanted: Sequence[tuple[str | list[str], str]]
) -> pa.Table:
    """Keys first, then what is wanted, in that order."""
    return rows.group_by(list(keys), use_threads=False).aggregate(list(wanted))


def _ensure_fits(aggregate: ArrowAggregate, values: pa.ChunkedArray) -> None:
    if aggregate.of_rows != "sum" or not pa.types.is_integer(values.type):
        return
    bounds = pc.min_max(values).as_py()
    largest = max(abs(bounds["min"] or 0), abs(bounds["max"] or 0))
    if float(largest) * len(values) >= SAFE_SUM[aggregate.kind]:
        raise NotMergeableError


def _name(index: int) -> str:
    return f"#{index}"
