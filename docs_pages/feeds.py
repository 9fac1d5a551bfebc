"""The reference of feeds: a section for each model that a feed's YAML is read into."""

from inspect import cleandoc

from pydantic import BaseModel

from docs_pages.fields import models_in, table
from lake_assets.model.feeds import Feed

_INTRODUCTION = """\
# Feeds

A feed is a YAML file in the folder that `LAKE_ASSETS_FEEDS` names; without that variable, those
that ship with the package are used. Each section below is a mapping, and each row one of its
fields. A mapping may have no other fields: a mistyped one is refused, by name, when the feed is
read. A list may be written `[a, b]`, a duration `500ms`, `30s`, `15m`, `1h` or `2d`. Every `sql` is
Spark SQL.
"""


def page() -> str:
    """The whole page as Markdown; it names every field of every model, once a model."""
    return "\n".join([_INTRODUCTION, *map(_section, _models_below(Feed))])


def _models_below(top: type[BaseModel]) -> tuple[type[BaseModel], ...]:
    """A model and those its fields are made of, each before its own, without repetition."""
    models: dict[type[BaseModel], None] = {top: None}
    for field in top.model_fields.values():
        for model in models_in(field.annotation):
            models |= dict.fromkeys(_models_below(model))
    return tuple(models)


def _section(model: type[BaseModel]) -> str:
    names = [(name, field.alias or name) for name, field in model.model_fields.items()]
    rows = table(model, names, title="field")
    return f"## {model.__name__}\n\n{cleandoc(model.__doc__ or '')}\n\n{rows}\n"
