"""A mark of CSV's as Arrow takes it: text of ASCII."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator


def _of_ascii(mark: str) -> str:
    if not mark.isascii():
        message = f"{mark!r} is not ASCII: choose another mark, or have producers write one"
        raise ValueError(message)
    return mark


AsciiMark: TypeAlias = Annotated[str, AfterValidator(_of_ascii)]
"""What tells fields apart; refused if it is not ASCII."""
