"""lake_assets: a lakehouse that one command starts, and that goes into a Dagster project.

What is exported here is for code locations of others: `build_defs`, names of assets, the resource
and the components (docs/composition.md). Each is imported when it is asked for, so that the command
and the packages below need no Dagster. Within this package, import the module that has the thing;
docs/architecture.md lists the packages and says where to change what.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lake_assets.composition.build import build_defs
    from lake_assets.composition.components import FeedComponent, LakeComponent
    from lake_assets.composition.keys import bronze_key, gold_key, partitions_of, silver_key
    from lake_assets.defs.lake_resource import LakeResource

__all__ = [
    "FeedComponent",
    "LakeComponent",
    "LakeResource",
    "bronze_key",
    "build_defs",
    "gold_key",
    "partitions_of",
    "silver_key",
]

_MODULES = {
    "FeedComponent": "lake_assets.composition.components",
    "LakeComponent": "lake_assets.composition.components",
    "LakeResource": "lake_assets.defs.lake_resource",
    "bronze_key": "lake_assets.composition.keys",
    "build_defs": "lake_assets.composition.build",
    "gold_key": "lake_assets.composition.keys",
    "partitions_of": "lake_assets.composition.keys",
    "silver_key": "lake_assets.composition.keys",
}


def __getattr__(name: str) -> object:
    """Import what is exported, once it is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """What is exported, as well."""
    return sorted({*globals(), *__all__})
