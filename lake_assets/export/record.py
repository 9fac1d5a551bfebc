"""What an export knows of its folder: which topic it is, and how far each partition has come. Pure.

It lies beside the files, hidden, as JSON; reading and writing it is `folder`'s.
"""

from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from lake_assets.export.lines import ExportFormat
from lake_assets.model.base import Noun

_Offset = Annotated[int, Field(ge=0)]


class Gap(Noun):
    """Offsets of a partition that brokers had no more when it was their turn."""

    partition: _Offset
    first: _Offset
    after: _Offset


class Newest(Noun):
    """The newest record of a partition that was exported."""

    offset: _Offset
    at_ms: int
    """Its time, in milliseconds since 1970."""


class Record(Noun):
    """How an export stands."""

    topic: str
    cluster: str | None
    """Id of the brokers' cluster; None if they tell none."""

    identity: int | None
    """Of the topic: one that is made again has another. None if brokers tell none."""

    format: ExportFormat
    number: _Offset
    """That the next file gets."""

    offsets: dict[int, _Offset]
    """By partition, the next one to export."""

    newest: dict[int, Newest] = Field(default_factory=dict)
    """By partition. Another time at that offset tells that brokers lost records, and gave their
    offsets to others."""

    gaps: tuple[Gap, ...] = ()
    placing: str | None = None
    """The newest file. It is complete, and counted in `offsets`; whether it has its name already
    is told by whether it still has the one that it was written under."""

    placing_size: _Offset | None = None
    """Bytes of it: a copy of the folder, made while it was written, may have its begin alone."""

    @model_validator(mode="after")
    def _partitions_are_numbers(self) -> Self:
        if any(partition < 0 for partition in self.offsets):
            message = "a partition is negative"
            raise ValueError(message)
        return self

    @classmethod
    def read(cls, text: str | bytes) -> Self | None:
        """A record that was written; None if it is none, or torn."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None

    def text(self) -> str:
        """As it is written."""
        return self.model_dump_json(indent=1) + "\n"
