"""What brokers refuse, or do not know, that a feed gets along without; for the doctor.

Changes nothing. What a feed needs is asked where it is needed, and an error there.
"""

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.generation import topic_generation
from lake_assets.sources.kafka.refusals import FORBIDDEN, is_about_question
from lake_assets.sources.kafka.retention import topic_retention
from lake_assets.sources.kafka.topics import asking, client_config, result_of

_NO_ID = (
    "brokers give it no id, so that one which was created again under its name is told by the "
    "times of its rows alone"
)


def topic_limits(
    endpoints: Endpoints, topic: str, *, timeout_s: float = ANSWER_S
) -> tuple[str, ...]:
    """What is not to be had of a topic that can be read, each in a few words.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses us the topic itself.
    """
    told = topic_generation(endpoints, [topic], timeout_s=timeout_s)
    limits = [] if told.identities.get(topic) is not None else [_NO_ID]
    try:
        topic_retention(endpoints, [topic], timeout_s=timeout_s)
    except SourceError as problem:
        limits.append(f"its settings cannot be read (DescribeConfigs): it {problem.fact}")
    return tuple(limits)


def group_refusal(endpoints: Endpoints, group: str, *, timeout_s: float = ANSWER_S) -> str | None:
    """Why brokers would take no offsets of a consumer group; None if they would, or do not tell.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it lets us not in.
    """
    with asking(endpoints, None, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        (answer,) = admin.describe_consumer_groups(
            [group], include_authorized_operations=True, request_timeout=timeout_s
        ).values()
        try:
            rights = result_of(answer, admin, refusals).authorized_operations
        except KafkaException as problem:
            if not is_about_question(problem.args[0]):
                raise
            return problem.args[0].str() if problem.args[0].code() in FORBIDDEN else None
    # Brokers tell of rights since 2.3.
    return "no right to Read" if rights is not None and AclOperation.READ not in rights else None
