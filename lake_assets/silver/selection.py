"""What a feed's `select` makes of decoded columns: Spark says it, and tasks compute what they can.

Nothing is computed here; `silver.selecting_decoder` does that in Spark's workers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import FeedError
from lake_assets.model.misfits import RESCUED
from lake_assets.model.sources import ORIGIN_NAMES
from lake_assets.model.transforms import ELEMENT
from lake_assets.silver.arrow_evaluator import Column, Node, is_sure
from lake_assets.silver.catalyst_to_arrow import defined_below, node_of, spark_part
from lake_assets.silver.explosion import Explosion, explosion_of, without_generators
from lake_assets.silver.null_propagation import is_null_with_any
from lake_assets.silver.storable_types import storable
from lake_assets.spark.conditions import without_ansi
from lake_assets.spark.determinism import is_repeatable
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.jvm import analyzed_plan, each, optimized_plan, spark_schema

UNSURE = "a text that is not plain ASCII"
"""Stands for the part of an expression that tasks cannot compute where values have shown it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """A column that a feed's `select` makes."""

    name: str
    kind: pa.DataType
    source: str | None = None
    """The decoded column that it is; None if it is computed."""

    reads: tuple[str, ...] = ()
    """Decoded columns that it is computed from."""

    needs: tuple[str, ...] = ()
    """The same, where columns of the explosion's are read by their own names."""

    node: Node | None = None
    """How tasks compute it; None if it is a decoded column, or Spark's to compute."""

    is_null_with_any: bool = False
    """Whether it is null where any of what it reads is: rows without that column have none."""

    spark_part: str = ""
    """Where Spark computes it, the part of it that tasks cannot."""

    @property
    def is_by_spark(self) -> bool:
        """Whether Spark computes it."""
        return self.source is None and self.node is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """A feed's `select`, for some decoded columns."""

    outputs: tuple[Output, ...]
    sql: tuple[str, ...]
    """Its items without stars: what makes all columns that are computed."""

    reads: tuple[str, ...]
    """Decoded columns that these read, and columns of the explosion's."""

    explosion: Explosion | None = None
    """The array of which each element becomes a row; then the last column is its number."""


def select(  # noqa: PLR0913 - which items, of which columns, and for whom
    session: SparkSession,
    feed: str,
    columns: pa.Schema,
    items: Sequence[str],
    renames: Renames | None = None,
    *,
    thing: str = "",
    rows: DataFrame | None = None,
) -> Selection:
    """What `items` make of rows with these columns, in their order.

    Args:
        session: which resolves them.
        feed: whose they are.
        columns: of the rows.
        items: as in Spark's `SELECT`.
        renames: older names of columns and of fields, for what is told of such.
        thing: what errors call them; the feed's select by default.
        rows: as `no_rows` makes them of the columns, where many are asked about the same.

    Raises:
        FeedError: it does not compile, makes several rows of one or one of several, gives a column
            a name that silver has already, or is not the same of the same row each time.
    """
    thing = thing or f"select of feed {feed!r}"
    rows = no_rows(session, columns) if rows is None else rows
    with without_ansi(session):
        try:
            explosion = explosion_of(thing, rows, columns, items)
            if explosion is not None:
                columns = pa.schema([*columns, *explosion.columns])
                rows = no_rows(session, columns)
                items = without_generators(items, explosion)
            selected = rows.selectExpr(*items)
            is_alike = is_repeatable(selected, items)
        except AnalysisException as problem:
            raise _not_compiled(thing, problem, columns, renames or Renames()) from problem
        if not _is_projection(rows, selected):
            fact = "makes several rows of one, or one of several"
            raise FeedError(thing, fact, "Compute each row from its own columns")
        if not is_alike:
            fact = "asks the clock, chance or the session, and a batch that runs again must give "
            fact += "the same rows"
            raise FeedError(thing, fact, "Use what the row has, such as its own time")
        names = selected.columns if explosion is None else selected.columns[:-1]
        # Its number is no name that values brought along.
        decoded = [n for n in columns.names if explosion is None or n != ELEMENT]
        _refuse_names(thing, names, decoded)
        named = [item for item in items if not _is_star(item)]
        reads = _all_reads(rows.selectExpr(*named), rows) if named else set[str]()
        outputs = tuple(_outputs(selected, rows, columns))
        if explosion is not None:
            outputs = tuple(_of_elements(thing, one, explosion) for one in outputs)
        return Selection(
            outputs=outputs, sql=tuple(named), reads=tuple(sorted(reads)), explosion=explosion
        )


def no_rows(session: SparkSession, columns: pa.Schema) -> DataFrame:
    """No rows with these columns."""
    return session.createDataFrame(session.sparkContext.emptyRDD(), spark_schema(columns))


def _of_elements(thing: str, one: Output, explosion: Explosion) -> Output:
    """A column where each element is a row: what is one of an element's is no decoded one."""
    if one.source is not None and one.source in explosion.columns.names:
        one = replace(one, source=None, node=Column(one.source))
    holds = one.source == explosion.holder or one.node in explosion.holders
    if holds or (one.is_by_spark and explosion.holder in one.reads):
        fact = f"makes {one.name} of {explosion.holder}, which each of its elements would repeat"
        step = f"Leave it out: `* except ({explosion.holder})`, and select what you need of it"
        raise FeedError(thing, fact, step)
    own = (explosion.holder if name in explosion.columns.names else name for name in one.reads)
    return replace(one, reads=tuple(sorted({*own})))


