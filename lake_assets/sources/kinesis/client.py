"""Asking Kinesis: boto3's client of a feed's stream, its answers, its errors in our words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import SecretStr

from lake_assets.errors import SettingsError, SourceError, SourceNotFoundError, first_line
from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.settings.load import secret_of, store_environment
from lake_assets.settings.secrets import Secrets
from lake_assets.sources.kinesis.position import Last, Listed, Stream

try:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        NoCredentialsError,
        NoRegionError,
    )
    from botocore.loaders import create_loader
    from botocore.session import get_session
    from botocore.utils import parse_timestamp
except ImportError as problem:
    raise SettingsError(
        "boto3",
        "is not installed, and a feed reads from Kinesis",
        "Install it: pip install 'lake-assets[kinesis]'",
    ) from problem

_LOADER = create_loader()
"""Reads the descriptions of services once, which takes 0.15 s of CPU."""

AT_ONCE = 8
"""Shards that are asked at once."""

_TRIES = 6
"""Of a question that is throttled, with growing pauses of up to 20 s in between."""

_THROTTLED = frozenset(
    {"ProvisionedThroughputExceededException", "LimitExceededException", "KMSThrottlingException"}
)
_EXPIRED = "ExpiredIteratorException"
_STEPS = {
    "AccessDeniedException": "Grant kinesis:DescribeStreamSummary, ListShards, GetShardIterator "
    "and GetRecords on the stream; of one that is encrypted, kms:Decrypt on its key, too",
    "UnrecognizedClientException": "Correct the key, and the region",
    "InvalidSignatureException": "Correct the key's secret, and this machine's clock",
    "ExpiredTokenException": "Renew the session token, or use a role",
    "IncompleteSignatureException": "Correct the key",
    "MissingAuthenticationTokenException": "Give credentials",
}


class ExpiredIteratorError(Exception):
    """An iterator is older than five minutes."""


class NoSuchRecordError(Exception):
    """A sequence number is refused: its record is not there any more."""


class ThrottledError(SourceError):
    """Others take what a shard, or Kinesis, gives a second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Some records of a shard."""

    records: Sequence[dict[str, Any]]
    next: str | None
    """The iterator of what follows; None at the end of a shard that was split or merged."""

    behind_ms: int
    now_ms: int

    @property
    def last(self) -> Last | None:
        """The last record; None without records."""
        if not self.records:
            return None
        record = self.records[-1]
        return Last(
            number=record["SequenceNumber"], at_ms=_ms(record["ApproximateArrivalTimestamp"])
        )


class Client:
    """Asks about one stream; threads may share it."""

    def __init__(
        self,
        source: KinesisSource,
        look_up: Callable[[str], SecretStr] = secret_of,
        *,
        within_s: float | None = None,
    ) -> None:
        """Know whom to ask; nothing is asked yet.

        Args:
            source: what is declared.
            look_up: knows secrets by their variables.
            within_s: for connecting and each answer; by default what the feed declares.

        Raises:
            SettingsError: a secret, a profile or the region is not there.
        """
        self._source, self._secrets = source, Secrets(look_up)
        wait_s = within_s or source.timeout.total_seconds()
        given: dict[str, str] = {}
        if (key := source.access_key) is not None:
            given["aws_access_key_id"] = self._secrets.value(key.id)
            given["aws_secret_access_key"] = self._secrets.value(key.secret)
            if key.token is not None:
                given["aws_session_token"] = self._secrets.value(key.token)
        config = Config(
            connect_timeout=wait_s,
            read_timeout=wait_s,
            max_pool_connections=AT_ONCE,
            retries={"mode": "standard", "total_max_attempts": 2 if within_s else _TRIES},
        )
        try:
            core = get_session()
            core.register_component("data_loader", _LOADER)
            parsers = core.get_component("response_parser_factory")
            parsers.set_parser_defaults(timestamp_parser=_time)
            session = boto3.Session(
                botocore_session=core,
                profile_name=source.profile,
                # boto3 itself reads AWS_DEFAULT_REGION alone.
                region_name=source.region or store_environment().get("AWS_REGION") or None,
                **given,
            )
            self._client = session.client(
                "kinesis", endpoint_url=source.endpoint_url, config=config
            )
        except NoRegionError:
            step = "Give `region` in the feed's source, or set AWS_REGION"
            raise SettingsError(source.title, "is in no region that is known", step) from None
        except (BotoCoreError, ValueError) as problem:
            fact = f"cannot be asked ({self._secrets.masked(first_line(problem))})"
            raise SettingsError(source.title, fact, "Correct `profile` or `endpoint_url`") from None

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def stream(self) -> Stream:
        """The stream as it is.

        Raises:
            SourceNotFoundError: there is none, or not yet.
            SourceError: Kinesis does not answer, or refuses us.
        """
        with self._asking():
            answer = self._client.describe_stream_summary(StreamName=self._source.stream)
        told = answer["StreamDescriptionSummary"]
        status = told["StreamStatus"]
        if status not in {"ACTIVE", "UPDATING"}:
            fact = f"is {status.lower()}"
            raise SourceNotFoundError(self._source.title, fact, "Wait, or create it again")
        return Stream(
            arn=told["StreamARN"],
            created_ms=_ms(told["StreamCreationTimestamp"]),
            retention_ms=told["RetentionPeriodHours"] * 3_600_000,
            now_ms=_asked_at(answer),
            open_shards=told["OpenShardCount"],
        )

    def shards(self) -> list[Listed]:
        """All shards that have records or may get some; raises as `stream`."""
        with self._asking():
            pages = self._client.get_paginator("list_shards")
            told = [s for p in pages.paginate(StreamName=self._source.stream) for s in p["Shards"]]
        return [
            Listed(
                shard=one["ShardId"],
                parents=tuple(
                    one[name]
                    for name in ("ParentShardId", "AdjacentParentShardId")
                    if one.get(name) is not None
                ),
                hashes=(
                    int(one["HashKeyRange"]["StartingHashKey"]),
                    int(one["HashKeyRange"]["EndingHashKey"]),
                ),
            )
            for one in told
        ]

    def iterator(self, shard: str, kind: str, **where: str | datetime) -> str:
        """An iterator of a shard; raises as `stream`.

        Raises:
            NoSuchRecordError: a sequence number is refused.
        """
        with self._asking():
            answer = self._client.get_shard_iterator(
                StreamName=self._source.stream, ShardId=shard, ShardIteratorType=kind, **where
            )
        return str(answer["ShardIterator"])

    def records(self, iterator: str, *, limit: int) -> Answer:
        """Some records; raises as `stream`.

        Raises:
            ExpiredIteratorError: the iterator is too old.
            ThrottledError: others take what the shard gives.
        """
        with self._asking():
            answer = self._client.get_records(ShardIterator=iterator, Limit=limit)
        return Answer(
            records=answer["Records"],
            next=answer.get("NextShardIterator"),
            behind_ms=answer.get("MillisBehindLatest") or 0,
            now_ms=_asked_at(answer),
        )

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except ClientError as problem:
            raise self._refusal(problem) from problem
        except NoCredentialsError as problem:
            step = "Give `access_key` or `profile` in the feed's source, or set AWS's variables"
            raise SourceError(self._source.title, "has no credentials", step) from problem
        except BotoCoreError as problem:
            fact = f"does not answer ({self._secrets.masked(first_line(problem))})"
            step = "Check `region` and `endpoint_url` of the feed's source, and the way there"
            raise SourceError(self._source.title, fact, step) from problem

    def _refusal(self, problem: ClientError) -> Exception:
        error = problem.response.get("Error", {})
        code, words = error.get("Code", ""), self._secrets.masked(error.get("Message", ""))
        title = self._source.title
        if code == _EXPIRED:
            return ExpiredIteratorError(words)
        if code in _THROTTLED:
            step = "Have fewer consumers read the stream, or more shards"
            return ThrottledError(title, f"is asked too often or too much ({code}: {words})", step)
        if code == "InvalidArgumentException" and "equence" in words:
            return NoSuchRecordError(words)
        if code == "ResourceNotFoundException":
            step = "Create it, or correct `stream` and `region` of the feed's source"
            return SourceNotFoundError(title, f"does not exist ({words})", step)
        step = _STEPS.get(code, "See to the stream; what was read so far stands")
        if code.startswith("KMS"):
            step = "See to the key that the stream is encrypted with"
        return SourceError(title, f"cannot be read ({code}: {words})", step)


def _time(told: float | str) -> datetime:
    """A time as Kinesis tells it: botocore's own way takes half the CPU of reading records."""
    if isinstance(told, (int, float)):
        return datetime.fromtimestamp(told, UTC)
    parsed: datetime = parse_timestamp(told)
    return parsed


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _asked_at(answer: Mapping[str, Any]) -> int:
    """When Kinesis answered, by its clock, which has seconds; ours where it does not tell."""
    told = answer["ResponseMetadata"].get("HTTPHeaders", {}).get("date")
    return _ms(parsedate_to_datetime(told) if told else datetime.now(UTC))
