"""Links from an asset's page to the line of the file that declares it."""

import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import dagster as dg

from lake_assets.errors import FeedError
from lake_assets.feeds.declared_at import DeclaredAt, declared_at
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.sinks import Sink
from lake_assets.settings.schema import Settings


def code_references(
    settings: Settings,
    feed: Feed,
    view: GoldView | None = None,
    *,
    sink: Sink | None = None,
    external: str = "",
) -> Mapping[str, Any]:
    """Metadata with the line of a feed, or of a part of it; empty where no file declares it.

    A feed that Python makes, or that a test does, has no line of its own.

    Args:
        settings: say where the files are.
        feed: whose line, if no part of it is named.
        view: a gold view of it.
        sink: in place of that, a sink of it.
        external: in place of that, the name of a table outside the lake.
    """
    place = _declared_in(settings.feeds, _changed_at(settings.feeds)).get(feed.feed)
    if place is None:
        return {}
    what, line = "", place.line if view is None else place.views.get(view.name)
    if view is not None:
        what = f"view {view.name} of "
    elif sink is not None:
        what, line = f"sink {sink.name} of ", place.sinks.get(sink.name)
    elif external:
        what, line = f"external {external} of ", place.external.get(external)
    if line is None:
        return {}
    label = f"{what}feed {feed.feed}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # which these classes are, until 2.0
        reference = dg.LocalFileCodeReference(
            file_path=str(place.path.absolute()), line_number=line, label=label
        )
        references = dg.CodeReferencesMetadataValue(code_references=[reference])
        return {"dagster/code_references": references}


def _changed_at(folder: Path | None) -> int:
    """Another number once a file came or went; definitions are loaded anew with a new process."""
    return 0 if folder is None or not folder.exists() else folder.stat().st_mtime_ns


@lru_cache(maxsize=4)
def _declared_in(folder: Path | None, changed_at: int) -> Mapping[str, DeclaredAt]:
    """Each file is read once for all assets of a lake."""
    del changed_at
    try:
        return declared_at(folder)
    except FeedError:  # whoever loads feeds from there is told
        return {}
