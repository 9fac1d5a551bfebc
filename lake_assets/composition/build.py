"""`build_defs`: a lake as definitions that go together with those of the project around it."""

from collections.abc import Collection, Mapping

import dagster as dg

from lake_assets.composition.arguments import Asked, Place, Words, ensure_known, open_lake, words_of
from lake_assets.composition.built_lakes import built_lakes
from lake_assets.definitions import PARTS, assemble


def build_defs(  # noqa: PLR0913 - what a project may say of its lake
    lake: Place | None = None,
    feeds: Place | None = None,
    *,
    home: Place | None = None,
    key_prefix: Words | None = None,
    owners: Words | None = None,
    lake_resource: str | None = None,
    include: Collection[str] | None = None,
    **settings: Mapping[str, object],
) -> dg.Definitions:
    """All of a lake, or some parts of it, to be merged with a project's own definitions.

    It brings no executor of the location's: each of its jobs has its own. What is left out is as
    the environment says (`LAKE_ASSETS_…`), or the default.

    Args:
        lake: folder of the tables, or the address of a bucket; it need not be there yet.
        feeds: folder of the feeds' files; without it, those that ship with the package.
        home: folder of what is kept beside the tables.
        key_prefix: before the keys of all assets, and the names of jobs, sensors and schedules, so
            that several lakes go together in one code location.
        owners: of all assets: `team:…`, or e-mail addresses.
        lake_resource: key of the `LakeResource`, if it is not `lake`.
        include: which parts: `assets` (tables, sources and sinks, with checks, and what refreshes
            gold), `streams` (with the supervisor and the runs of feeds that have a schedule),
            `alerts`, `rebuild`, `maintenance`, `backup`, `erasures`, `catalog`, `purge`; all, if it
            is left out.
        settings: by group, settings that go before the environment's, such as
            `stream={"trigger_s": 5}`.

    Raises:
        SettingsError: an argument or a setting does not fit.
        FeedError: a feed cannot be used, or two would share an asset.
        LakeError: the lake can be neither read nor made.
    """
    parts = PARTS if include is None else {*words_of(include)}
    ensure_known("include", sorted(parts), [*PARTS])
    opened = open_lake(
        Asked(
            lake=lake,
            feeds=feeds,
            home=home,
            key_prefix=key_prefix,
            owners=owners,
            lake_resource=lake_resource,
        ),
        settings,
    )
    made = assemble(opened.settings, opened.feeds, include=parts)
    built_lakes.remember(opened)
    return made
