"""Which expectations mean the same to Arrow as to Spark, and what they are there.

Spark parses, resolves and optimizes a condition; what comes out is taken over if each part of it is
one that `silver.arrow_evaluator` computes alike: comparisons of equal types, logic with nulls,
prefixes, lengths, simple patterns. Everything else is judged by Spark itself.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lake_assets.model.expectations import Expectation
from lake_assets.silver.arrow_evaluator import OPERATIONS, Call, Column, Constant, Node
from lake_assets.spark.conditions import without_ansi
from lake_assets.spark.determinism import asks_session
from lake_assets.spark.jvm import optimized_plan, spark_schema

_KINDS = {
    "string": pa.string(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
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
        "Coalesce",
    }
)
"""Operations whose arguments must be of one type."""

_WITH_CONSTANT = frozenset({"In", "StartsWith", "EndsWith", "Contains", "RLike"})
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
    defined = _defined_below(plan)
    conditions = [_node(expression, defined) for expression in _each(plan.projectList().iterator())]
    known = tuple(condition for condition in conditions if condition is not None)
    if len(known) < len(expectations):
        return None
    return Program(conditions=known, is_fleeting=is_fleeting)


def _defined_below(plan: Any) -> dict[int, Any]:  # noqa: ANN401 - Java objects
    """By id, what projections under the outermost one compute for it.

    `x between …` asks for `x` twice, and what is dear to compute is computed once, below.
    """
    defined: dict[int, Any] = {}
    below = plan.child()
    while below.nodeName() == "Project":
        for expression in _each(below.projectList().iterator()):
            if _name(expression) == "Alias":
                defined[expression.exprId().id()] = expression.child()
        below = below.child()
    return defined


def _node(expression: Any, defined: Mapping[int, Any]) -> Node | None:  # noqa: ANN401 - Java's
    name, kind = _name(expression), expression.dataType().simpleString()
    if name == "Alias":
        return _node(expression.child(), defined)
    if kind not in _KINDS:
        return None
    if name == "AttributeReference":
        meant = defined.get(expression.exprId().id())
        return Column(expression.name()) if meant is None else _node(meant, defined)
    if name == "Literal":
        return _constant(expression.value(), kind)
    return _call(name, expression, defined)


def _call(name: str, expression: Any, defined: Mapping[int, Any]) -> Node | None:  # noqa: ANN401
    children = list(_each(expression.children().iterator()))
    arguments = [_node(child, defined) for child in children]
    if name == "InSet":
        # What the optimizer makes of a longer `in (...)`; it has values where `In` has literals.
        name, kind = "In", children[0].dataType().simpleString()
        arguments += [_constant(value, kind) for value in _each(expression.hset().iterator())]
    elif name not in OPERATIONS or not children or not _fits(name, children):
        return None
    known = tuple(argument for argument in arguments if argument is not None)
    is_known = len(known) == len(arguments)
    # What is constant altogether the optimizer would have computed, were it not special.
    is_of_rows = any(not isinstance(argument, Constant) for argument in known)
    return Call(name, known) if is_known and is_of_rows else None


def _fits(name: str, children: Sequence[Any]) -> bool:
    if name in _COMPARED and len({child.dataType().simpleString() for child in children}) > 1:
        return False
    if name in _WITH_CONSTANT and any(_name(child) != "Literal" for child in children[1:]):
        return False
    if name in {"Length", "Lower", "Upper"}:
        return bool(children[0].dataType().simpleString() == "string")
    if name == "RLike":
        return _PATTERN.fullmatch(str(children[1].value())) is not None
    return True


def _constant(value: Any, kind: str) -> Constant | None:  # noqa: ANN401 - a Java object
    if value is None or kind not in _KINDS:
        return None
    return Constant(str(value) if kind == "string" else value, _KINDS[kind])


def _name(expression: Any) -> str:  # noqa: ANN401 - a Java object
    return str(expression.getClass().getSimpleName())


def _each(found: Any) -> Iterator[Any]:  # noqa: ANN401 - Java objects
    while found.hasNext():
        yield found.next()
