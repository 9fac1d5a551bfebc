"""What a feed's `select` makes of decoded columns: Spark says it, and tasks compute what they can.

Nothing is computed here; `silver.selecting_decoder` does that in Spark's workers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from lake_assets.errors import FeedError, first_line
from lake_assets.model.payload import RESCUED
from lake_assets.model.sources import ORIGIN_NAMES
from lake_assets.silver.arrow_evaluator import Column, Node, is_sure
from lake_assets.silver.catalyst_to_arrow import defined_below, node_of
from lake_assets.spark.conditions import without_ansi
from lake_assets.spark.determinism import is_repeatable
from lake_assets.spark.jvm import analyzed_plan, arrow_schema, each, optimized_plan, spark_schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """A column that a feed's `select` makes."""

    name: str
    kind: pa.DataType
    source: str | None = None
    """The decoded column that it is; None if it is computed."""

    reads: tuple[str, ...] = ()
    """Decoded columns that it is computed from."""

    node: Node | None = None
    """How tasks compute it; None if it is a decoded column, or Spark's to compute."""

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
    """Decoded columns that these read."""


def select(
    session: SparkSession,
    feed: str,
    columns: pa.Schema,
    items: Sequence[str],
    *,
    thing: str = "",
) -> Selection:
    """What `items` make of rows with these columns, in their order.

    Args:
        session: which resolves them.
        feed: whose they are.
        columns: of the rows.
        items: as in Spark's `SELECT`.
        thing: what errors call them; the feed's select by default.

    Raises:
        FeedError: it does not compile, makes several rows of one or one of several, gives a column
            a name that silver has already, or is not the same of the same row each time.
    """
    thing = thing or f"select of feed {feed!r}"
    rows = session.createDataFrame(session.sparkContext.emptyRDD(), spark_schema(columns))
    with without_ansi(session):
        try:
            selected = rows.selectExpr(*items)
            is_alike = is_repeatable(selected, items)
        except AnalysisException as problem:
            raise FeedError(
                thing,
                f"does not compile ({first_line(problem)})",
                f"Correct it; the decoded columns are {', '.join(columns.names) or 'none'}",
            ) from problem
        if not _is_projection(rows, selected):
            fact = "makes several rows of one, or one of several"
            raise FeedError(thing, fact, "Compute each row from its own columns")
        if not is_alike:
            fact = "asks the clock, chance or the session, and a batch that runs again must give "
            fact += "the same rows"
            raise FeedError(thing, fact, "Use what the row has, such as its own time")
        _refuse_names(thing, selected.columns)
        named = [item for item in items if not _is_star(item)]
        reads = _all_reads(rows.selectExpr(*named), rows) if named else set[str]()
        return Selection(
            outputs=tuple(_outputs(selected, rows, columns)),
            sql=tuple(named),
            reads=tuple(sorted(reads)),
        )


def sure_only(selection: Selection) -> Selection:
    """The same where Spark computes what tasks cannot for any value."""
    outputs = (
        replace(one, node=None) if one.node is not None and not is_sure(one.node) else one
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


def _refuse_names(thing: str, names: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    twice = [name for name in names if lower.count(name.lower()) > 1]
    if twice:
        raise FeedError(
            thing, f"makes two columns {twice[0]}", "Give one another name, or leave it"
        )
    for name in names:
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
            yield Output(name=name, kind=columns.field(source).type, source=source, reads=(source,))
            continue
        kind = _storable(selected.schema[name])
        yield Output(name=name, kind=kind, reads=reads, node=nodes.get(expression.exprId().id()))


def _nodes(plan: Any, rows: DataFrame) -> dict[int, Node | None]:  # noqa: ANN401 - of the JVM
    """By id, how tasks compute what the outermost projection makes."""
    if plan.nodeName() != "Project":
        return {}
    below = defined_below(plan, rows)
    expressions = each(plan.projectList())
    return {one.exprId().id(): node_of(one, below) for one in expressions}


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


def _storable(column: StructField) -> pa.DataType:
    """The type of a computed column, as tables have it.

    Raises:
        FeedError: no table of ours can have it.
    """
    try:
        kind = _plain(arrow_schema(StructType([column])).field(0).type)
    except PySparkTypeError:
        kind = None  # Arrow has none
    if kind is None:
        fact = f"is {column.dataType.simpleString()}, which silver's tables cannot have"
        raise FeedError(f"column {column.name!r} of select", fact, "Cast it to another type")
    return kind


def _plain(kind: pa.DataType) -> pa.DataType | None:
    """The type as ours are made: items of lists are called so; None for a type we do not have."""
    if pa.types.is_struct(kind):
        fields = [(field.name, _plain(field.type)) for field in kind]
        return None if any(inner is None for _, inner in fields) else pa.struct(fields)
    if pa.types.is_list(kind):
        item = _plain(kind.value_type)
        return None if item is None else pa.list_(pa.field("item", item))
    if pa.types.is_map(kind):
        key, item = _plain(kind.key_type), _plain(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    is_wrong = (
        pa.types.is_null(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_interval(kind)
        or pa.types.is_time(kind)
        or (pa.types.is_timestamp(kind) and kind.tz is None)
    )
    return None if is_wrong else kind
