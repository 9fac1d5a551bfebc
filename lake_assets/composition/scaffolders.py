"""What `dg scaffold defs` writes of a lake and of a feed."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import dagster as dg
import dagster.components as dg_components
from pydantic import BaseModel, Field

from lake_assets.model.lake_uri import is_address

_FIRST = "games.yaml"
"""The feed that a new project begins with."""


class LakeParams(BaseModel):
    """Options of `dg scaffold defs lake_assets.LakeComponent`."""

    lake: str = Field(
        default="lake", description="Folder of the tables, below the project's; or a bucket."
    )
    feeds: str = Field(
        default="feeds", description="Folder of the feeds' files, below the project's."
    )


class FeedParams(BaseModel):
    """Options of `dg scaffold defs lake_assets.FeedComponent`."""

    feed: str = Field(default="", description="Name of the feed; else as the component's folder.")


class LakeScaffolder(dg.Scaffolder[LakeParams]):
    """Writes a lake's `defs.yaml`, and a first feed where no folder of feeds is."""

    @classmethod
    def get_scaffold_params(cls) -> type[LakeParams]:
        """What may be told."""
        return LakeParams

    def scaffold(self, request: dg.ScaffoldRequest[LakeParams]) -> None:
        """Write them."""
        root, given = request.project_root or Path.cwd(), request.params
        feeds = root / given.feeds
        if not feeds.exists():
            feeds.mkdir(parents=True)
            (feeds / _FIRST).write_bytes(files("lake_assets.feeds").joinpath(_FIRST).read_bytes())
        _write(request, {"lake": _below_root(given.lake), "feeds": _below_root(given.feeds)})


class FeedScaffolder(dg.Scaffolder[FeedParams]):
    """Writes a feed's `defs.yaml`."""

    @classmethod
    def get_scaffold_params(cls) -> type[FeedParams]:
        """What may be told."""
        return FeedParams

    def scaffold(self, request: dg.ScaffoldRequest[FeedParams]) -> None:
        """Write it."""
        _write(request, {"feed": request.params.feed or request.target_path.name})


def _below_root(place: str) -> str:
    """A folder of the project, wherever the component is moved; others as they are."""
    is_whole = is_address(place) or Path(place).is_absolute()
    return place if is_whole else "{{ context.project_root }}/" + place


def _write(request: dg.ScaffoldRequest[Any], attributes: Mapping[str, str]) -> None:
    dg_components.scaffold_component(request, attributes)
