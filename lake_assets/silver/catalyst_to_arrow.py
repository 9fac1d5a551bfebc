"""Which SQL expressions mean the same to Arrow as to Spark, and what they are there.

Spark parses, resolves and optimizes an expression; what comes out is taken over if each part of it
is one that `silver.arrow_evaluator` computes alike: comparisons of equal types, logic with nulls,
arithmetic, prefixes, lengths, simple patterns. Everything else is computed by Spark itself.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.model.expectations import Expectation
from lake_assets.parquet.arrow_types import SCALARS
from lake_assets.silver.arrow_evaluator import (
    OPERATIONS,
    Call,
    Cast,
    Column,
    Constant,
    Node,
    StructField,
)
from lake_assets.spark.conditions import without_ansi
from lake_assets.spark.determinism import asks_session
from lake_assets.spark.jvm import analyzed_plan, each, optimized_plan, spark_schema

_KINDS = {name: kind for name, kind in SCALARS.items() if name != "binary"}
"""Spark types that operations may have here."""

_ALIKE = {name: kind for name, kind in _KINDS.items() if not pa.types.is_floating(kind)}
"""Spark types whose values compare alike. Floating-point numbers do not: NaN is equal to itself and
greater than all in Spark."""

_COMPARED = frozenset(
    {
        "EqualTo",
        "EqualNullSafe",
        "LessThan",
        "LessThanOrEqual",
        "GreaterThan",
        "GreaterThanOrEqual",
        "In",
    }
)
"""Operations whose arguments must be of one type, and compare alike."""

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_ARITHMETIC = frozenset({"Add", "Subtract", "Multiply", "Divide"})

_OF_ONE_KIND = {
    "Coalesce": tuple(_KINDS),
    "Concat": ("string",),
    "Add": (*_WHOLE, "float", "double"),
    "Subtract": (*_WHOLE, "float", "double"),
    "Multiply": (*_WHOLE, "float", "double"),
    "Divide": ("double",),
    "UnaryMinus": (*_WHOLE, "float", "double"),
    **dict.fromkeys(("Length", "Lower", "Upper"), ("string",)),
    **dict.fromkeys(("StringTrim", "StringTrimLeft", "StringTrimRight"), ("string",)),
}
"""Operations whose arguments must be of one type, and which these may be."""

_CASTS = {
    "tinyint": {"smallint", "int", "bigint", "float", "double", "string"},
    "smallint": {"int", "bigint", "float", "double", "string"},
    "int": {"bigint", "float", "double", "string"},
    "bigint": {"float", "double", "string"},
    "float": {"double"},
    "boolean": {*_WHOLE, "string"},
}
"""By type, those that have a value for each of its values, and in which Arrow has the same. Text of
fractions and of times is written otherwise by each engine."""

_WITH_CONSTANT = frozenset({"In", "StartsWith", "EndsWith", "Contains", "RLike", "Substring"})
"""Operations that take constants after their first argument."""

_LITERAL = r"[A-Za-z0-9 ._:@/,=#%~!;<>'\"-]|\\[.+*?()\[\]{}|^$/\\-]|\\[dw]"
_CLASS = r"\[\^?(?:[A-Za-z0-9_:.@/ ,+]|[A-Za-z0-9]-[A-Za-z0-9]|\\[dw.-])+-?\]"
_PATTERN = re.compile(
    rf"\^?(?:(?:{_LITERAL}|{_CLASS})(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})?)+\$?"
)
"""Patterns that Java's and RE2's syntax agree on: characters, classes and repetitions in a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """All conditions of a feed."""

    conditions: tuple[Node, ...]
    is_fleeting: bool
    """Whether they hold for one batch only, since they ask for the time or the session."""


def program_of(
    session: SparkSession, schema: pa.Schema, expectations: Sequence[Expectation]
) -> Program | None:
    """The expectations for `silver.arrow_evaluator`; None if one of them is for Spark alone."""
    # Rows of an RDD: the optimizer sees through a local relation that it is empty.
    nothing = session.sparkContext.emptyRDD()
    rows = session.createDataFrame(nothing, spark_schema(schema))
    with without_ansi(session):
        judged = rows.select(*(F.expr(expectation.sql) for expectation in expectations))
        plan = optimized_plan(judged)
        is_fleeting = asks_session(judged, [expectation.sql for expectation in expectations])
    if plan.nodeName() != "Project" or not plan.deterministic():
        return None
    defined = defined_below(plan, rows)
    conditions = [node_of(condition, defined) for condition in each(plan.projectList())]
    known = tuple(condition for condition in conditions if condition is not None)
    if len(known) < len(expectations):
        return None
    return Program(conditions=known, is_fleeting=is_fleeting)


def defined_below(plan: Any, rows: DataFrame) -> dict[int, Any]:  # noqa: ANN401 - Java objects
    """By id, what an outermost projection takes: columns, and what others below it compute.

    `x between …` asks for `x` twice, and what is dear to compute is computed once, below.

    Args:
        plan: a projection over `rows`.
        rows: whose columns are `Column`s; a query may write their names in another case.
    """
    columns = each(analyzed_plan(rows).output())
    defined = {column.exprId().id(): Column(str(column.name())) for column in columns}
    below = plan.child()
    while below.nodeName() == "Project":
        for expression in each(below.projectList()):
            if _name(expression) == "Alias":
                defined[expression.exprId().id()] = expression.child()
        below = below.child()
    return defined