def _not_compiled(
    thing: str, problem: AnalysisException, columns: pa.Schema, renames: Renames
) -> FeedError:
    fact = f"does not compile ({spark_words(problem)})"
    said = problem.getMessageParameters() or {}
    missing = said.get("objectName", "").replace("`", "").split(".")[0].lower()
    for old, now in renames.now.items():
        if old.lower() == missing and now in columns.names:
            fact = f"names {old}, which newer versions of the schema call {now}; {fact}"
            return FeedError(thing, fact, f"Write {now}, or `{now} as {old}` to keep the column")
    field = said.get("fieldName", "").replace("`", "").lower()
    for old, now in _renamed_fields(renames) if field else ():
        if old.lower() == field:
            fact = f"names a field {old}, which newer versions of the schema call {now}; {fact}"
            return FeedError(thing, fact, f"Write {now}")
    there = ", ".join(columns.names) or "none"
    return FeedError(thing, fact, f"Correct it; the decoded columns are {there}")


def _renamed_fields(renames: Renames) -> Iterator[tuple[str, str]]:
    """Older and newest names of fields within columns, at any depth."""
    for inner in renames.within.values():
        yield from inner.now.items()
        yield from _renamed_fields(inner)


def sure_only(selection: Selection) -> Selection:
    """The same where Spark computes what tasks cannot for any value."""
    outputs = (
        replace(one, node=None, spark_part=UNSURE)
        if one.node is not None and not is_sure(one.node)
        else one
        for one in selection.outputs
    )
    return replace(selection, outputs=tuple(outputs))


def has_star(items: Sequence[str]) -> bool:
    """Whether all decoded columns are selected, but some."""
    return any(map(_is_star, items))


def _is_star(item: str) -> bool:
    return item.startswith("*")


def _all_reads(selected: DataFrame, rows: DataFrame) -> set[str]:
    plan = analyzed_plan(selected)
    below = defined_below(plan, rows)
    expressions = each(plan.projectList())
    return {name for one in expressions for name in _reads(one, below)}


def _refuse_names(thing: str, names: Sequence[str], decoded: Sequence[str]) -> None:
    """Refuse names that silver has, or that a feed's items give; values may have `_id` and such."""
    lower = [name.lower() for name in names]
    twice = [name for name in names if lower.count(name.lower()) > 1]
    if twice:
        raise FeedError(
            thing, f"makes two columns {twice[0]}", "Give one another name, or leave it"
        )
    for name in (name for name in names if name not in decoded):
        is_taken = name.lower() in ORIGIN_NAMES or (name.startswith("_") and name != RESCUED)
        if is_taken or name.startswith("#"):
            fact = f"makes a column {name}, and such names are silver's own"
            raise FeedError(thing, fact, "Name it otherwise: `… as other_name`")


def _is_projection(rows: DataFrame, selected: DataFrame) -> bool:
    """Whether there is a row for each of `rows`, made from it alone."""
    plan, base = analyzed_plan(selected), analyzed_plan(rows)
    if not plan.subqueriesAll().isEmpty():
        return False
    while plan.nodeName() == "Project":
        plan = plan.child()
    return bool(plan.fastEquals(base))


def _outputs(selected: DataFrame, rows: DataFrame, columns: pa.Schema) -> Iterator[Output]:
    analyzed = analyzed_plan(selected)
    below = defined_below(analyzed, rows)
    nodes = _nodes(optimized_plan(selected), rows)
    for expression in each(analyzed.projectList()):
        name = str(expression.name())
        reads = tuple(sorted(_reads(expression, below)))
        source = _source(expression, below)
        if source is not None:
            kind = columns.field(source).type
            yield Output(
                name=name,
                kind=kind,
                source=source,
                reads=reads,
                needs=reads,
                is_null_with_any=True,
            )
            continue
        node, part = nodes.get(expression.exprId().id(), (None, ""))
        yield Output(
            name=name,
            kind=storable(selected.schema[name]),
            reads=reads,
            needs=reads,
            is_null_with_any=is_null_with_any(expression, below),
            node=node,
            spark_part=part,
        )


def _nodes(plan: Any, rows: DataFrame) -> dict[int, tuple[Node | None, str]]:  # noqa: ANN401 - of the JVM
    """By id, how tasks compute what the outermost projection makes, or what of it they cannot."""
    if plan.nodeName() != "Project":
        return {}
    below = defined_below(plan, rows)
    found = {}
    for one in each(plan.projectList()):
        node = node_of(one, below)
        found[one.exprId().id()] = (node, "" if node else spark_part(one, below))
    return found


def _source(expression: Any, below: Mapping[int, Any]) -> str | None:  # noqa: ANN401 - of the JVM
    """The decoded column that an expression is, under whatever name."""
    while True:
        kind = expression.getClass().getSimpleName()
        if kind == "Alias":
            expression = expression.child()
        elif kind != "AttributeReference":
            return None
        else:
            expression = below[expression.exprId().id()]
            if isinstance(expression, Column):
                return expression.name


def _reads(expression: Any, below: Mapping[int, Any]) -> set[str]:  # noqa: ANN401 - of the JVM
    """Names of the decoded columns that an expression is computed from."""
    names: set[str] = set()
    for attribute in each(expression.references()):
        meant = below[attribute.exprId().id()]
        names |= {meant.name} if isinstance(meant, Column) else _reads(meant, below)
    return names
