"""Expectations computed on Arrow columns, in Spark's workers, where Spark would say the same.

Only what has the same meaning in both is computed here; which conditions these are is found in
`silver.catalyst_to_arrow`. Values of which that is not sure are a `NotEvaluableError`: then Spark
judges the batch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.silver.expectation_columns import MARKS_PER_COLUMN


class NotEvaluableError(Exception):
    """Some value could mean something else to Spark."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the rows."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value, not null."""

    value: Any
    kind: pa.DataType


@dataclass(frozen=True, slots=True)
class Call:
    """One of `OPERATIONS`."""

    name: str
    arguments: tuple["Node", ...]


Node: TypeAlias = Column | Constant | Call


def marks_of(rows: pa.RecordBatch, conditions: Sequence[Node]) -> pa.RecordBatch:
    """As `silver.expectation_marks.marks`: bit i is set where condition i is false or null."""
    columns = [
        np.zeros(rows.num_rows, dtype=np.int64) for _ in range(0, len(conditions), MARKS_PER_COLUMN)
    ]
    for index, condition in enumerate(conditions):
        column, bit = divmod(index, MARKS_PER_COLUMN)
        holds = _value(condition, rows)
        if isinstance(holds, pa.Scalar):
            holds = pa.repeat(holds, rows.num_rows)
        violated = ~holds.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
        columns[column] |= violated.astype(np.int64) << bit
    names = [f"#marks_{number}" for number in range(len(columns))]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)


def _value(node: Node, rows: pa.RecordBatch) -> Any:  # noqa: ANN401 - an array or a scalar
    if isinstance(node, Column):
        return rows[node.name]
    if isinstance(node, Constant):
        return pa.scalar(node.value, node.kind)
    operation = OPERATIONS[node.name]
    return operation(*(_value(argument, rows) for argument in node.arguments))


def _null_safe_equal(left: Any, right: Any) -> Any:  # noqa: ANN401
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(pc.equal(left, right), fill_value=False), both_null)


def _among(values: Any, *options: Any) -> Any:  # noqa: ANN401
    is_among = pc.is_in(
        values, value_set=pa.array([option.as_py() for option in options], values.type)
    )
    # Null is among nothing, and not among nothing either.
    return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), is_among)


def _simple(values: Any, what: str) -> Any:  # noqa: ANN401
    """The values, if all are plain ASCII within a line, of which all engines think alike."""
    is_plain = pc.and_(
        pc.string_is_ascii(values), pc.invert(pc.match_substring_regex(values, r"[\r\n]"))
    )
    if not pc.all(is_plain).as_py():
        raise NotEvaluableError(what)
    return values


def _lower(values: Any) -> Any:  # noqa: ANN401
    return pc.ascii_lower(_simple(values, "lower"))


def _upper(values: Any) -> Any:  # noqa: ANN401
    return pc.ascii_upper(_simple(values, "upper"))


def _matches(values: Any, pattern: Any) -> Any:  # noqa: ANN401
    return pc.match_substring_regex(_simple(values, "rlike"), pattern.as_py())


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "Not": pc.invert,
    "And": pc.and_kleene,
    "Or": pc.or_kleene,
    "EqualTo": pc.equal,
    "EqualNullSafe": _null_safe_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "IsNull": pc.is_null,
    "IsNotNull": pc.is_valid,
    "In": _among,
    "Coalesce": pc.coalesce,
    "Length": pc.utf8_length,
    "StartsWith": lambda values, text: pc.starts_with(values, text.as_py()),
    "EndsWith": lambda values, text: pc.ends_with(values, text.as_py()),
    "Contains": lambda values, text: pc.match_substring(values, text.as_py()),
    "Lower": _lower,
    "Upper": _upper,
    "RLike": _matches,
}
"""By the name of Catalyst's expression, the same on Arrow arrays."""
