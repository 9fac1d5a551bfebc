"""How many rows a second a REST sink delivers, by an API's latency and the calls at a time.

The first cases are those that are published of a commercial pipeline: a row a call and 34 ms, ten
rows a call and 100 ms, one call in flight. The bound of each is the calls at a time, times rows a
call, by the latency.
"""

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from benchmarks.beside import beside
from benchmarks.rest_floor import calls_a_second
from benchmarks.section import Figure, Section
from benchmarks.venue import Venue
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.errors import StreamError
from lake_assets.model.feeds import Feed
from lake_assets.parquet.data_file import write_file
from lake_assets.settings.schema import Settings
from lake_assets.sinks.run import SinkRun
from lake_assets.spark.lake_context import LakeContext, open_lake

REST = "rest-sinks"

_SECONDS = 20.0
"""That a case takes by its bound, at most: `--seconds` may say less."""

_FLOOR_S = 3.0
"""Seconds that the floor of a case is measured for."""

_FILE_ROWS = 5_000
"""Rows of one commit of silver, as a second or two of a busy stream leaves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """An API, and how it is called."""

    latency_s: float
    rows_per_call: int
    partitions: int
    calls_in_flight: int = 1
    published: float | None = None
    """Rows a second that are published of it."""

    rows: int | None = None
    """Rows of `_SECONDS`, where no latency bounds them."""

    @property
    def in_flight(self) -> int:
        """Calls at the same time."""
        return self.partitions * self.calls_in_flight

    @property
    def bound(self) -> float | None:
        """Rows a second, if calls cost nothing but their latency."""
        return self.in_flight * self.rows_per_call / self.latency_s if self.latency_s else None

    def rows_in(self, seconds: float) -> int:
        """How many rows are to be delivered in a measurement of so many seconds, at most 20."""
        share = min(1.0, seconds / _SECONDS)
        return round(share * (self.rows or (self.bound or 0) * _SECONDS))


CASES = (
    *(
        Case(latency_s=0.034, rows_per_call=1, partitions=number, published=rows)
        for number, rows in ((4, 122), (8, 249), (16, 447))
    ),
    *(
        Case(latency_s=0.1, rows_per_call=10, partitions=number, published=rows)
        for number, rows in ((4, 456), (8, 877), (16, 1687))
    ),
    *(
        Case(latency_s=0.1, rows_per_call=10, partitions=8, calls_in_flight=number)
        for number in (2, 4, 8)
    ),
    Case(latency_s=0.0, rows_per_call=1, partitions=8, rows=10_000),
    Case(latency_s=0.0, rows_per_call=10, partitions=8, rows=100_000),
    Case(latency_s=0.0, rows_per_call=100, partitions=8, rows=200_000),
)


def measure_rest(venue: Venue) -> Section:
    """Deliver rows of silver that are there, to an API in a process beside.

    Raises:
        StreamError: rows became dead letters.
    """
    rows: list[dict[str, Figure]] = []
    for case in CASES:
        settings = venue.lake()
        settings.lake_dir.mkdir(parents=True)
        with beside("benchmarks.rest_server", settings.lake_dir.parent, case.latency_s) as port:
            url = f"http://127.0.0.1:{port}/"
            floor = calls_a_second(url, case.in_flight, min(_FLOOR_S, venue.options.seconds))
            found = _measured(venue, settings, _feed(case, url), case, floor * case.rows_per_call)
        rows.append(found)
        venue.announce(f"{REST}: {found}")
    return Section(
        name=REST,
        keys=("latency_ms", "rows_per_call", "partitions", "calls_in_flight"),
        rows=rows,
        note="rows of silver that are there, to an API in a process beside, which waits for the "
        "latency and answers; `bound` is the calls at a time times rows a call, by the latency; "
        "`floor` are the rows of as many bare sockets that write one request over and over; "
        "`p50_ms` is what the answers took as the sink saw them",
    )


def _measured(
    venue: Venue, settings: Settings, feed: Feed, case: Case, floor: float
) -> dict[str, Figure]:
    count = case.rows_in(venue.options.seconds)
    with open_lake(settings, venue.session) as context:
        _fill(context, feed, count)
        own = venue.session.newSession()
        with SinkRun(own, context, feed, feed.sinks[0], settings) as run:
            used = time.process_time()
            report = run.deliver(threading.Event())
            used = time.process_time() - used
    if report.rows != count:
        raise StreamError(REST, f"{count - report.rows} rows were not delivered", "Look at its log")
    speed = report.rows / report.seconds
    return {
        "latency_ms": round(case.latency_s * 1000),
        "rows_per_call": case.rows_per_call,
        "partitions": case.partitions,
        "calls_in_flight": case.calls_in_flight,
        "rows_per_s": round(speed),
        "bound": round(case.bound) if case.bound else None,
        "of_bound": round(speed / case.bound, 3) if case.bound else None,
        "floor": round(floor),
        "of_floor": round(speed / floor, 3),
        "p50_ms": round(report.latency_s["p50"] * 1000, 1),
        "published": case.published,
        "cpu_ms_a_call": round(used / report.calls * 1000, 2),
    }


def _feed(case: Case, url: str) -> Feed:
    return Feed.model_validate(
        {
            "feed": "bench_rest",
            "source": {"kafka": {"topic": "bench-rest"}},
            "payload": {"json": {"schema": "player string, game string, at timestamp"}},
            "sinks": [
                {
                    "name": "api",
                    "from": "silver",
                    "where": "player <> ''",
                    "select": {"player": "player", "game": "game", "at": "at"},
                    "rest": {
                        "url": url,
                        "rows_per_call": case.rows_per_call,
                        "partitions": case.partitions,
                        "calls_in_flight": case.calls_in_flight,
                        "allow_private": True,
                    },
                }
            ],
        }
    )


def _fill(context: LakeContext, feed: Feed, count: int) -> None:
    table, now = feed.silver_table(feed.feed), datetime.now(UTC)
    log = log_of(context.lake, table)
    for number, start in enumerate(range(0, count, _FILE_ROWS), 1):
        offsets = range(start, min(count, start + _FILE_ROWS))
        rows = pa.table(
            {
                "player": [f"player-{offset % 1000}" for offset in offsets],
                "game": pa.repeat("uno", len(offsets)),
                "at": pa.array([now] * len(offsets), pa.timestamp("us", tz="UTC")),
                "_kafka_timestamp": pa.array([now] * len(offsets), pa.timestamp("us", tz="UTC")),
                "_topic": pa.repeat("bench-rest", len(offsets)),
                "_partition": pa.array([0] * len(offsets), pa.int32()),
                "_offset": pa.array(offsets, pa.int64()),
            }
        )
        context.committer.create({table: rows.schema})
        file = DataFile(**write_file(context.lake, rows, log.folder))  # type: ignore[arg-type]
        context.committer.append([Commit(table=table, files=[file])], Batch("bench", number))
