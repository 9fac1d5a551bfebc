"""Which payload formats there are: the one place that maps what a feed declares to a format."""

from collections.abc import Mapping
from typing import Any

from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.base import FormatType, PayloadFormat, Surroundings
from lake_assets.formats.csv.payload_format import CsvFormat
from lake_assets.formats.json.payload_format import JsonFormat
from lake_assets.formats.json_schema.payload_format import JsonSchemaFormat
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.subjects.payload_format import over_subjects
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import Payload

_FORMATS: Mapping[str, FormatType] = {
    "avro": AvroFormat,
    "csv": CsvFormat,
    "json": JsonFormat,
    "protobuf": ProtobufFormat,
}
"""By the name under `payload` in a feed; JSON without a subject."""


def format_of(feed: Feed, surroundings: Surroundings) -> PayloadFormat[Any]:
    """The format of a feed's values; asks nobody yet."""
    payload = feed.payload
    made = _type_of(payload).of(feed.feed, payload.declared, surroundings)
    if payload.subjects is None:
        return made
    return over_subjects(made, payload.subjects)


def is_framed(payload: Payload) -> bool:
    """Whether values begin with the id of a schema, in Confluent's framing."""
    return "schema_id" in _type_of(payload).reads


def _type_of(payload: Payload) -> FormatType:
    if payload.json_ is not None and payload.json_.needs_registry:
        return JsonSchemaFormat
    return _FORMATS[payload.format]
