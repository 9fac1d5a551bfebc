"""The marks that tell fields of CSV apart: what is wrong with those that a feed declares. Pure."""

from collections.abc import Mapping


def complaint(marks: Mapping[str, str], null_value: str) -> str:
    """Why marks cannot be told apart; empty if they can.

    Args:
        marks: `delimiter`, `quote` and `escape`; the last two may be empty.
        null_value: what a field says that is null.
    """
    for name, mark in marks.items():
        if len(mark) != 1 and (name == "delimiter" or mark):
            return f"{name} is one character, not {mark!r}"
        if mark and mark in "\r\n\0":
            return f"{name} cannot be the end of a line or a null character"
        if not mark.isascii():
            return f"{name} {mark!r} is not ASCII\nchoose another one, or have producers write one"
    given = [mark for mark in marks.values() if mark]
    if len(set(given)) < len(given):
        return "delimiter, quote and escape are different characters"
    if any(mark in null_value for mark in (*given, "\r", "\n")):
        return "null_value has none of the characters that CSV gives a meaning"
    return ""
