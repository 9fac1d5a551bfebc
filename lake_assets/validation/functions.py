"""Which functions Spark's SQL has: a list that was taken from it; a test compares it with Spark's.

To ask Spark takes seconds; the list changes with Spark's version alone.
"""

from functools import cache
from pathlib import Path

_LIST = Path(__file__).with_name("spark_functions.txt")

_BY_GRAMMAR = frozenset(
    {
        *("cast", "try_cast", "extract", "trim", "overlay", "position", "substring", "substr"),
        *("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff"),
        *("struct", "first", "last", "any_value", "exists", "values", "table", "unnest"),
        *("percentile_cont", "percentile_disc", "decimal", "dec", "numeric", "varchar", "char"),
    }
)
"""What Spark's grammar has beside its list, and types with arguments."""


@cache
def known_functions() -> frozenset[str]:
    """Their names, in lower case."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#")) | _BY_GRAMMAR
