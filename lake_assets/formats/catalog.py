"""Which payload formats there are: the one place that maps what a feed declares to a format."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.avro.single_object import fingerprints
from lake_assets.formats.base import FormatType, PayloadFormat, Surroundings
from lake_assets.formats.confluent.framing import IdReader, schema_ids
from lake_assets.formats.csv.payload_format import CsvFormat
from lake_assets.formats.json.payload_format import JsonFormat
from lake_assets.formats.json_schema.payload_format import JsonSchemaFormat
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.subjects.payload_format import over_subjects
from lake_assets.formats.wrapped.payload_format import WrappedFormat
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import OneFormat

_FORMATS: Mapping[str, FormatType] = {
    "avro": AvroFormat,
    "csv": CsvFormat,
    "json": JsonFormat,
    "protobuf": ProtobufFormat,
}
"""By the name under `payload` in a feed; JSON without a subject."""


def format_of(feed: Feed, surroundings: Surroundings) -> PayloadFormat[Any]:
    """The format of a feed's values, with what is wrapped in them; asks nobody yet."""
    body = feed.payload.wrapped
    # Which columns are the envelopes' their names tell, whatever tables have.
    made = _made(feed.feed, feed.payload, surroundings, renames_clashing=body is None)
    if body is None:
        return made

    def make_inner(taken: tuple[str, ...]) -> PayloadFormat[Any]:
        around = replace(surroundings, taken=(*surroundings.taken, *taken))
        return _made(feed.feed, body, around)

    return WrappedFormat(feed.feed, body, made, make_inner)


def _made(
    feed: str, payload: OneFormat, surroundings: Surroundings, *, renames_clashing: bool = True
) -> PayloadFormat[Any]:
    made = _type_of(payload).of(feed, payload.declared, surroundings)
    if payload.subjects is None:
        return made
    return over_subjects(made, payload.subjects, renames_clashing=renames_clashing)


def ids_in(payload: OneFormat) -> IdReader | None:
    """What reads the schema that each value begins with; None if values begin with none."""
    if payload.avro is not None and payload.brings_schemas:
        return fingerprints
    return schema_ids if "schema_id" in _type_of(payload).reads else None


def _type_of(payload: OneFormat) -> FormatType:
    if payload.json_ is not None and payload.json_.needs_registry:
        return JsonSchemaFormat
    return _FORMATS[payload.format]
