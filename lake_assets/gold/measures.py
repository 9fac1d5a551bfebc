"""What a measure's SQL comes to: a state of rows, how states merge, and the value. Pure.

A measure that is one call of a function below is kept up to date by merging: the state of the new
rows with the state in the gold table. A full recomputation goes through the same states, so the
answer is of the same kind however a view is refreshed. What is not in the table, `distinct`, and
`exact …` (`exact median(x)`) is computed by Spark's own function, and its view always in full.

Two of the states are sketches; their errors hold however often they were merged:

* `approx_count_distinct(x)` is a HyperLogLog sketch of 2^12 registers, at most 4.1 kB: a relative
  standard error of 1.04 / sqrt(2^12) = 1.6 %, so 95 of 100 values are within 3.3 %. Counts of a few
  hundred and below are exact but for hash collisions. `approx_count_distinct(x, rsd)` takes as many
  registers as `rsd` asks for, 2^4 to 2^21.
* `median(x)`, `percentile(x, p)` and `approx_percentile(x, p)` are KLL sketches with k = 400 and at
  most 8 kB: the value is one of `x`'s whose rank is within 0.7 % of the asked one in 99 of 100
  cases. Up to 400 values nothing is lost; still, nothing is interpolated: the median of 1 and 2 is
  1, the least value that no less than the asked share of values is up to. NaN is left out.
  Merging tosses coins, so two refreshes of the same rows may differ within the bound.

(Bounds: Apache DataSketches' pages on HLL and KLL accuracy, for these parameters.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pyspark.sql.types as T  # noqa: N812 - as every Spark guide writes it

_HLL_LG_REGISTERS = 12
_HLL_LG_BOUNDS = (4, 21)
_KLL_K = 400
_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_BROKEN = (T.FloatType, T.DoubleType, T.DecimalType)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A measure that is one call of one aggregate function."""

    function: str
    """Its name in lower case."""

    arguments: tuple[str, ...]
    """SQL of each, over rows."""

    where: str | None = None
    """SQL of the condition in `filter (where …)`."""

    is_distinct: bool = False


@dataclass(frozen=True, slots=True)
class Mergeable:
    """How a measure is computed by way of states."""

    of_rows: str
    """SQL aggregate over rows that gives the state."""

    of_states: Callable[[str], str]
    """SQL aggregate over a column of states that gives the state of all."""

    value: Callable[[str], str] | None = None
    """SQL over a state that gives the value; None where the state is the value."""


class CannotMergeError(Exception):
    """A measure has no state that merges; the message says why, after the measure's name.

    Not an error of the user's: the view is recomputed in full.
    """


def mergeable(call: Call, kind: T.DataType) -> Mergeable:
    """How to compute a call whose value is of type `kind`.

    Raises:
        CannotMergeError: it must be computed from all rows at once.
    """
    if call.is_distinct:
        raise CannotMergeError("distinct values cannot be merged without keeping all of them")
    make = _KINDS.get(call.function)
    if make is None:
        raise CannotMergeError(f"{call.function} cannot be merged")
    return make(call, kind)


def _itself(merge: str) -> Callable[[Call, T.DataType], Mergeable]:
    """The value is the state, and another aggregate merges it."""

    def make(call: Call, _: T.DataType) -> Mergeable:
        rows = _aggregate(call, call.function, *call.arguments)
        return Mergeable(rows, lambda state: f"{merge}({state})")

    return make


def _average(call: Call, kind: T.DataType) -> Mergeable:
    (argument,) = _exactly(call, 1)
    if isinstance(kind, T.DoubleType):
        argument = f"cast(({argument}) as double)"  # as Spark's avg adds up; longs may overflow
    elif not isinstance(kind, T.DecimalType):
        raise CannotMergeError(f"an average of type {kind.simpleString()} cannot be merged")
    total, count = _aggregate(call, "sum", argument), _aggregate(call, "count", argument)
    return Mergeable(
        f"named_struct('sum', {total}, 'n', {count})",
        lambda state: f"named_struct('sum', sum({state}.sum), 'n', sum({state}.n))",
        lambda state: f"{state}.sum / nullif({state}.n, 0)",
    )


def _best(call: Call, _: T.DataType) -> Mergeable:
    """Of several rows with the same order any may be taken, as in Spark."""
    argument, order = _exactly(call, 2)
    least = "min" if call.function == "min_by" else "max"
    by = call.function
    value, bound = _aggregate(call, by, argument, order), _aggregate(call, least, order)

    def of_states(state: str) -> str:
        value = f"{by}({state}.value, {state}.by)"
        return f"named_struct('value', {value}, 'by', {least}({state}.by))"

    return Mergeable(
        f"named_struct('value', {value}, 'by', {bound})", of_states, lambda state: f"{state}.value"
    )


