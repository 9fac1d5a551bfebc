"""What to do about what a validator of ours says without saying that: by its words."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

_Step: TypeAlias = str | Callable[[re.Match[str]], str]

_BY_WORDS: Sequence[tuple[str, _Step]] = (
    (r"did you mean '([^']+)'\?", lambda found: f"Write `{found[1]}`"),
    (r"\btwo [\w. ]+ (?:are called|have)\b", "Give one of them another name"),
    (r"\bare given twice\b", "Leave each there once"),
    (r"\bnamed as key and as measure\b", "Give one of them another name"),
    (r"\bnever comes\b", "Name a day that the month has"),
    (r"\bmay not be used\b", "Leave it out"),
    (r"\bis no key of this feed, which has\b", "Use one of those, or add it to the route's `keys`"),
    (r"\bis neither `live` nor\b", "Write one of those"),
    (r"\breads itself\b", "Have one of them read silver instead"),
    (r"\bthere is no feed '", "Write the name of one that there is, or declare it"),
    (r"\bhas no (?:such|gold) view\b", "Write the name of one that there is, or declare it"),
    (
        r"\bis no absolute path\b",
        "Write it from `/` on, as /data/arriving, or as s3://bucket/prefix",
    ),
    (r"\bis no topic: names have\b", "Write such a name"),
    (r"\bis no regular expression\b", r"Correct it there; \ before a sign takes it as it is"),
    (r"\bhas one of .*; none is given$", "Add one of them"),
    (r"\bhas one of .*; not \w+ and\b", "Remove all but one"),
    (r"\bhas a user or a password\b", "Move them there"),
    (r"\bhas an @ before its path\b", "Write it without what is before the @"),
    (r"\bits rows would come back$", "Name another topic"),
    (r"\bmin \d+ is above max \d+", "Write the smaller number as `min`"),
    (r"\bat .* there should be\b", "Write columns as 'time timestamp, player string'"),
    (r"\btakes whole seconds\b", "Write it as 1s, 30s or 5m"),
    (r"\bwould quarantine everything\b", "Add `keys: […]`, or `unknown: create`"),
    (r"\bthe feed has no sink\b", "Add one to `sinks`, `from: bronze`"),
)


def step_for(message: str) -> str:
    """The next step that goes with a message; empty if no words of it tell."""
    for words, step in _BY_WORDS:
        if (found := re.search(words, message)) is not None:
            return step if isinstance(step, str) else step(found)
    return ""
