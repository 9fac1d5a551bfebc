"""How large a registry's answer may be: it is read whole, by a client that asks no such question.

What answers say is judged by `answers`.
"""

from collections.abc import Iterator
from contextlib import closing

from confluent_kafka.schema_registry.common._httpx_compat import httpx

from lake_assets.formats.confluent.answers import UnexpectedAnswerError

MOST_BYTES = 32 * 1024 * 1024
"""Of one answer: the list of half a million subjects has as many, and schemas have a thousandth."""


def bound_answers(session: "httpx.Client") -> None:
    """Have each answer refused that is larger; reading ends there.

    `UnexpectedAnswerError` comes out of whatever asked.
    """
    # What is unpacked could be a thousand times as large as what was counted.
    session.headers["Accept-Encoding"] = "identity"
    session.event_hooks["response"] = [*session.event_hooks["response"], _bound]


def _bound(response: "httpx.Response") -> None:
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        message = f"an answer is packed ({encoding}), which was not asked for"
        raise UnexpectedAnswerError(message)
    if isinstance(response.stream, httpx.SyncByteStream):  # as each of a client's that waits
        response.stream = _Counted(response.stream)


class _Counted(httpx.SyncByteStream):
    def __init__(self, stream: "httpx.SyncByteStream") -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > MOST_BYTES:
                message = f"an answer has more than {MOST_BYTES // 1024**2} MiB"
                raise UnexpectedAnswerError(message)
            yield part

    def close(self) -> None:
        with closing(self._stream):
            return
