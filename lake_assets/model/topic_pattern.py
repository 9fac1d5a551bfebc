"""Patterns of topics: the regular expressions that Python and Java read alike.

Spark finds a pattern's topics by Java's `Pattern` and everything else here by Python's `re`; where
the two could find different ones, rows would be of topics that nobody knows. So what a pattern may
have is listed, and all else is refused.
"""

import re

_CLASS = r"\[\^?(?:[\w.]|\\[.\-dDwW]|-(?=\])|[A-Za-z0-9]-[A-Za-z0-9])+\]"
_ATOM = rf"[\w\-]|\.|\\[.\-dDwW]|{_CLASS}|\(\?:|\((?!\?)|\)|\||\^|\$"
# A quantifier of a quantifier is a possessive one, or an error, by who reads it.
_TIMES = r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??(?![*+?{])"
_TOKENS = re.compile(rf"(?:{_ATOM}|{_TIMES})+", re.ASCII)

CORRECT_EXPRESSION = r"correct it there; \ before a sign takes it as it is"

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")


def topic_pattern(text: str) -> re.Pattern[str]:
    """A pattern over whole names of topics.

    Raises:
        ValueError: it is none, or has what Java and Python do not read alike.
    """
    if _TOKENS.fullmatch(text) is None:
        message = (
            f"{text!r} is no pattern of topics: it may have letters, digits, . _ - \\. \\d \\w, "
            "[...] (...) (?:...) | ^ $ and the quantifiers * + ? {n,m}"
        )
        raise ValueError(message)
    try:
        return re.compile(text, re.ASCII)
    except re.error as problem:
        message = f"{text!r} is no regular expression ({problem})\n{CORRECT_EXPRESSION}"
        raise ValueError(message) from None


def topic_name(text: str) -> str:
    """The same text.

    Raises:
        ValueError: no topic can have that name.
    """
    if _NAME.fullmatch(text) is None or text in {".", ".."}:
        message = f"{text!r} is no topic\nwrite 1 to 249 letters, digits, '.', '_' and '-'"
        raise ValueError(message)
    return text


def pattern_of_names(names: list[str]) -> str:
    """The pattern of just these topics."""
    return "|".join(name.replace(".", r"\.") for name in names)
