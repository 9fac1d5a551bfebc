"""Which of a feed's several topics there are, and their offsets: few questions, however many.

One topic by its name is asked for in `sources.kafka.topics`. Reading rows is
`sources.kafka.stream`'s, which finds the same topics by the same pattern.
"""

from collections.abc import Collection, Mapping
from functools import partial

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._topic import TopicDescription

from lake_assets.errors import SourceNotFoundError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import Extent, Place
from lake_assets.model.sources import KafkaSource
from lake_assets.model.topic_pattern import topic_pattern
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.refusals import MISSING, Refusals
from lake_assets.sources.kafka.topics import asking, client_config, metadata, result_of, settled


def extent_of(
    endpoints: Endpoints, declared: KafkaSource, *, timeout_s: float = ANSWER_S
) -> Extent:
    """The offsets of all partitions of those topics that there are.

    Raises:
        SourceNotFoundError: there is none; or one of those that are named is not there, and the
            others shall not go on without it.
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    with asking(endpoints, None, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        names = _candidates(admin, declared, refusals, timeout_s)
        found = described(admin, endpoints, names, refusals, timeout_s=timeout_s)
        there = [name for name, topic in found.items() if _is_read(declared, topic)]
        _ensure_there(endpoints, declared, there)
        places = [TopicPartition(name, p.id) for name in there for p in found[name].partitions]
        ask = partial(_offsets, admin, places, refusals, timeout_s)
        earliest: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        begins = settled(partial(ask, earliest), timeout_s=timeout_s)
        ends = settled(partial(ask, latest), timeout_s=timeout_s)
    return Extent(begins=begins, ends=ends)


def missing_topics(declared: KafkaSource, there: Collection[str]) -> tuple[str, ...]:
    """Those of the topics that are named which are not there."""
    return tuple(name for name in declared.names if name not in there)


def described(
    admin: AdminClient,
    endpoints: Endpoints,
    names: Collection[str],
    refusals: Refusals,
    *,
    timeout_s: float,
) -> dict[str, TopicDescription]:
    """What brokers tell of topics, without those that do not exist; in one question.

    Raises:
        SourceError: they refuse one of them, which is named.
        KafkaException: they do not answer.
    """
    if not names:
        return {}
    topics = TopicCollection(sorted(names))
    answers = admin.describe_topics(topics, request_timeout=timeout_s)
    found = {}
    for name, answer in answers.items():
        with asking(endpoints, name, timeout_s, refusals):
            try:
                found[name] = result_of(answer, admin, refusals)
            except KafkaException as problem:
                if problem.args[0].code() not in MISSING:
                    raise
    return found


def _candidates(
    admin: AdminClient, declared: KafkaSource, refusals: Refusals, timeout_s: float
) -> Collection[str]:
    if declared.pattern is None:
        return declared.names
    pattern = topic_pattern(declared.pattern)
    every = metadata(admin, None, refusals, timeout_s).topics
    return [name for name in every if pattern.fullmatch(name)]


def _is_read(declared: KafkaSource, topic: TopicDescription) -> bool:
    """A pattern finds no topics that Kafka has for itself; Spark leaves out the same."""
    return declared.pattern is None or not topic.is_internal


def _ensure_there(endpoints: Endpoints, declared: KafkaSource, there: Collection[str]) -> None:
    if declared.pattern is not None and not there:
        raise SourceNotFoundError(
            declared.title,
            f"do not exist at {endpoints.kafka}, or may not be described",
            "Create one, grant Describe and Read on them, or correct source.kafka.topics of the "
            "feed",
        )
    missing = missing_topics(declared, there)
    if missing and (declared.on_gap == "stop" or not there):
        raise SourceNotFoundError(
            declared.title_of(missing[0]),
            f"does not exist at {endpoints.kafka}",
            "Create it, take it out of source.kafka.topics of the feed, or let the others go on "
            "without it (`on_gap: record`)",
        )


def _offsets(
    admin: AdminClient,
    places: Collection[TopicPartition],
    refusals: Refusals,
    timeout_s: float,
    spec: OffsetSpec,
) -> Mapping[Place, int]:
    """In one question to each broker that leads any of the partitions."""
    answers = admin.list_offsets(dict.fromkeys(places, spec), request_timeout=timeout_s)
    return {
        (place.topic, place.partition): result_of(answer, admin, refusals).offset
        for place, answer in answers.items()
    }
