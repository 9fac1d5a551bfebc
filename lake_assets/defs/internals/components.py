"""The components of a project, from within one of them. Tried on Dagster 1.13.27."""

from typing import TypeVar

import dagster as dg

_C = TypeVar("_C", bound=dg.Component)


def components_of(context: dg.ComponentLoadContext, kind: type[_C]) -> list[_C]:
    """All components of a kind that the project has, wherever they are in its folder."""
    return context.component_tree.get_all_components(kind)


def component_at(context: dg.ComponentLoadContext, folder: str, kind: type[_C]) -> _C:
    """The component of a folder below the project's definitions."""
    return context.load_component(folder, kind)


def beside_yaml(context: dg.ResolutionContext, path: str) -> str:
    """A path as it is meant where it stands: relative to its YAML file."""
    return str(context.resolve_source_relative_path(path))
