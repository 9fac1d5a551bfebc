"""What Spark says of SQL that does not compile, cut down to what a user of a feed can act on."""

from pyspark.errors import AnalysisException


def first_line(problem: AnalysisException) -> str:
    """The complaint itself, without the plan and the call site that follow it."""
    return str(problem.getMessage() or problem).splitlines()[0].rstrip(".")
