"""What Spark says of an error, for a line of ours: its words, without what it has around them."""

import re

from lake_assets.errors import first_line

_AROUND = re.compile(r"^\[[A-Z_.0-9]+\] |\s*SQLSTATE: \w+.*$|;? line \d+ pos \d+$")
"""The name of the condition before them; its number, and the place in the text, behind."""


def spark_words(problem: Exception) -> str:
    """The first line of an error that Spark raised, with words alone."""
    return _AROUND.sub("", first_line(problem)).strip().rstrip(".")
