"""What Typer says of a value that an option cannot have, in plain words."""

import re
from collections.abc import Sequence

_WORDS: Sequence[tuple[str, str]] = (
    (
        r"Value error, '(.*)' does not match the formats .*",
        r"'\1' is no time: write 2026-11-24T12:00:00",
    ),
    (r"Value error, (.*)", r"\1"),
    (r"Input should be a valid integer.*", "it is no whole number"),
    (r"Input should be a valid number.*", "it is no number"),
    (r"Input should be greater than or equal to (.*)", r"it must be \1 or more"),
    (r"Input should be less than or equal to (.*)", r"it must be \1 or less"),
    (r"Input should be greater than (.*)", r"it must be more than \1"),
    (r"Input should be less than (.*)", r"it must be less than \1"),
    (r"Input should be (.*)", r"it must be \1"),
)


def in_words(message: str) -> str:
    """A message of Typer's; what is none of its checks of values is as it was."""
    for pattern, words in _WORDS:
        if (found := re.fullmatch(pattern, message.strip(), re.DOTALL)) is not None:
            return found.expand(words)
    return message
