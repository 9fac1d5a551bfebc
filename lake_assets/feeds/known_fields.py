"""Which fields there are at a place of a feed, and which of them was meant by another name."""

from difflib import get_close_matches
from types import UnionType
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lake_assets.feeds.document import Loc
from lake_assets.model.feeds import Feed


def suggest(name: str, fields: list[str]) -> str:
    """How a message ends that says that `name` is none: with what to write, or which there are."""
    close = get_close_matches(name, fields, n=1)
    if close:
        return f"\nwrite `{close[0]}`"
    return f"; fields here are {_named(fields)}" if fields else "; there are none yet"


_MOST_NAMES = 12
"""A line of names that people read; a feed itself has thirty fields."""


def _named(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def mapping_at(loc: Loc) -> str:
    """What the mapping at `loc` is of, in words."""
    fields = fields_at(loc)
    if fields == ["env"]:
        return "{env: NAME}, the environment variable that has the secret"
    return f"a mapping of {_named(fields)}" if fields else "a mapping"


def fields_at(loc: Loc) -> list[str]:
    """Names of the fields that the model at `loc` has."""
    kind = _kind_at(loc)
    fields = _fields_of(kind) if _is_model(kind) else {}
    return sorted(fields, key=lambda name: not fields[name].is_required())  # in their order else


def _kind_at(loc: Loc) -> Any:  # noqa: ANN401 - annotations have no type of their own
    """The type of what is at `loc`."""
    kind: Any = Feed
    for part in loc:
        if isinstance(part, int):
            kind = _unwrapped(next(iter(get_args(kind)), None))
        elif _is_model(kind):
            field = _fields_of(kind).get(str(part))
            kind = _unwrapped(field.annotation) if field is not None else None
        else:
            values = get_args(kind)
            kind = _unwrapped(values[-1]) if values else None
    return kind


def is_required(loc: Loc) -> bool:
    """Whether the field at `loc` has to be given; what is in a list has."""
    name = loc[-1] if loc else 0
    return isinstance(name, int) or name in _required_at(loc[:-1])


def _required_at(loc: Loc) -> set[str]:
    kind = _kind_at(loc)
    fields = _fields_of(kind) if _is_model(kind) else {}
    return {name for name, field in fields.items() if field.is_required()}


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
