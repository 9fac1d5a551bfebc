"""Which series a PromQL query gives over one scrape: the labels, not the values.

Parsed by the grammar that Prometheus has. A function of a range keeps the series it is given, since
two scrapes of a process have the same ones; comparisons are taken to hold. What a dashboard asks
for and no scrape has, a label that a sum is by and no series has, and two sides that never match
come out as no series, or as a label that is empty.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import promql_parser as promql

Labels: TypeAlias = Mapping[str, str]
Scrape: TypeAlias = Sequence[Labels]
"""Each with the metric's name as `__name__`."""

SCALAR: Scrape = ({},)

_KEEP_NAME = {"last_over_time"}
_OF_NOTHING = {"time", "pi"}


def series_of(query: str, scrape: Scrape) -> Scrape:
    """The series that a query gives.

    Raises:
        ValueError: it is no PromQL.
        AssertionError: it names a label that none of its series has.
    """
    return _of(promql.parse(query), scrape)


def _of(expr: Any, scrape: Scrape) -> Scrape:  # noqa: PLR0911 - one a kind of node
    match expr:
        case promql.NumberLiteral():
            return SCALAR
        case promql.ParenExpr() | promql.UnaryExpr():
            return _of(expr.expr, scrape)
        case promql.MatrixSelector():
            return _selected(expr.vector_selector, scrape)
        case promql.VectorSelector():
            return _selected(expr, scrape)
        case promql.Call():
            return _called(expr, scrape)
        case promql.AggregateExpr():
            return _aggregated(expr, _of(expr.expr, scrape))
        case promql.BinaryExpr():
            return _joined(expr, _of(expr.lhs, scrape), _of(expr.rhs, scrape))
    raise NotImplementedError(type(expr))


def _selected(selector: Any, scrape: Scrape) -> Scrape:
    named = [labels for labels in scrape if labels["__name__"] == selector.name]
    for matcher in selector.matchers.matchers:
        has_label = not named or any(matcher.name in labels for labels in named)
        assert has_label, f"{selector}: nothing has {matcher.name}"
        named = [labels for labels in named if _fits(matcher, labels.get(matcher.name, ""))]
    return named


def _fits(matcher: Any, value: str) -> bool:
    op = matcher.op
    is_pattern = op in (promql.MatchOp.Re, promql.MatchOp.NotRe)
    fits = bool(re.fullmatch(matcher.value, value) if is_pattern else value == matcher.value)
    return fits == bool(op in (promql.MatchOp.Re, promql.MatchOp.Equal))


def _called(call: Any, scrape: Scrape) -> Scrape:
    if call.func.name in _OF_NOTHING:
        return SCALAR
    vectors = [
        arg for arg in call.args if not isinstance(arg, promql.NumberLiteral | promql.StringLiteral)
    ]
    found = _of(vectors[0], scrape)
    lost = set() if call.func.name in _KEEP_NAME else {"__name__"}
    if call.func.name == "histogram_quantile":
        assert all("le" in labels for labels in found), f"{call}: no buckets"
        lost.add("le")
    return _without(found, lost)


def _aggregated(aggregate: Any, found: Scrape) -> Scrape:
    if aggregate.modifier is None:
        return SCALAR if found else ()
    names = set(aggregate.modifier.labels)
    have = {name for labels in found for name in labels}
    assert not found or names <= have, f"{aggregate}: nothing has {sorted(names - have)}"
    if aggregate.modifier.type == promql.AggModifierType.By:
        return _with(found, names)
    return _without(found, {*names, "__name__"})


def _joined(expr: Any, left: Scrape, right: Scrape) -> Scrape:
    op = str(expr.op)
    if op == "or":
        return [*left, *right]
    if isinstance(expr.rhs, promql.NumberLiteral) or _is_scalar(expr.rhs):
        return left
    if isinstance(expr.lhs, promql.NumberLiteral) or _is_scalar(expr.lhs):
        return _without(right, {"__name__"})
    matching = expr.modifier.matching if expr.modifier else None
    there = {_key(labels, matching) for labels in right}
    met = [labels for labels in left if (_key(labels, matching) in there) != (op == "unless")]
    return met if op in {"and", "unless"} else _without(met, {"__name__"})


def _is_scalar(expr: Any) -> bool:
    return isinstance(expr, promql.Call) and expr.func.name in _OF_NOTHING


def _key(labels: Labels, matching: Any) -> frozenset[tuple[str, str]]:
    plain = {name: value for name, value in labels.items() if name != "__name__"}
    if matching is None:
        return frozenset(plain.items())
    is_on = matching.type == promql.LabelModifierType.Include
    named = set(matching.labels)
    return frozenset((n, v) for n, v in plain.items() if (n in named) == is_on)


def _with(found: Scrape, names: set[str]) -> Scrape:
    return _distinct({n: v for n, v in labels.items() if n in names} for labels in found)


def _without(found: Scrape, names: set[str]) -> Scrape:
    return _distinct({n: v for n, v in labels.items() if n not in names} for labels in found)


def _distinct(found: Any) -> Scrape:
    return [dict(one) for one in {frozenset(labels.items()): None for labels in found}]
