"""What pydantic finds wrong with a feed, in words that say what would be right."""

from difflib import get_close_matches
from types import UnionType
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lake_assets.feeds.document import Loc
from lake_assets.model.feeds import Feed


def explain(problem: ErrorDetails) -> str:
    """Field, fact and, where it is not in pydantic's words already, what would be right."""
    loc = problem["loc"]
    where = dotted(loc) or "the file"
    kind = problem["type"]
    if kind == "missing":
        return f"{where} is missing"
    if kind == "extra_forbidden":
        return f"{where} is no field; {suggest(str(loc[-1]), _fields_at(loc[:-1]))}"
    if kind == "model_type":
        return f"{where} must be {_mapping_at(loc)}"
    if kind == "tuple_type":
        return f"{where} must be a list, such as [{_listed(problem['input'])}]"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if kind == "value_error":
        return f"{where}: {message}"
    return f"{where} must be {message}, not {_shown(problem['input'])}"


def suggest(name: str, fields: list[str]) -> str:
    """Which of the fields was meant, or which there are."""
    close = get_close_matches(name, fields, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"fields here are {', '.join(fields)}" if fields else "there are none yet"


def _mapping_at(loc: Loc) -> str:
    fields = _fields_at(loc)
    if fields == ["env"]:
        return "{env: NAME}, the environment variable that has the secret"
    return f"a mapping of {', '.join(fields)}"


def _fields_at(loc: Loc) -> list[str]:
    """Names of the fields that the model at `loc` has."""
    kind: Any = Feed
    for part in loc:
        if isinstance(part, int):
            kind = get_args(kind)[0]
        elif _is_model(kind):
            kind = _unwrapped(_fields_of(kind)[part].annotation)
    return list(_fields_of(kind)) if _is_model(kind) else []


def _fields_of(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that a feed has for them."""
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _unwrapped(kind: Any) -> Any:  # noqa: ANN401 - annotations have no type of their own
    """The model of an optional one, as `RowCount` of `RowCount | None`."""
    if isinstance(kind, UnionType):
        return next((member for member in get_args(kind) if _is_model(member)), kind)
    return kind


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def dotted(loc: Loc) -> str:
    """A place in a feed, as `gold[0].sql`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return "".join(parts).removeprefix(".").removesuffix(".[key]")


def _listed(value: object) -> str:
    """What may stand in the list that was meant: a single name, or what stands for any."""
    return value if isinstance(value, str) and value.isidentifier() else "a, b"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - about half a line
