"""Where the servers of a lake answer."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoints:
    """Addresses of the broker and the registry, embedded or the user's own."""

    kafka: str
    """`host:port[,host:port]`."""

    registry: str
    """Base URL of a Confluent-compatible registry."""

    kafka_options: dict[str, str] = field(default_factory=dict)
    """Further librdkafka client properties."""
