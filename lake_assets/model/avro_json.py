"""Avro's schemas as the JSON that they are: what is done with one before anybody parses it."""

from typing import Any


def without_defaults(found: Any) -> Any:  # noqa: ANN401 - JSON
    """A schema without its defaults: what decodes the datums of its own writer all the same."""
    if isinstance(found, dict):
        return {name: without_defaults(one) for name, one in found.items() if name != "default"}
    return [without_defaults(one) for one in found] if isinstance(found, list) else found
