"""The reference of settings: a section for each group, a row for each variable."""

from inspect import cleandoc

from pydantic import BaseModel

from docs_pages.fields import models_in, table
from lake_assets.settings.schema import Settings

_INTRODUCTION = """\
# Settings

Settings are environment variables; Dagster and every command read the same ones. All have a default
that works on a laptop. Variables of whole mappings take JSON:
`LAKE_ASSETS_KAFKA_OPTIONS='{"security.protocol": "SSL"}'`. A value that does not fit is refused
when the first command reads it, with the variable's name.
"""


def page() -> str:
    """The whole page as Markdown; it names every variable."""
    fields = Settings.model_fields
    groups = {name: [*models_in(field.annotation)] for name, field in fields.items()}
    alone = [(name, _variable(name)) for name, models in groups.items() if not models]
    sections = [_section(name, models[0]) for name, models in groups.items() if models]
    places = table(Settings, alone, title="variable")
    return "\n".join([_INTRODUCTION, f"## places\n\n{places}\n", *sections])


def _section(group: str, model: type[BaseModel]) -> str:
    names = [(name, _variable(group, name)) for name in model.model_fields]
    rows = table(model, names, title="variable")
    return f"## {group}\n\n{cleandoc(model.__doc__ or '')}\n\n{rows}\n"


def _variable(*names: str) -> str:
    """As `settings.load` has it: a field `x` of a group `g` is `LAKE_ASSETS_G_X`."""
    return "_".join(("lake_assets", *names)).upper()
