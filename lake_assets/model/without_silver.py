"""Feeds without silver tables: how a feed says so, and what it then cannot declare."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lake_assets.model.routed import Routed


class Silver(StrEnum):
    """Whether a feed has silver tables."""

    TABLES = "tables"  # one a key, with quarantine beside them
    NONE = "none"  # rows go from bronze to sinks


_OF_SILVER = (
    "into",
    "where",
    "transform",
    "select",
    "mask",
    "selects",
    "masks",
    "route",
    "routes",
    "columns",
    "tables",
    "expectations",
    "deduplicate",
    "checks",
    "gold",
    "external",
    "keyed",
    "partition_by",
    "cluster_by",
    "retention",
    "layouts",
    "quarantine",
)
"""Fields of a feed that say how silver's rows are made, or what is made of them."""


def ensure_has_what_sinks_read(feed: "Routed") -> None:
    """Make sure that a feed declares what is of its tables, and sinks read tables that it has.

    Raises:
        ValueError: it does not.
    """
    sinks = feed.sinks
    if feed.has_silver:
        wrong = next((sink.name for sink in sinks if sink.is_of_bronze), None)
        if wrong is not None:
            message = (
                f"sink {wrong}: `from: bronze` is of feeds without silver tables, which say "
                "`silver: none`; send rows of this one `from: silver`"
            )
            raise ValueError(message)
        return
    if not sinks:
        message = "silver: none: the feed has no sink, and its rows would go nowhere"
        raise ValueError(message)
    other = next((sink for sink in sinks if not sink.is_of_bronze), None)
    if other is not None:
        message = (
            f"sink {other.name}: `from: {other.source}` is of feeds with silver tables; write "
            "`from: bronze`, or leave out `silver: none`"
        )
        raise ValueError(message)
    named = next((name for name in _OF_SILVER if getattr(feed, name) != _default(feed, name)), None)
    if named is not None:
        message = (
            f"{named}: is of feeds with silver tables: a sink's own `where` and `select` say what "
            "is sent; or leave out `silver: none`"
        )
        raise ValueError(message)
    if feed.payload.grows or (feed.payload.wrapped is not None and feed.payload.wrapped.grows):
        message = (
            "payload: without silver tables nothing keeps the columns that values bring: declare "
            "them in `schema`, without `infer` and `on_unknown: add_columns`"
        )
        raise ValueError(message)


def _default(feed: "Routed", name: str) -> object:
    return type(feed).model_fields[name].get_default(call_default_factory=True)