def node_of(expression: Any, defined: Mapping[int, Any]) -> Node | None:  # noqa: ANN401 - Java's
    """An optimized expression for `silver.arrow_evaluator`, or None if it is for Spark alone.

    Args:
        expression: of a plan's outermost projection, planned without ANSI mode.
        defined: as `defined_below` has it.
    """
    name, kind = _name(expression), expression.dataType().simpleString()
    if name == "Alias":
        return node_of(expression.child(), defined)
    if name == "AttributeReference":
        meant = defined.get(expression.exprId().id())
        return meant if meant is None or isinstance(meant, Column) else node_of(meant, defined)
    if name == "Literal":
        return _constant(expression.value(), kind)
    if kind not in _KINDS and name != "GetStructField":
        return None
    return _composed(name, kind, expression, defined)


def spark_part(expression: Any, defined: Mapping[int, Any]) -> str:  # noqa: ANN401 - Java's
    """Of an expression for Spark alone, the innermost part for which it is, as SQL."""
    for child in each(expression.children()):
        if node_of(child, defined) is None:
            return spark_part(child, defined)
    meant = None
    if _name(expression) == "AttributeReference":
        meant = defined.get(expression.exprId().id())
    is_below = meant is not None and not isinstance(meant, Column)
    return spark_part(meant, defined) if is_below else str(expression.sql())


def _composed(name: str, kind: str, expression: Any, defined: Mapping[int, Any]) -> Node | None:  # noqa: ANN401
    """An expression of others: a field, a cast, a case, or one of `OPERATIONS`."""
    children = list(each(expression.children()))
    arguments = [node_of(child, defined) for child in children]
    if name == "InSet":
        # What the optimizer makes of a longer `in (...)`; it has values where `In` has literals.
        name, of = "In", children[0].dataType().simpleString()
        arguments += [_constant(value, of) for value in each(expression.hset())]
    known = tuple(argument for argument in arguments if argument is not None)
    # What is constant altogether the optimizer would have computed, were it not special.
    if len(known) < len(arguments) or all(isinstance(node, Constant) for node in known):
        return None
    kinds = [child.dataType().simpleString() for child in children]
    found: Node | None = None
    if name == "GetStructField":
        found = StructField(known[0], expression.ordinal())
    elif name == "Cast":
        found = _cast(expression, known[0], kinds[0], kind)
    elif name == "CaseWhen":
        found = _case(known, kind)
    elif name == "Size":
        found = _size(expression, known[0], kinds[0])
    elif name in OPERATIONS and _fits(name, children, kinds):
        # `try_add` and the like have null for what does not fit, where this wraps around.
        is_legacy = name not in _ARITHMETIC or str(expression.evalMode()) == "LEGACY"
        has_null = any(isinstance(one, Constant) and one.value is None for one in known)
        found = Call(name, known) if is_legacy and (name in _WITH_NULLS or not has_null) else None
    return found


_WITH_NULLS = frozenset({"Coalesce", "If"})
"""Operations that may have a null among their arguments as a constant."""


def _cast(expression: Any, argument: Node, have: str, wanted: str) -> Node | None:  # noqa: ANN401
    if have == "timestamp" and wanted == "date":
        return Call("Days", (argument,)) if expression.timeZoneId().get() == "UTC" else None
    return Cast(argument, _KINDS[wanted]) if wanted in _CASTS.get(have, ()) else None


def _size(expression: Any, argument: Node, of: str) -> Node | None:  # noqa: ANN401
    if not of.startswith("array"):
        return None
    size = Call("Size", (argument,))
    # Of null it is -1 where ANSI mode is off, but for `array_size`.
    is_legacy = bool(expression.legacySizeOfNull())
    return Call("Coalesce", (size, Constant(-1, pa.int32()))) if is_legacy else size


def _case(parts: Sequence[Node], kind: str) -> Node:
    """Conditions, each with its value, and the value of what is left, if there is one."""
    pairs, rest = parts[: len(parts) // 2 * 2], parts[len(parts) // 2 * 2 :]
    found: Node = rest[0] if rest else Constant(None, _KINDS[kind])
    for at in range(len(pairs) - 2, -1, -2):
        found = Call("If", (pairs[at], pairs[at + 1], found))
    return found


def _fits(name: str, children: Sequence[Any], kinds: Sequence[str]) -> bool:
    varies = name in _WITH_CONSTANT and any(_name(child) != "Literal" for child in children[1:])
    if varies or (name.startswith("StringTrim") and len(children) > 1):  # of given characters
        return False
    if name in _COMPARED:
        return len({*kinds}) == 1 and kinds[0] in _ALIKE
    if name in _OF_ONE_KIND:
        return len({*kinds}) == 1 and kinds[0] in _OF_ONE_KIND[name]
    if name == "RLike":
        return _PATTERN.fullmatch(str(children[1].value())) is not None
    if name == "Substring":
        position, length = (child.value() for child in children[1:])
        return kinds[0] == "string" and position > 0 and length >= 0
    return True


def _constant(value: Any, kind: str) -> Constant | None:  # noqa: ANN401 - a Java object
    if kind not in _KINDS:
        return None
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        return None
    is_text = kind == "string" and value is not None
    return Constant(str(value) if is_text else value, _KINDS[kind])


def _name(expression: Any) -> str:  # noqa: ANN401 - a Java object
    return str(expression.getClass().getSimpleName())
