"""Protobuf as a payload: whose schemas a registry has, or the feed declares; a frozen noun."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from lake_assets.model.subjects import OfSubjects


def _schema_file(value: str) -> str:
    if not Path(value).is_absolute():
        message = f"{value!r} is no absolute path of a file\nwrite it from `/` on, as /data/a.proto"
        raise ValueError(message)
    return value


class ProtobufPayload(OfSubjects):
    """Protobuf: Confluent-framed, its schemas registered under `subject` or `subjects`.

    Of files of format `protobuf` it may be plain, by a schema that `file` declares.
    """

    message: str | None = Field(default=None, min_length=1)
    """Full name of the one message type that is taken (`pkg.Event`); others are quarantined. Unset,
    rows of all message types are taken that have the route's column. Not beside `subjects`. With
    `file`, the type of the messages of all files."""

    file: Annotated[str, AfterValidator(_schema_file)] | None = None
    """Of files of messages without framing: the schema of `message`, a `.proto` file, whose imports
    are beside it, or the output of `protoc --include_imports --descriptor_set_out`. Absolute. A
    file of messages keeps the schema that there was when it was found."""

    @model_validator(mode="after")
    def _takes_one_message_of_one_subject(self) -> Self:
        message = ""
        if self.file is not None and self.has_subject:
            message = "`file` and a subject of a registry are given\ngive one of the two"
        elif self.file is not None and self.message is None:
            message = "`file` goes with `message`, the full name of the type that the files have"
        elif self.file is None and not self.has_subject:
            message = "\ngive `subject`, or `subjects` if there are several"
        elif self.message is not None and self.several is not None:
            message = "`message` is of one `subject`\nname those of `subjects` that are taken"
        if message:
            raise ValueError(message)
        return self

    @property
    def needs_registry(self) -> bool:
        """Whether its schemas are registered."""
        return self.has_subject
