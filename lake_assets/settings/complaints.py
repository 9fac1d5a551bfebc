"""What is wrong with settings, in plain words, from what pydantic says of them.

The value is in the words unless it may be a secret.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError

from lake_assets.errors import SettingsError
from lake_assets.model.validator_messages import fact_and_step

_SHOWN_CHARACTERS = 60
"""Of a value: enough to find it again."""

_WITH_LOGIN = re.compile(r":.*@")
"""An address with what may be a password in it: it is not shown."""

_WORDS: Mapping[str, str] = {
    "int_parsing": "is no whole number",
    "int_from_float": "is no whole number",
    "int_type": "is no whole number",
    "float_parsing": "is no number",
    "float_type": "is no number",
    "finite_number": "is no number that ends",
    "bool_parsing": "is neither true nor false",
    "bool_type": "is neither true nor false",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "string_too_short": "must have {min_length} characters or more",
    "string_too_long": "must have {max_length} characters or less",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "string_type": "has a value that is no text",
    "string_pattern_mismatch": "has characters that it may not have",
}
"""By pydantic's names."""


def complaints_of(
    problem: ValidationError, model: type[BaseModel], prefix: str
) -> list[SettingsError]:
    """Every error, once, each with its variable.

    Args:
        problem: what pydantic says.
        model: of the settings.
        prefix: of all variables.
    """
    found: dict[str, SettingsError] = {}
    for error in problem.errors():
        # A part behind the field is a key of its JSON.
        place = [str(part) for part in error["loc"][:2]]
        variable = prefix + "_".join(place).upper()
        shown = "" if _is_secret(model, place) else _shown(error["input"])
        fact, step = fact_and_step(_fact(error["type"], error["msg"], error.get("ctx", {})))
        words = fact if not shown or shown in fact else f"{fact}, and is {shown}"
        found.setdefault(variable, SettingsError(variable, words, step or _CORRECT))
    return list(found.values())


_CORRECT = "Correct or unset it"


def _fact(kind: str, message: str, context: Mapping[str, Any]) -> str:
    if kind == "value_error":
        return message.removeprefix("Value error, ")  # our own words
    words = _WORDS.get(kind)
    if words is None:
        return "cannot be used"
    return words.format_map({name: _number(value) for name, value in context.items()})


def _number(value: object) -> object:
    return f"{value:g}" if isinstance(value, float) else value


def _shown(value: object) -> str:
    text = value if isinstance(value, str) and not _WITH_LOGIN.search(value) else ""
    cut = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return repr(text[:_SHOWN_CHARACTERS] + cut) if text else ""


def _is_secret(model: type[BaseModel], place: Sequence[str]) -> bool:
    """Whether a field's value may be one; what is not known may."""
    kind: Any = model
    for name in place:
        fields = getattr(kind, "model_fields", {})
        if name not in fields:
            return True
        kind = fields[name].annotation
    return has_secrets(kind) or place[-1] == "url"


def has_secrets(kind: object) -> bool:
    """Whether values of a type are secrets, or have some in them."""
    if get_origin(kind) is None:
        return kind is SecretStr
    return any(has_secrets(part) for part in get_args(kind))
