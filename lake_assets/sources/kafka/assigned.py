"""A consumer of partitions that it is told of: in no group, since bronze knows where it goes on."""

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

IN_NO_GROUP = {"group.id": "lake_assets", "enable.auto.commit": False}
"""Properties: a consumer has to name a group, and neither joins it nor commits to it."""


def next_message(consumer: Consumer, timeout_s: float) -> Message:
    """The next message of an assigned partition, or the error of one.

    librdkafka asks for the coordinator of the group all the same, and tells as a message that the
    user has no right to it; nobody needs it.

    Raises:
        KafkaException: there is none within `timeout_s`.
    """
    ends_at = time.monotonic() + timeout_s
    while (message := consumer.poll(max(0.0, ends_at - time.monotonic()))) is not None:
        error = message.error()
        if error is None or error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            return message
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - librdkafka's own code
