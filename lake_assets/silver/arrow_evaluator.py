"""SQL expressions computed on Arrow columns, in Spark's workers, where Spark would say the same.

Only what has the same meaning in both is computed here; which expressions these are is found in
`silver.catalyst_to_arrow`. Values of which that is not sure are a `NotEvaluableError`: then Spark
computes the batch.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
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
    """A value, or null; no negative zero, which would be equal to zero."""

    value: Any
    kind: pa.DataType


@dataclass(frozen=True, slots=True)
class Call:
    """One of `OPERATIONS`."""

    name: str
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class StructField:
    """A field of a struct; null where the struct is."""

    struct: "Node"
    index: int


@dataclass(frozen=True, slots=True)
class Cast:
    """A value as one of another type that has a value for each of them."""

    argument: "Node"
    kind: pa.DataType


Node: TypeAlias = Column | Constant | Call | StructField | Cast


def marks_of(rows: pa.RecordBatch, conditions: Sequence[Node]) -> pa.RecordBatch:
    """As `silver.expectation_marks.marks`: bit i is set where condition i is false or null."""
    columns = [
        np.zeros(rows.num_rows, dtype=np.int64) for _ in range(0, len(conditions), MARKS_PER_COLUMN)
    ]
    known: dict[Node, Any] = {}
    for index, condition in enumerate(conditions):
        column, bit = divmod(index, MARKS_PER_COLUMN)
        holds = values_of(condition, rows, known)
        violated = ~holds.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
        columns[column] |= violated.astype(np.int64) << bit
    names = [f"#marks_{number}" for number in range(len(columns))]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)


def values_of(
    node: Node, rows: pa.RecordBatch, known: MutableMapping[Node, Any] | None = None
) -> pa.Array:
    """What an expression comes to in each row.

    Args:
        node: the expression.
        rows: whose columns it reads.
        known: what parts of expressions came to for the same rows; it gets those of this one, so
            that what several have in common is computed once.

    Raises:
        NotEvaluableError: of a value it is not sure that Spark would say the same.
    """
    found = _value(node, rows, {} if known is None else known)
    return pa.repeat(found, rows.num_rows) if isinstance(found, pa.Scalar) else found


def parts_of(node: Node) -> tuple[Node, ...]:
    """The expressions that one is made of."""
    match node:
        case Call(_, arguments):
            return arguments
        case StructField(struct):
            return (struct,)
        case Cast(argument):
            return (argument,)
    return ()


def is_sure(node: Node) -> bool:
    """Whether an expression can be computed of any values."""
    is_own = not isinstance(node, Call) or node.name not in _UNSURE
    return is_own and all(map(is_sure, parts_of(node)))


def _value(node: Node, rows: pa.RecordBatch, known: MutableMapping[Node, Any]) -> Any:  # noqa: ANN401 - an array or a scalar
    if isinstance(node, Constant):
        return pa.scalar(node.value, node.kind)
    if node not in known:
        if isinstance(node, Column):
            return rows[node.name]
        known[node] = _computed(node, rows, known)
    return known[node]


def _computed(
    node: Call | StructField | Cast, rows: pa.RecordBatch, known: MutableMapping[Node, Any]
) -> Any:  # noqa: ANN401
    match node:
        case StructField(struct, index):
            return pc.struct_field(_value(struct, rows, known), [index])
        case Cast(argument, kind):
            return pc.cast(_value(argument, rows, known), kind, safe=False)
    return OPERATIONS[node.name](*(_value(one, rows, known) for one in node.arguments))


def _null_safe_equal(left: Any, right: Any) -> Any:  # noqa: ANN401
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(pc.equal(left, right), fill_value=False), both_null)


def _among(values: Any, *options: Any) -> Any:  # noqa: ANN401
    is_among = pc.is_in(
        values, value_set=pa.array([option.as_py() for option in options], values.type)
    )
    # Null is among nothing, and not among nothing either.
    return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), is_among)


def _plain(values: Any, what: str) -> Any:  # noqa: ANN401
    """The values, if all are ASCII, of which all engines think alike."""
    if not pc.all(pc.string_is_ascii(values)).as_py():
        raise NotEvaluableError(what)
    return values


def _lower(values: Any) -> Any:  # noqa: ANN401
    return pc.ascii_lower(_plain(values, "lower"))


def _upper(values: Any) -> Any:  # noqa: ANN401
    return pc.ascii_upper(_plain(values, "upper"))


def _matches(values: Any, pattern: Any) -> Any:  # noqa: ANN401
    has_break = pc.match_substring_regex(_plain(values, "rlike"), r"[\r\n]")
    if pc.any(has_break).as_py():  # the engines end a line where each sees one
        raise NotEvaluableError("rlike")
    return pc.match_substring_regex(values, pattern.as_py())


def _day(times: Any) -> Any:  # noqa: ANN401
    """Of instants in UTC; without the zone, which Arrow would ask for each of them."""
    return pc.cast(pc.cast(times, pa.timestamp("us")), pa.date32())


def _divide(left: Any, right: Any) -> Any:  # noqa: ANN401
    """Of doubles, where Spark has null for what is divided by zero."""
    is_zero = pc.equal(right, pa.scalar(0.0, pa.float64()))
    return pc.if_else(is_zero, pa.scalar(None, pa.float64()), pc.divide(left, right))


def _if(condition: Any, then: Any, otherwise: Any) -> Any:  # noqa: ANN401
    """Null is no condition that holds."""
    return pc.if_else(pc.fill_null(condition, fill_value=False), then, otherwise)


def _substring(values: Any, position: Any, length: Any) -> Any:  # noqa: ANN401
    """From a position that counts from 1, in code points."""
    start = position.as_py() - 1
    return pc.utf8_slice_codeunits(values, start, start + length.as_py())


def _concat(*texts: Any) -> Any:  # noqa: ANN401
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


_UNSURE = frozenset({"Lower", "Upper", "RLike"})
"""Operations that raise `NotEvaluableError`."""

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
    "Add": pc.add,
    "Subtract": pc.subtract,
    "Multiply": pc.multiply,
    "Divide": _divide,
    "UnaryMinus": pc.negate,
    "If": _if,
    "Concat": _concat,
    "Substring": _substring,
    "StringTrim": lambda values: pc.utf8_trim(values, " "),
    "StringTrimLeft": lambda values: pc.utf8_ltrim(values, " "),
    "StringTrimRight": lambda values: pc.utf8_rtrim(values, " "),
    "Days": _day,
    "Size": pc.list_value_length,
}
"""By the name of Catalyst's expression, the same on Arrow arrays."""