def _spread(call: Call, _: T.DataType) -> Mergeable:
    """Count, mean and sum of squared distances, merged as Chan, Golub and LeVeque do (1979).

    Sums of squares would lose all digits where the mean is large beside the spread.
    """
    (argument,) = _exactly(call, 1)
    argument = f"cast(({argument}) as double)"
    count = _aggregate(call, "count", argument)
    rows = (
        f"named_struct('n', {count}, 'mean', coalesce({_aggregate(call, 'avg', argument)}, 0D), "
        f"'m2', coalesce({_aggregate(call, 'var_pop', argument)} * {count}, 0D))"
    )
    merge = (
        "(a, b) -> case when b.n = 0 then a when a.n = 0 then b else named_struct("
        "'n', a.n + b.n, 'mean', a.mean + (b.mean - a.mean) * b.n / (a.n + b.n), "
        "'m2', a.m2 + b.m2 + pow(b.mean - a.mean, 2) * a.n / (a.n + b.n) * b.n) end"
    )
    none = "named_struct('n', 0L, 'mean', 0D, 'm2', 0D)"
    is_sample = not call.function.endswith("_pop")
    root = "sqrt" if call.function.startswith("std") else ""

    def value(state: str) -> str:
        weight = f"{state}.n - 1" if is_sample else f"{state}.n"
        return f"{root}({state}.m2 / nullif(greatest({weight}, 0L), 0L))"

    return Mergeable(
        rows, lambda state: f"aggregate(collect_list({state}), {none}, {merge})", value
    )


def _distinct(call: Call, _: T.DataType) -> Mergeable:
    argument, *rest = call.arguments
    registers = _registers(rest[0]) if rest else _HLL_LG_REGISTERS
    # A hash of 64 bits is a number for any type there is, and null's own hash would be counted.
    hashed = f"if(({argument}) is null, null, xxhash64({argument}))"
    return Mergeable(
        _aggregate(call, "hll_sketch_agg", hashed, str(registers)),
        lambda state: f"hll_union_agg({state})",
        lambda state: f"hll_sketch_estimate({state})",
    )


def _registers(error: str) -> int:
    """Log2 of the registers for a relative standard error: 0.05 asks for (1.04 / 0.05)^2 = 433."""
    try:
        needed = math.ceil(2 * math.log2(1.04 / float(error)))
    except (ValueError, ZeroDivisionError):
        raise CannotMergeError(f"its error {error} is no plain number") from None
    least, most = _HLL_LG_BOUNDS
    return min(max(needed, least), most)


def _percentile(call: Call, kind: T.DataType) -> Mergeable:
    arguments = call.arguments
    if call.function == "median":
        (argument,), share = _exactly(call, 1), "0.5"
    elif len(arguments) == 2:  # noqa: PLR2004 - what and which
        argument, share = arguments
    else:
        raise CannotMergeError(f"{call.function} with {len(arguments)} arguments cannot be merged")
    element = kind.elementType if isinstance(kind, T.ArrayType) else kind
    if isinstance(element, _WHOLE):
        number = "bigint"
    elif isinstance(element, _BROKEN):
        number = "double"
    else:
        raise CannotMergeError(f"a sketch holds numbers, not {element.simpleString()}")
    cast_type = "array<double>" if isinstance(kind, T.ArrayType) else "double"

    def value(state: str) -> str:
        # An empty sketch has no quantile, and asking it is an error.
        some = f"if(kll_sketch_get_n_{number}({state}) > 0, {state}, null)"
        return f"kll_sketch_get_quantile_{number}({some}, cast(({share}) as {cast_type}))"

    return Mergeable(
        _aggregate(
            call, f"kll_sketch_agg_{number}", f"cast(({argument}) as {number})", str(_KLL_K)
        ),
        lambda state: f"kll_merge_agg_{number}({state}, {_KLL_K})",
        value,
    )


def _exactly(call: Call, number: int) -> tuple[str, ...]:
    if len(call.arguments) != number:
        fact = f"{call.function} with {len(call.arguments)} arguments cannot be merged"
        raise CannotMergeError(fact)
    return call.arguments


def _aggregate(call: Call, function: str, *arguments: str) -> str:
    where = f" filter (where {call.where})" if call.where else ""
    return f"{function}({', '.join(arguments)}){where}"


_KINDS: dict[str, Callable[[Call, T.DataType], Mergeable]] = {
    **dict.fromkeys(("count", "count_if", "sum"), _itself("sum")),
    **dict.fromkeys(("min", "bool_and", "every"), _itself("min")),
    **dict.fromkeys(("max", "bool_or", "some", "any"), _itself("max")),
    "bit_and": _itself("bit_and"),
    "bit_or": _itself("bit_or"),
    "bit_xor": _itself("bit_xor"),
    **dict.fromkeys(("avg", "mean"), _average),
    **dict.fromkeys(("min_by", "max_by"), _best),
    **dict.fromkeys(
        (
            *("stddev", "std", "stddev_samp", "stddev_pop"),
            *("variance", "var_samp", "var_pop"),
        ),
        _spread,
    ),
    "approx_count_distinct": _distinct,
    **dict.fromkeys(
        ("median", "percentile", "approx_percentile", "percentile_approx"), _percentile
    ),
}
