"""The components of a project, from within one of them. Tried on Dagster 1.13.27."""

from typing import TypeVar

import dagster as dg

_C = TypeVar("_C", bound=dg.Component)


def components_of(context: dg.ComponentLoadContext, kind: type[_C]) -> list[_C]:
    """All components of a kind that the project has, wherever they are in its folder."""
    return context.component_tree.get_all_components(kind)
