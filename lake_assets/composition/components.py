"""A lake in a project of Dagster's components: one component a lake, and one a feed.

`dg scaffold defs lake_assets.LakeComponent lake` writes the first, and `defs.yaml` of a feed names
no more than the feed: it is of the project's lake.
"""

from typing import Annotated, Any

import dagster as dg
from pydantic import Field, PrivateAttr

from lake_assets.composition.arguments import Asked, Lake, ensure_known, open_lake
from lake_assets.composition.built_lakes import built_lakes
from lake_assets.composition.scaffolders import FeedScaffolder, LakeScaffolder
from lake_assets.definitions import PARTS, assemble_apart, assemble_feed
from lake_assets.defs.internals.components import components_of
from lake_assets.errors import SettingsError
from lake_assets.feeds.load import find_feed
from lake_assets.model.lake_uri import is_address

_OF_FEEDS = "assets"
"""The part that feeds' components have."""


def _resolved(context: dg.ResolutionContext, place: str | None) -> str | None:
    """A folder by where the YAML is that names it; an address of a bucket as it is."""
    if place is None or is_address(place):
        return place
    return str(context.resolve_source_relative_path(place))


Place = Annotated[str | None, dg.Resolver(_resolved, model_field_type=str | None)]


@dg.scaffold_with(LakeScaffolder)
class LakeComponent(dg.Component, dg.Model, dg.Resolvable):
    """A lake: its streams with their supervisor, alerts, and jobs that look after its tables.

    Feeds are components of their own (`lake_assets.FeedComponent`). What is left out here is as the
    environment says (`LAKE_ASSETS_…`), or the default. Folders are relative to this file.
    """

    lake: Place = Field(default=None, description="Folder of the tables, or a bucket's address.")
    feeds: Place = Field(
        default=None, description="Folder of the feeds' files; without it, those that are shipped."
    )
    home: Place = Field(default=None, description="Folder of what is kept beside the tables.")
    key_prefix: list[str] | None = Field(
        default=None, description="Before all keys of assets and names of jobs and sensors."
    )
    owners: list[str] | None = Field(
        default=None, description="Of all assets: team:… or e-mail addresses."
    )
    lake_resource: str | None = Field(
        default=None, description="Key of the LakeResource, if it is not `lake`."
    )
    include: list[str] | None = Field(
        default=None,
        description="Which of streams, alerts, rebuild, maintenance, backup, erasures, catalog and "
        "purge; all, if it is left out.",
    )
    settings: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="By group, settings that go before the environment's, such as "
        "{stream: {trigger_s: 5}}.",
    )

    _opened: Lake | None = PrivateAttr(default=None)

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What lists of components say of it."""
        return dg.ComponentTypeSpec(
            tags=["lakehouse", "streaming", "kafka", "delta", "spark"],
            produces=["asset", "job", "schedule", "sensor", "resource"],
        )

    def opened(self) -> Lake:
        """The lake with its settings and feeds, read once.

        Raises:
            SettingsError: an attribute or a setting does not fit.
            FeedError: a feed cannot be used.
        """
        if self._opened is None:
            asked = Asked(
                lake=self.lake,
                feeds=self.feeds,
                home=self.home,
                key_prefix=self.key_prefix,
                owners=self.owners,
                lake_resource=self.lake_resource,
            )
            self._opened = open_lake(asked, self.settings)
            built_lakes.remember(self._opened)
        return self._opened

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """All of the lake that is no feed's."""
        del context
        parts = [word for word in PARTS if word != _OF_FEEDS]
        if self.include is not None:
            ensure_known("include", self.include, parts)
            parts = self.include
        lake = self.opened()
        return assemble_apart(lake.settings, lake.feeds, include=[_OF_FEEDS, *parts])


@dg.scaffold_with(FeedScaffolder)
class FeedComponent(dg.Component, dg.Model, dg.Resolvable):
    """A feed of a lake: its tables as assets, their checks and sinks, and schedules of its views.

    The lake is the project's `lake_assets.LakeComponent`.
    """

    feed: str = Field(description="The feed's name.")
    lake: str | None = Field(
        default=None,
        description="Folder of the lake's component below the project's defs, if there are several "
        "lakes.",
    )

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What lists of components say of it."""
        return dg.ComponentTypeSpec(
            tags=["lakehouse", "streaming", "delta"],
            produces=["asset", "asset_check", "job", "schedule", "sensor", "resource"],
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """All that is the feed's.

        Raises:
            FeedError: the lake has no such feed.
            SettingsError: it is not clear which lake it is.
        """
        lake = self._component(context).opened()
        return assemble_feed(lake.settings, lake.feeds, find_feed(lake.feeds, self.feed))

    def _component(self, context: dg.ComponentLoadContext) -> LakeComponent:
        if self.lake is not None:
            return context.load_component(self.lake, LakeComponent)
        found = components_of(context, LakeComponent)
        if not found:
            fact = "is of no lake: the project has no lake_assets.LakeComponent"
            step = "Make one: dg scaffold defs lake_assets.LakeComponent lake"
            raise SettingsError(f"feed {self.feed!r}", fact, step)
        if len(found) > 1:
            fact = f"may be of {len(found)} lakes of the project"
            step = "Name the folder of the lake's component (`lake`)"
            raise SettingsError(f"feed {self.feed!r}", fact, step)
        return found[0]
