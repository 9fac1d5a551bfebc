"""Which expressions are null wherever a column that they read is, as Spark itself says."""

from collections.abc import Mapping
from typing import Any

from lake_assets.silver.arrow_evaluator import Column
from lake_assets.spark.jvm import each


def is_null_with_any(expression: Any, defined: Mapping[int, Any]) -> bool:  # noqa: ANN401 - Java's
    """Whether an expression is null for each row that has null in one of the columns it reads.

    Args:
        expression: analyzed; one that reads no column gives the same of every row.
        defined: as `silver.catalyst_to_arrow.defined_below` has it.
    """
    name = str(expression.getClass().getSimpleName())
    if name == "AttributeReference":
        meant = defined[expression.exprId().id()]
        return isinstance(meant, Column) or is_null_with_any(meant, defined)
    if name not in {"Alias", "Literal"} and not expression.nullIntolerant():
        return False
    return all(is_null_with_any(child, defined) for child in each(expression.children()))
