"""What OpenLineage calls tables and sources: a namespace, and a name in it. Pure.

By its naming rules: a table is the folder that it lies in, a topic is one of its cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.lake_uri import LakeUri


@dataclass(frozen=True, slots=True, order=True)
class DatasetName:
    """As OpenLineage has it."""

    namespace: str
    name: str


def of_place(place: LakeUri) -> DatasetName:
    """A table, by the folder of it."""
    if place.is_local:
        return DatasetName(place.scheme, place.path)
    scheme = "abfss" if "@" in place.bucket else place.scheme
    return DatasetName(f"{scheme}://{place.bucket}", place.path or "/")


def of_source(feed: Feed, kafka: str) -> Iterator[DatasetName]:
    """What a feed reads; of several topics that a pattern finds, the pattern.

    Args:
        feed: that reads it.
        kafka: `host:port[,host:port]` of the brokers.
    """
    declared: Any = feed.source.declared
    if declared.kind == "kafka":
        for name in declared.names or (declared.label,):
            yield DatasetName(f"kafka://{kafka.partition(',')[0]}", name)
        return
    try:
        yield of_place(LakeUri.parse(declared.path))
    except (AttributeError, LakeError):
        # No file of anybody's: its kind keeps the names apart. An address may have a login in it.
        yield DatasetName(declared.kind, declared.label)
