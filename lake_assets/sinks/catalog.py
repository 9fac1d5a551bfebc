"""Which kind of sink a feed declares, and what delivers to it."""

from collections.abc import Callable
from datetime import timedelta

from pydantic import SecretStr

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sinks import Sink
from lake_assets.sinks.base import Target
from lake_assets.sinks.kafka.cluster import cluster_of, look_at_topic
from lake_assets.sinks.kafka.subject import Subject
from lake_assets.sinks.kafka.target import KafkaTarget
from lake_assets.sinks.python.target import PythonTarget, ensure_makeable
from lake_assets.sinks.rest.reach import ensure_reachable as ensure_api_reachable
from lake_assets.sinks.rest.target import RestTarget
from lake_assets.sinks.sql.reach import ensure_reachable as ensure_database_reachable
from lake_assets.sinks.sql.target import SqlTarget


def target_of(
    sink: Sink, look_up: Callable[[str], SecretStr], endpoints: Endpoints | None
) -> Target:
    """What delivers to a sink.

    Args:
        sink: as it is declared.
        look_up: knows secrets by their environment variables.
        endpoints: of the lake; None where its brokers do not run.

    Raises:
        SettingsError: a secret is not there.
        SinkError: it cannot be called as it is declared.
    """
    if sink.sql is not None:
        return SqlTarget(sink.sql, look_up)
    if sink.kafka is not None:
        return KafkaTarget(sink.kafka, endpoints, look_up)
    if sink.python is not None:
        return PythonTarget(sink.python, look_up)
    assert sink.rest is not None  # noqa: S101 - one of them is given
    return RestTarget(sink.rest, look_up)


def ensure_sink_reachable(
    sink: Sink,
    look_up: Callable[[str], SecretStr],
    endpoints: Endpoints | None,
    *,
    within_s: float,
) -> tuple[str, ...]:
    """Make sure that a sink can be reached from this process; nothing is sent.

    Returns:
        What it promises less than one may think, each in a few words.

    Raises:
        SettingsError: a secret is not there.
        SinkError: it cannot be reached.
    """
    if sink.kafka is not None:
        cluster = cluster_of(sink.kafka, endpoints, look_up)
        if sink.kafka.value == "protobuf":
            Subject(sink.kafka, endpoints).check()
        return look_at_topic(sink.kafka, cluster, timeout_s=within_s)
    if sink.sql is not None:
        ensure_database_reachable(sink.sql, look_up, within_s=within_s)
    elif sink.python is not None:
        timeout = min(sink.python.timeout, timedelta(seconds=within_s))
        ensure_makeable(sink.python.model_copy(update={"timeout": timeout}), look_up)
    elif sink.rest is not None:
        ensure_api_reachable(sink.rest, look_up, within_s=within_s)
    return ()
