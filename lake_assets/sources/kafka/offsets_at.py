"""Where in a topic a time is: for who wants a feed to begin at it."""

from datetime import datetime

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.topics import asking, client_config, offset_bounds, result_of


def offsets_at(
    endpoints: Endpoints, topic: str, at: datetime, *, timeout_s: float = ANSWER_S
) -> dict[int, int]:
    """By partition, the offset of the first row with this time or a later one.

    The time is the one that Kafka has for a row. Of a partition without such a row it is the end.

    Raises:
        SourceNotFoundError: the topic does not exist.
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    ends = {p: end for p, (_, end) in offset_bounds(endpoints, topic, timeout_s=timeout_s).items()}
    spec = OffsetSpec.for_timestamp(round(at.timestamp() * 1000))
    with asking(endpoints, topic, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        asked = {TopicPartition(topic, partition): spec for partition in ends}
        answers = admin.list_offsets(asked, request_timeout=timeout_s)
        found = {
            place.partition: result_of(answer, admin, refusals).offset
            for place, answer in answers.items()
        }
    return {
        partition: end if found[partition] < 0 else found[partition]
        for partition, end in ends.items()
    }
