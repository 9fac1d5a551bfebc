"""What is told of a source that the observer has looked at: offsets and lag, as numbers.

When it is told, and of which asset, is `observer`'s.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.model.feeds import Feed

if TYPE_CHECKING:
    from lake_assets.streams.source_standing import SourceStanding

_MOST_PARTITIONS = 64
"""Partitions of a source whose offsets are told one by one."""

Metadata = dict[str, dg.MetadataValue]


def offsets(
    feed: Feed, source: "SourceStanding", lag_s: float, names: Sequence[str], suffix: str
) -> Metadata:
    """Metadata of a source's asset.

    Args:
        feed: reads it.
        source: how far it is.
        lag_s: and in seconds.
        names: what of the feed's source the asset stands for.
        suffix: of the names that are of this feed, where several read the source.
    """
    # What a pattern, or a folder, finds has other names than it is declared by: it is all of it.
    known: Sequence[str] | None = [name for name in names if name in source.names] or None
    places = sorted(place for place in source.ends if known is None or place[0] in known)
    found: Metadata = {
        "end_offset": dg.MetadataValue.int(source.end(known)),
        f"taken_offset{suffix}": dg.MetadataValue.int(source.position(known)),
        f"lag_rows{suffix}": dg.MetadataValue.int(source.rows_behind(known)),
        f"lag_seconds{suffix}": dg.MetadataValue.float(
            round(lag_s if source.rows_behind(known) else 0.0, 1)
        ),
        "partitions": dg.MetadataValue.int(len(places)),
    }
    another = source.another_topic(feed)
    if another:
        found[f"another_topic{suffix}"] = dg.MetadataValue.text(another)
    if 1 < len(places) <= _MOST_PARTITIONS:
        found[f"offsets{suffix}"] = dg.MetadataValue.json(
            {
                f"{name}/{number}": {
                    "end": source.ends[name, number],
                    "taken": source.taken[name, number],
                }
                for name, number in places
            }
        )
    return found
