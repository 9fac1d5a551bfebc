"""What sqlglot finds wrong with a text of SQL, in words without the parser's own classes; pure."""

from collections.abc import Mapping
from typing import Any


def complaint_of(error: Mapping[str, Any]) -> str:
    """What is wrong where the parser stopped; `error` is one of a `ParseError.errors`."""
    said = str(error.get("description") or "").rstrip(".")
    here = str(error.get("highlight") or "").strip()
    before = str(error.get("start_context") or "").split()
    after = f" after `{before[-1]}`" if before else ""
    if said.startswith(("Required keyword", "Required argument")):
        is_at_end = not str(error.get("end_context") or "").strip()
        shown = f" after `{here}`" if here and is_at_end else f" before `{here}`" if here else after
        return f"something is missing{shown}"
    if said.startswith("The number of provided arguments"):
        return f"there are too many arguments{after}"
    if said.startswith("Expecting ") and "<" not in said:
        wanted = said.removeprefix("Expecting ")
        return f"`{wanted}` is missing at `{here}`" if here else f"`{wanted}` is missing"
    if here:
        return f"`{here}` does not go there{after}"
    return f"it ends too early{after}"
