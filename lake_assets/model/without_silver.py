"""Feeds without silver tables: how a feed says so, and what it then cannot declare."""

from collections.abc import Collection, Sequence
from enum import StrEnum

from lake_assets.model.payload import Payload
from lake_assets.model.sinks import Sink


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
    "bloom_filters",
    "retention",
    "layouts",
    "quarantine",
)
"""Fields of a feed that say how silver's rows are made, or what is made of them."""


def ensure_has_what_sinks_read(
    silver: Silver, given: Collection[str], sinks: Sequence[Sink], payload: Payload
) -> None:
    """Make sure that a feed declares what is of its tables, and sinks read tables that it has.

    Args:
        silver: whether it has silver tables.
        given: names of its fields that are not as they are by default.
        sinks: of the feed.
        payload: of the same.

    Raises:
        ValueError: it does not.
    """
    if silver is Silver.TABLES:
        wrong = next((sink.name for sink in sinks if sink.is_of_bronze), None)
        if wrong is not None:
            message = (
                f"sink {wrong}: `from: bronze` is of feeds without silver tables, which say "
                "`silver: none`\nsend rows of this one `from: silver`"
            )
            raise ValueError(message)
        return
    if not sinks:
        message = "silver: none: the feed has no sink, and its rows would go nowhere\n"
        message += "add one to `sinks`, `from: bronze`"
        raise ValueError(message)
    other = next((sink for sink in sinks if not sink.is_of_bronze), None)
    if other is not None:
        message = (
            f"sink {other.name}: `from: {other.source}` is of feeds with silver tables\nwrite "
            "`from: bronze`, or leave out `silver: none`"
        )
        raise ValueError(message)
    named = next((name for name in _OF_SILVER if name in given), None)
    if named is not None:
        message = (
            f"{named}: is of feeds with silver tables: a sink's own `where` and `select` say what "
            "is sent; or leave out `silver: none`"
        )
        raise ValueError(message)
    if payload.grows or (payload.wrapped is not None and payload.wrapped.grows):
        message = (
            "payload: without silver tables nothing keeps the columns that values bring\ndeclare "
            "them in `schema`, without `infer` and `on_unknown: add_columns`"
        )
        raise ValueError(message)
