"""Fields of pydantic models as rows of a Markdown table: type, default and what is said under them.

Which models make a page, and under which headings, is for the pages.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import griffe
from annotated_types import Ge, Gt, Le, Lt, MinLen
from humanfriendly import format_timespan
from pydantic import AliasChoices, AwareDatetime, BaseModel, SecretStr
from pydantic.fields import FieldInfo

_WORDS: dict[object, str] = {
    Any: "any value",
    str: "text",
    bool: "`true` or `false`",
    int: "integer",
    float: "number",
    Path: "path",
    timedelta: "duration",
    AwareDatetime: "time with its zone",
    SecretStr: "text, masked",
    NoneType: "null",
}

_BOUNDS = {Ge: "at least", Gt: "above", Le: "at most", Lt: "below"}


def type_in_words(annotation: Any) -> str:  # noqa: ANN401 - any type that a field may have
    """A field's type as a reader of YAML or of variables would say it, without an optional null.

    Models are links to the heading of their name.
    """
    origin = get_origin(annotation)
    if origin is not None:
        return _OF_OTHERS[origin]([it for it in get_args(annotation) if it is not NoneType])
    if issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    if issubclass(annotation, Enum):
        return _any_of(member.value for member in annotation)
    return _WORDS[annotation]


def _annotated(arguments: list[Any]) -> str:
    nested = [limit for extra in arguments[1:] for limit in getattr(extra, "metadata", ())]
    return ", ".join([type_in_words(arguments[0]), *_bounds(nested)])


def _union(arguments: list[Any]) -> str:
    return " or ".join(map(type_in_words, arguments))


def _any_of(values: Iterable[object]) -> str:
    return " or ".join(f"`{value}`" for value in values)


def _list(arguments: list[Any]) -> str:
    return f"list of {type_in_words(arguments[0])}"


def _mapping(arguments: list[Any]) -> str:
    return f"mapping of {' to '.join(map(type_in_words, arguments))}"


_OF_OTHERS: dict[object, Callable[[list[Any]], str]] = {
    Annotated: _annotated,
    Union: _union,
    UnionType: _union,
    Literal: _any_of,
    tuple: _list,
    list: _list,
    dict: _mapping,
}
"""What is said of a type that is made of others, given these."""


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - as above
    """The models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def default_in_words(field: FieldInfo) -> str:
    """What a field is where nobody sets it."""
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "unset"
    if isinstance(default, BaseModel):
        return "that of each of its fields"
    if isinstance(default, timedelta):
        default = format_timespan(default)
    value = str(default) if isinstance(default, str | Path) else json.dumps(default)
    return f"`{value}`"


def described(model: type[BaseModel], name: str) -> str:
    """What the docstring under a field says, in the class that declares it; empty if nothing."""
    for declaring in model.__mro__:
        if name in inspect.get_annotations(declaring):
            docstring = _class(declaring).members[name].docstring
            return "" if docstring is None else inspect.cleandoc(docstring.value)
    return ""


def table(model: type[BaseModel], names: Iterable[tuple[str, str]], *, title: str) -> str:
    """Rows of fields, each with the name to show for it; `title` heads their column."""
    lines = [f"| {title} | type | default | |", "|---|---|---|---|"]
    for name, shown in names:
        field = model.model_fields[name]
        length = ["not empty"] if any(isinstance(it, MinLen) for it in field.metadata) else []
        kind = ", ".join([type_in_words(field.annotation), *_bounds(field.metadata), *length])
        text = " ".join(filter(None, [described(model, name), _other_names(name, field)]))
        cells = (f"`{shown}`", kind, default_in_words(field), text)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines)


def _bounds(metadata: Iterable[object]) -> Iterator[str]:
    for limit in metadata:
        if isinstance(limit, Ge | Gt | Le | Lt):
            (name,) = limit.__dataclass_fields__
            yield f"{_BOUNDS[type(limit)]} {_amount(getattr(limit, name))}"


def _amount(value: Any) -> str:  # noqa: ANN401 - a number or a duration
    return format_timespan(value) if isinstance(value, timedelta) else f"{value:,}"


def _other_names(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else ()
    others = [f"`{choice}`" for choice in choices if choice != name]
    return f"Also {' or '.join(others)}." if others else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


@cache
def _class(declaring: type) -> griffe.Class:
    path = Path(inspect.getfile(declaring))
    module = griffe.visit(declaring.__module__, filepath=path, code=path.read_text())
    return module.classes[declaring.__qualname__]
