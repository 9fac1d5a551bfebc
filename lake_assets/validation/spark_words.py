"""What Spark's parser and analyser find wrong with a text, as a fault with its place."""

import re

from pyspark.errors import ParseException, PySparkException

from lake_assets.spark.error_words import spark_words
from lake_assets.validation.sql_text import Fault, nearest

_PLACE = re.compile(r"line (\d+),? pos (\d+)")


def fault_of(problem: PySparkException, sql: str, behind: int = 0) -> Fault:
    """What is wrong, and where.

    Args:
        problem: as Spark tells it.
        sql: the text.
        behind: how many characters stood before it in what Spark read.
    """
    said = problem.getMessageParameters() or {}
    start, end = _span(problem, sql, behind)
    condition = problem.getCondition() or ""
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = said.get("objectName", "").replace("`", "")
        there = said.get("proposal", "").replace("`", "")
        meant = nearest(name.rpartition(".")[2], there.split(", ")) if there else None
        step = f"Write `{meant}`" if meant else f"Columns that look alike are {there}"
        return Fault(start, end, f"there is no column `{name}`", step if there else "Leave it out")
    if condition.startswith("UNRESOLVED_ROUTINE"):
        name = said.get("routineName", "").replace("`", "")
        step = "Use one of Spark's built-in functions"
        return Fault(start, end, f"there is no function `{name}`", step)
    if condition.startswith("UNBOUND_SQL_PARAMETER"):
        fact = "has a parameter (`:name` or `?`), which nobody gives a value"
        return Fault(start, end, fact, "Write the value itself")
    if isinstance(problem, ParseException) and said.get("error"):
        hint = said.get("hint", "")
        return Fault(start, end, f"does not parse at {said['error']}{hint}", "Correct it there")
    if condition.startswith("WRONG_NUM_ARGS"):
        name = said.get("functionName", "").replace("`", "")
        wanted, given = said.get("expectedNum", ""), said.get("actualNum", "")
        fact = f"`{name}` takes {wanted.strip('[]')} arguments, and here are {given}"
        return Fault(start, end, fact, f"Its page is {_FUNCTIONS}#{name}")
    step = _STEPS.get(condition.partition(".")[0], "Correct it there")
    return Fault(start, end, f"does not compile: {spark_words(problem)}", step)


_FUNCTIONS = "https://spark.apache.org/docs/latest/api/sql/"

_STEPS = {
    "DATATYPE_MISMATCH": "Cast it to a type that goes with it",
    "MISSING_GROUP_BY": "Write `group by` and the columns that are no aggregates",
    "MISSING_AGGREGATION": "Put it into `group by`, or into an aggregate such as max(…)",
    "NESTED_AGGREGATE_FUNCTION": "Compute the inner one in a query of its own, `with x as (…)`",
    "FIELD_NOT_FOUND": "Write one of those",
}
"""By Spark's name of what is wrong."""


def _span(problem: PySparkException, sql: str, behind: int) -> tuple[int, int]:
    """The characters that are meant; all of them where Spark does not tell."""
    for context in problem.getQueryContext() or ():
        try:
            start, end = context.startIndex() - behind, context.stopIndex() + 1 - behind
        except (PySparkException, NotImplementedError):
            continue  # of what was called in Python, not written
        if 0 <= start < end <= len(sql):
            return start, end
    if (found := _PLACE.search(str(problem))) is not None:
        lines = sql.split("\n")
        line, column = int(found[1]) - 1, int(found[2])
        if line < len(lines):
            start = sum(len(one) + 1 for one in lines[:line]) + column - (0 if line else behind)
            word = re.match(r"\w+|\S", sql[start:]) if 0 <= start < len(sql) else None
            return (start, start + word.end()) if word else (0, len(sql))
    return 0, len(sql)
