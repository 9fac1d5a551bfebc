"""The brokers that a sink produces to, and what its topic promises of what it takes."""

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from pydantic import SecretStr

from lake_assets.errors import SinkError, SourceError, SourceNotFoundError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.kafka_sink import KafkaSink
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.refusals import is_about_question
from lake_assets.sources.kafka.topics import asking, client_config, metadata, offset_bounds


def cluster_of(
    sink: KafkaSink, own: Endpoints | None, look_up: Callable[[str], SecretStr]
) -> Endpoints:
    """The brokers of a sink: another cluster, or the lake's own.

    Raises:
        SettingsError: a secret is not there.
        SinkError: it is the lake's own, and there are none.
    """
    if sink.bootstrap_servers is None:
        if own is None or not own.kafka:
            fact = "has no brokers: the lake's own do not run, and the sink names no others"
            step = "Run `lake-assets up`, or set LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS"
            raise SinkError(f"topic {sink.topic!r}", fact, step)
        return own
    secrets = {name: look_up(secret.env) for name, secret in sink.secrets.items()}
    return Endpoints(
        kafka=sink.bootstrap_servers, registry="", kafka_options={**sink.options, **secrets}
    )


def look_at_topic(
    sink: KafkaSink, cluster: Endpoints, *, timeout_s: float = ANSWER_S
) -> tuple[str, ...]:
    """Make sure that the topic is there and takes messages like the sink's; makes none.

    Returns:
        What it promises less than one may think, each in a few words.

    Raises:
        SinkError: it is not there, cannot be reached, or would refuse every message.
    """
    thing = f"topic {sink.topic!r} at {cluster.kafka}"
    try:
        # A consumer's question, which creates no topic.
        offset_bounds(cluster, sink.topic, timeout_s=timeout_s)
        config, copies = _told(sink, cluster, timeout_s)
    except SourceNotFoundError as problem:
        step = "Create it, or correct kafka.topic of the sink"
        raise SinkError(problem.thing, problem.fact, step) from problem
    except SourceError as problem:
        raise SinkError(problem.thing, problem.fact, problem.next_step) from problem
    if config is None:
        return ("its settings cannot be read (DescribeConfigs)",)
    if "compact" in (config.get("cleanup.policy") or "") and sink.key is None:
        step = "Name the field that is the key, or have the topic delete instead"
        raise SinkError(thing, "is compacted, and takes no message without a key", step)
    return tuple(_weak_points(config, copies))


def _told(
    sink: KafkaSink, cluster: Endpoints, timeout_s: float
) -> tuple[Mapping[str, str | None] | None, int]:
    """The topic's settings, None if they cannot be read; and the fewest copies of a partition."""
    with asking(cluster, sink.topic, timeout_s) as refusals:
        admin = AdminClient(client_config(cluster, refusals))
        told = metadata(admin, sink.topic, refusals, timeout_s).topics[sink.topic]
        copies = min(len(one.replicas) for one in told.partitions.values())
        resource = ConfigResource(ResourceType.TOPIC, sink.topic)
        (answer,) = admin.describe_configs([resource], request_timeout=timeout_s).values()
        try:
            return {name: entry.value for name, entry in answer.result().items()}, copies
        except KafkaException as problem:
            if not is_about_question(problem.args[0]):
                raise
            return None, copies


def _weak_points(config: Mapping[str, str | None], copies: int) -> list[str]:
    found = []
    in_sync = int(config.get("min.insync.replicas") or 1)
    if copies == 1:
        found.append("one broker has the only copy of what is delivered")
    elif in_sync == 1:
        found.append("min.insync.replicas is 1: what one broker alone took counts as delivered")
    if config.get("unclean.leader.election.enable") == "true":
        found.append("unclean.leader.election.enable lets a broker lead that lacks messages")
    if "compact" in (config.get("cleanup.policy") or ""):
        found.append("it is compacted: of each key the last message stays")
    return found
