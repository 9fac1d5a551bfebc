"""The shape of a topic's events, asked of the registry once, before any clock runs."""

import pyarrow as pa

from benchmarks.decoding import Shape
from benchmarks.ground import Ground
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.formats.protobuf.language import PROTOBUF


def shape_of(ground: Ground) -> Shape:
    """The newest version of the feed's message.

    Raises:
        RegistryError: it cannot be had.
    """
    subject = ground.feed.payload.subject
    schemas = Registry(
        ground.endpoints.registry, PROTOBUF, ground.endpoints.registry_access
    ).newest(subject)
    decoding = plan_decoding(schemas, pa.schema([]), ground.feed.route_column)
    newest = decoding.readers[0]
    return Shape(newest.message, newest.descriptor_set, decoding.columns)
