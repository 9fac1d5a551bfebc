"""Payloads: how a feed's values are encoded, as it declares that; frozen nouns.

What a format does with its declaration is the business of `formats`.
"""

from typing import Self

from pydantic import Field, model_validator

from lake_assets.errors import FeedError
from lake_assets.model.base import Noun


class ProtobufPayload(Noun):
    """Confluent-framed protobuf whose schemas are registered under `subject`."""

    subject: str = Field(min_length=1)
    message: str | None = Field(default=None, min_length=1)
    """Full name of the one message type that is taken (`pkg.Event`); others are quarantined. Unset,
    rows of all message types are taken that have the route's column."""


class Payload(Noun):
    """How a feed's values are encoded: exactly one format, with its declaration."""

    protobuf: ProtobufPayload | None = None

    @model_validator(mode="after")
    def _has_one_format(self) -> Self:
        if len(self.model_fields_set) != 1:
            message = f"give exactly one of {', '.join(type(self).model_fields)}"
            raise ValueError(message)
        return self

    @property
    def format(self) -> str:
        """Name of the format."""
        (name,) = self.model_fields_set
        return name

    @property
    def declared(self) -> Noun:
        """What is declared of the format."""
        found: Noun = getattr(self, self.format)
        return found

    @property
    def subject(self) -> str:
        """The subject of a protobuf payload.

        Raises:
            FeedError: it is of another format.
        """
        if self.protobuf is None:
            fact = f"is {self.format}, which has no subject in a registry"
            raise FeedError("payload of the feed", fact, "Choose a feed of protobuf")
        return self.protobuf.subject
