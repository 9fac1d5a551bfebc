"""What Spark's parser and analyser find wrong with a text, as a fault with its place."""

import re

from pyspark.errors import ParseException, PySparkException

from lake_assets.errors import first_line
from lake_assets.validation.sql_text import Fault

_PLACE = re.compile(r"line (\d+),? pos (\d+)")

_NOISE = re.compile(r"^\[[A-Z_.0-9]+\] |\s*SQLSTATE: \w+.*$")
"""What Spark's messages have around their words: the name of the condition, its number."""


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
        step = f"Columns that look alike: {there}" if there else "Name one of its columns"
        return Fault(start, end, f"there is no column `{name}`", step)
    if condition.startswith("UNRESOLVED_ROUTINE"):
        name = said.get("routineName", "").replace("`", "")
        step = "Use one of Spark's built-in functions"
        return Fault(start, end, f"there is no function `{name}`", step)
    if isinstance(problem, ParseException) and said.get("error"):
        hint = said.get("hint", "")
        return Fault(start, end, f"does not parse at {said['error']}{hint}", "Correct it there")
    words = _NOISE.sub("", first_line(problem)).strip().rstrip(".")
    return Fault(start, end, f"does not compile: {words}", "Correct it there")


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
