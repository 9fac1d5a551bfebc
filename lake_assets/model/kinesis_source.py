"""A Kinesis data stream as a source, as a feed declares it; reading it is `sources.kinesis`'."""

import re
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.checks import Duration
from lake_assets.model.one_source import OneSource
from lake_assets.model.origins import OriginColumns
from lake_assets.model.rest import Secret
from lake_assets.model.unique_names import both

_ADDRESS = re.compile(r"https?://[^\s/@:]+(?::\d{1,5})?/?")


def _address(url: str) -> str:
    if _ADDRESS.fullmatch(url) is None:
        message = f"{url!r} is no address\nwrite http://host:port or https://host, without more"
        raise ValueError(message)
    return url


_STREAM = re.compile(r"[a-zA-Z0-9_.-]{1,128}")


def _stream(name: str) -> str:
    if _STREAM.fullmatch(name) is None:
        message = f"{name!r} is no name of a stream: letters, digits, `_`, `.`, `-`, at most 128"
        raise ValueError(message)
    return name


class AccessKey(Noun):
    """A key of AWS; feeds only name the environment variables that have it."""

    id: Secret
    """The access key's id: `{env: FEED_KEY_ID}`."""

    secret: Secret
    """The secret access key."""

    token: Secret | None = None
    """The session token of a temporary key."""


class KinesisSource(OneSource):
    """A Kinesis data stream, whose records are read once each, a shard's in their order."""

    kind: ClassVar[str] = "kinesis"
    system: ClassVar[str] = "Kinesis"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="stream",
        partition=None,
        offset="ordinal",
        time="arrived_at",
        further=("_shard_id", "_sequence_number", "_sub_sequence_number"),
    )

    stream: Annotated[str, AfterValidator(_stream)]
    """Name of the stream."""

    region: Annotated[str, Field(min_length=1)] | None = None
    """AWS's region, such as `eu-central-1`; unset, the one that AWS's environment or profile
    names."""

    endpoint_url: Annotated[str, AfterValidator(_address)] | None = None
    """Where Kinesis is, if it is not AWS's of the region: a VPC endpoint, LocalStack."""

    profile: Annotated[str, Field(min_length=1)] | None = None
    """Profile of AWS's configuration files that says who reads."""

    access_key: AccessKey | None = None
    """Key that says who reads. Without `profile` and this, AWS's own chain does: environment,
    files, role of the container or machine."""

    starting_position: Literal["trim_horizon", "latest"] | AwareDatetime = "trim_horizon"
    """Where a new lake begins: with the oldest records that the stream has, with what comes, or
    with what came since a time (`2026-11-01T00:00:00Z`)."""

    on_gap: Literal["stop", "record"] = "stop"
    """What to do where records may have been deleted before they were read, or another stream has
    the name: `stop` the feed, or `record` that in quarantine and go on."""

    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(minutes=5))] = (
        timedelta(seconds=20)
    )
    """How long connecting may take, and each answer."""

    @model_validator(mode="after")
    def _one_says_who_reads(self) -> Self:
        if self.profile is not None and self.access_key is not None:
            message = f"{both(['profile', 'access_key'])}\ngive either `profile` or `access_key`"
            raise ValueError(message)
        return self

    @property
    def begins_at(self) -> datetime | None:
        """The time since which records are read; None if there is none."""
        return self.starting_position if isinstance(self.starting_position, datetime) else None

    @property
    def name(self) -> str:
        """The stream."""
        return self.stream

    @property
    def label(self) -> str:
        """The name."""
        return self.stream

    @property
    def title(self) -> str:
        """Which stream."""
        return f"Kinesis stream {self.stream!r}"

    def title_of(self, name: str) -> str:
        """A stream, in words."""
        return f"Kinesis stream {name!r}"
