"""A source that keeps its rows in the memory of the test's process: it proves the contract alone.

Spark's workers ask for the rows by a socket. It has no partitions, and its columns are called as
nobody else calls them.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.request import urlopen
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from lake_assets.delta.origins import origin_schema
from lake_assets.errors import SourceError, SourceNotFoundError, StreamError
from lake_assets.model.base import Noun
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import Extent, OriginColumns
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.routes import Route
from lake_assets.model.sources import OnGap, Source
from lake_assets.sources.base import Fetched, Generation

NOWHERE = Endpoints(kafka="localhost:1", registry="")
AT = datetime(2026, 11, 23, tzinfo=UTC)


@dataclass
class Queue:
    """Rows in their order; the first of them may be gone."""

    values: list[bytes] = field(default_factory=list)
    first: int = 0
    identity: int = 7

    def send(self, *values: object) -> None:
        self.values += [value if isinstance(value, bytes) else _json(value) for value in values]

    def lose(self, count: int) -> None:
        del self.values[:count]
        self.first += count

    def between(self, start: int, end: int) -> list[bytes]:
        return self.values[start - self.first : end - self.first]

    @property
    def end(self) -> int:
        return self.first + len(self.values)


QUEUES: dict[str, Queue] = {}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


class _Answers(BaseHTTPRequestHandler):
    """Tells Spark's workers what queues have: `/end/<queue>`, `/between/<queue>/<from>/<to>`."""

    def do_GET(self) -> None:
        _, question, name, *bounds = self.path.split("/")
        queue = QUEUES[name]
        if question == "end":
            answer: object = queue.end
        else:
            answer = [value.decode("latin-1") for value in queue.between(*map(int, bounds))]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(_json(answer))

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """The address at which this process's queues are served; they are forgotten at the end."""
    with ThreadingHTTPServer(("localhost", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield "localhost", server.server_port
        finally:
            server.shutdown()
            QUEUES.clear()


class MemoryQueue(Noun):
    """What a feed declares."""

    kind: ClassVar[str] = "memory"
    system: ClassVar[str] = "memory"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="queue", partition=None, offset="number", time="queued_at"
    )
    queue: str
    host: str
    port: int
    on_gap: OnGap = "stop"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.queue,)

    @property
    def is_one(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return self.queue

    @property
    def title(self) -> str:
        return self.title_of(self.queue)

    def title_of(self, name: str) -> str:
        return f"queue {name!r}"

    def reads(self, name: str) -> bool:
        return name == self.queue


class FromMemory(Source):
    memory: MemoryQueue

    @property
    def declared(self) -> MemoryQueue:
        return self.memory


def memory_feed(queue: str, address: tuple[str, int], **changes: object) -> Feed:
    """A feed of JSON that is routed by `model`."""
    host, port = address
    schema = "model string, bpm int"
    return Feed(
        feed="pulse",
        source=FromMemory(memory=MemoryQueue(queue=queue, host=host, port=port)),
        payload=Payload(json_=JsonPayload(ddl=schema)),
        route=Route(column="model", keys=("vita", "tempo")),
    ).model_copy(update=changes)


class _Reader(DataSourceStreamReader):
    def __init__(self, options):
        self._queue = options["queue"]
        self._url = f"http://{options['host']}:{options['port']}"
        self._start = int(options["start"])

    def _ask(self, *question):
        with urlopen("/".join([self._url, *map(str, question)])) as answer:  # noqa: S310 - ours
            return json.load(answer)

    def initialOffset(self):  # noqa: N802 - Spark's name
        return {"number": self._start}

    def latestOffset(self, start=None, limit=None):  # noqa: ARG002, N802
        return {"number": self._ask("end", self._queue)}

    def partitions(self, start, end):
        return [InputPartition((start["number"], end["number"]))]

    def read(self, partition):
        first, end = partition.value
        for number, value in enumerate(self._ask("between", self._queue, first, end), first):
            yield value.encode("latin-1"), self._queue, number, AT


class _MemoryRows(DataSource):
    def schema(self):
        return "value binary, queue string, number bigint, queued_at timestamp"

    def streamReader(self, schema):  # noqa: ARG002, N802
        return _Reader(self.options)


class MemorySource:
    """The queue as `sources.base` has a source."""

    columns: ClassVar[pa.Schema] = pa.schema(
        [pa.field("value", pa.binary()), *origin_schema(MemoryQueue.origin)]
    )
    parsers: ClassVar[dict] = {}

    def __init__(self, declared):
        self._declared = declared

    @classmethod
    def of(cls, feed, endpoints, lake):  # noqa: ARG003 - nobody else is asked
        return cls(feed.source.memory)

    def _queue(self):
        if self._declared.queue not in QUEUES:
            raise SourceNotFoundError(self._declared.title, "is not there", "Make it")
        queue = QUEUES[self._declared.queue]
        if queue is None:
            raise SourceError(self._declared.title, "does not answer", "Wait")
        return queue

    def extent(self, *, timeout_s=10.0):  # noqa: ARG002 - it answers at once
        queue = self._queue()
        return Extent(begins={self._place: queue.first}, ends={self._place: queue.end})

    @property
    def _place(self):
        return self._declared.queue, 0

    def has_unseen(self):
        return False

    def generation(self, names, *, timeout_s=10.0):  # noqa: ARG002
        return Generation(identities={self._declared.queue: self._queue().identity})

    def times(self, offsets, *, timeout_s=10.0):  # noqa: ARG002
        queue = self._queue()
        return {
            p: round(AT.timestamp() * 1_000_000)
            for p, at in offsets.items()
            if queue.first <= at < queue.end
        }

    def first_offsets(self, extent):
        return dict(extent.begins)

    def read(self, session, *, starts, max_rows, tasks):  # noqa: ARG002
        if starts[self._place] < self._queue().first:
            raise StreamError(self._declared.title, "lost rows", "Restore them")
        # A name serves one session, and no other of the process takes it again.
        name = f"memory_{uuid4().hex}"
        session.dataSource.register(
            type(name, (_MemoryRows,), {"name": classmethod(lambda _: name)})
        )
        options = {"queue": self._declared.queue, "host": self._declared.host}
        options["start"] = starts[self._place]
        return session.readStream.format(name).options(**options, port=self._declared.port).load()

    def fetch(self, *, starts, ends, timeout_s=10.0):  # noqa: ARG002
        start, end = starts[self._place], ends[self._place]
        rows = [
            {"value": value, "queue": self._declared.queue, "number": number, "queued_at": AT}
            for number, value in enumerate(self._queue().between(start, end), start)
        ]
        yield Fetched(rows=pa.Table.from_pylist(rows, schema=self.columns))

    def batch_end(self, planned):
        return {self._place: json.loads(planned)["number"]}
