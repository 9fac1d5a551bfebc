"""A sink that is a Kafka topic, as a feed declares it; producing to it is `sinks.kafka`'s."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.checks import Duration
from lake_assets.model.rest import Secret
from lake_assets.model.sources import TopicName

_OURS = frozenset(
    {"bootstrap.servers", "metadata.broker.list", "acks", "request.required.acks"}
    | {"enable.idempotence", "enable.gapless.guarantee", "transactional.id", "retries"}
    | {"message.send.max.retries", "message.timeout.ms", "delivery.timeout.ms"}
    | {"max.in.flight", "max.in.flight.requests.per.connection", "partitioner"}
)
"""Properties that what is promised hangs on."""


class KafkaSink(Noun):
    """A topic that rows are produced to."""

    topic: TopicName
    """The topic, which must be there: the sink creates none."""

    key: Annotated[str, Field(min_length=1)] | None = None
    """Field whose value is a message's key: messages of the same key go to the same partition.
    Unset or null, a message has none."""

    value: Literal["json", "protobuf"] = "json"
    """What a message's value is: a JSON object of the row's fields, or a protobuf message of a
    type that the lake's schema registry has under the subject `<topic>-value`, as Confluent's
    serializers frame it."""

    message: Annotated[str, Field(min_length=1)] | None = None
    """Of `protobuf`: full name of the message type, in a schema that you registered. Unset, the
    newest version's first; without any, a schema is registered that has the rows' fields."""

    bootstrap_servers: Annotated[str, Field(min_length=1)] | None = None
    """`host:port[,host:port]` of another cluster; unset, the lake's own brokers."""

    options: dict[str, str] = Field(default_factory=dict)
    """Client properties of librdkafka for that other cluster (`security.protocol`, …)."""

    secrets: dict[str, Secret] = Field(default_factory=dict)
    """Those that are secret: `{sasl.password: {env: …}}`."""

    rows_per_call: int = Field(default=500, ge=1, le=10_000)
    """Most messages that are waited for together."""

    calls_in_flight: int = Field(default=1, ge=1, le=32)
    """How many such groups are on their way at the same time."""

    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(minutes=10))] = (
        timedelta(seconds=30)
    )
    """How long the brokers have to take a message before it counts as not delivered, and is tried
    again."""

    @model_validator(mode="after")
    def _fields_go_together(self) -> Self:
        given = {*self.options, *self.secrets}
        if given and self.bootstrap_servers is None:
            message = "options and secrets are for another cluster\nname its bootstrap_servers"
            raise ValueError(message)
        if "@" in (self.bootstrap_servers or ""):
            message = "bootstrap_servers: has an @, and is shown\ngive a login in `secrets`"
            raise ValueError(message)
        if self.message is not None and self.value != "protobuf":
            message = "message: is of `value: protobuf`"
            raise ValueError(message)
        wrong = next((name for name in sorted(given) if name in _OURS), None)
        if wrong is not None:
            message = f"{wrong} cannot be set: what is promised hangs on it"
            raise ValueError(message)
        return self
