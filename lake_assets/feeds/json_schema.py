"""The JSON Schema of a feed's file, for editors: what may be where, with what it means.

It is made of the models. What several of them take in a shorter shape, which their validators read
before pydantic does, is added here. Whether a feed is right is `feeds.load`'s to say: the schema
knows neither what goes together nor SQL.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

from pydantic import AliasChoices, BaseModel

from lake_assets.model.base import Noun
from lake_assets.model.feeds import Feed

_Schema: TypeAlias = dict[str, Any]

_DURATION: _Schema = {
    "type": "string",
    "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*[A-Za-z]+\s*$",
    "examples": ["30s", "15m", "1h", "90d"],
}

_WORDS_OF_PACE: _Schema = {"anyOf": [{"const": "live"}, _DURATION]}

_ONE_OR_MORE: _Schema = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
    ]
}

_SHORTER: Mapping[tuple[str, str], _Schema] = {
    ("GoldView", "keys"): {
        "anyOf": [
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        ]
    },
    ("GoldView", "refresh"): _WORDS_OF_PACE,
    ("Keyed", "by"): _ONE_OR_MORE,
    ("Keyed", "order"): _ONE_OR_MORE,
    ("Rest", "rate"): {"anyOf": [{"type": "string", "examples": ["100/s"]}, {"type": "null"}]},
}
"""By model and field, what it may be as a file has it."""

_NAMES = ("title", "ge", "le")
"""What pydantic adds that says nothing to somebody who writes a feed."""


def feed_schema() -> _Schema:
    """The schema of one file."""
    schema = Feed.model_json_schema()
    models = {model.__name__: model for model in _models(Noun)}
    definitions = schema.pop("$defs")
    for name, definition in {**definitions, "Feed": schema}.items():
        if name in models:
            _explain(definition, models[name])
            _shorten(definition, name)
    for definition in (*definitions.values(), schema):
        _plain(definition)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A feed of lake_assets",
        **schema,
        "$defs": definitions,
    }


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def _explain(definition: _Schema, model: type[BaseModel]) -> None:
    """Put what is said under a field in the source, and of its own class, into a definition."""
    if "description" in definition:
        definition["description"] = inspect.cleandoc(definition["description"])
    said = _docstrings(model)
    properties = definition.get("properties", {})
    for name, field in model.model_fields.items():
        shown = field.alias or name
        if shown in properties and name in said:
            properties[shown]["description"] = said[name]
        if isinstance(field.validation_alias, AliasChoices):
            first, *others = (str(one) for one in field.validation_alias.choices)
            for other in others:
                words = f"An older name of `{first}`."
                old = {**properties[shown], "description": words, "deprecated": True}
                properties[other] = old


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """By field, the text under it; of a class's own and of those that it is made of."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if not issubclass(one, BaseModel) or one.__module__.startswith("pydantic"):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for pair in pairwise(body):
            match pair:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                    value=ast.Constant() as text
                ):
                    found[name] = inspect.cleandoc(str(text.value))
    return found


def _shorten(definition: _Schema, model: str) -> None:
    """Add the shorter shapes that validators take."""
    for name, own in definition.get("properties", {}).items():
        if (shape := _SHORTER.get((model, name))) is not None:
            words = {"description": own["description"]} if "description" in own else {}
            own.clear()
            own.update({**shape, **words})
        for branch in (own, *own.get("anyOf", ())):
            if branch.get("$ref", "").endswith("/SilverRetention"):
                reference = branch.pop("$ref")
                branch["anyOf"] = [{"$ref": reference}, _DURATION]


def _plain(part: Any) -> None:  # noqa: ANN401 - of JSON
    """Durations as feeds write them, and no names that are only Python's."""
    if isinstance(part, list):
        for one in part:
            _plain(one)
    if isinstance(part, dict):
        _plain_one(part)
        for name, one in part.items():
            if name != "examples":
                _plain(one)


def _plain_one(part: _Schema) -> None:
    if part.get("format") == "duration":
        part.pop("default", None)
        part.update(_DURATION)
    if not isinstance(part.get("format"), dict) and part.get("format") in {"duration", "path"}:
        part.pop("format")
    # A field may be called so, too; then it is a schema.
    for name in [one for one in _NAMES if not isinstance(part.get(one), dict)]:
        part.pop(name, None)
