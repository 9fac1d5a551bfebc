"""What the way through files takes, beside the stream: of a full topic, and of a steady one.

The full one is read by the streams' code in a warm session, from the topic, and from the files of
an export, whose own time and processor time count. The steady one is read by `lake-assets stream`
while events are sent, and for the files exported every few seconds. An event's way begins with its
time in Kafka, and ends with its commit to silver; of files the mean of all ways is known, by the
means of their ends.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import fmean, median

from benchmarks.cost import cpu_times_of, shares_of
from benchmarks.ground import Ground, check, timed
from benchmarks.section import Figure, Section
from benchmarks.streaming import Arrivals, running_streams, send_events, silver_folders
from benchmarks.topic import delete_topic, feed_of, keys_of, topic_of
from benchmarks.venue import Venue
from lake_assets.export.plan import Range
from lake_assets.export.reading import read_range
from lake_assets.export.run import Request, export_topic
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.model.sources import Source
from lake_assets.sources.kafka.topics import end_offsets
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.pipeline import Pipeline

FILES = "files"

_KAFKA, _BY_FILES = "kafka", "files"

_EVERY_S = 5.0
"""Seconds between two exports of the steady topic."""

_WARM_UP_S = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Spent:
    """What something took."""

    seconds: float
    cpu_s: float


def measure_files(venue: Venue) -> Section:
    """Catch up with a topic both ways, then follow one both ways.

    Raises:
        StreamError: rows are missing, or the streams do not keep up.
        ExportError: the export failed.
    """
    found = _catch_up(venue)
    rate = min(venue.options.rates)
    rows = [{"way": way, **spent, **_follow(venue, way, rate)} for way, spent in found.items()]
    return Section(
        name=FILES,
        keys=("way",),
        rows=rows,
        note=f"{venue.options.events:,} events into {venue.options.some_tables} tables, the export "
        f"is in seconds and cpu_s of files; then {rate:,} events/s over "
        f"{venue.options.seconds:.0f} s, exported every {_EVERY_S:.0f} s",
    )


def _catch_up(venue: Venue) -> dict[str, dict[str, Figure]]:
    options = venue.options
    taken: dict[str, list[_Spent]] = {_KAFKA: [], "export": [], "reading": []}
    with topic_of(
        venue.endpoints, tables=options.some_tables, events=options.events, stop=venue.stop
    ) as topic:
        name = topic.feed.source.topics.names[0]
        for turn in range(options.runs + options.warm_up):
            ground = venue.ground(topic)
            ground.start_session()
            streamed = _spent(partial(_stream, ground, topic.feed), venue)
            folder = venue.lake().lake_dir.with_suffix(".files")
            request = Request(topic=name, folder=folder, format="protobuf")
            exported = _spent(partial(export_topic, venue.endpoints, request), venue)
            ground = venue.ground(topic)
            read = _spent(partial(_stream, ground, _by_files(topic.feed, folder)), venue)
            if turn or not options.warm_up:
                for way, spent in zip(taken, (streamed, exported, read), strict=True):
                    taken[way].append(spent)
        venue.announce(f"{FILES}: {options.events:,} events were taken both ways")
    kafka, export, reading = map(_medians, taken.values())
    return {
        _KAFKA: _figures(options.events, kafka),
        _BY_FILES: _figures(
            options.events,
            _Spent(seconds=export.seconds + reading.seconds, cpu_s=export.cpu_s + reading.cpu_s),
            export,
        ),
    }


def _figures(events: int, all_: _Spent, export: _Spent | None = None) -> dict[str, Figure]:
    return {
        "seconds": round(all_.seconds, 2),
        "rows_per_s": round(events / all_.seconds),
        "cpu_s": round(all_.cpu_s, 2),
        "export_s": round(export.seconds, 2) if export else None,
        "export_cpu_s": round(export.cpu_s, 2) if export else None,
    }


def _medians(spent: list[_Spent]) -> _Spent:
    return _Spent(
        seconds=median(one.seconds for one in spent), cpu_s=median(one.cpu_s for one in spent)
    )


def _spent(act: Callable[[], object], venue: Venue) -> _Spent:
    before = cpu_seconds()
    seconds = timed(act, venue.stop)
    return _Spent(seconds=seconds, cpu_s=cpu_seconds() - before)


def cpu_seconds() -> float:
    """What this process, its JVM and Python's workers have used since they began.

    The own one is told by the clock that counts its threads, those of Kafka's client as well.
    """
    spent = cpu_times_of(os.getpid())
    below = sum(used for (kind, *_), used in spent.items() if kind != "driver")
    return below + time.process_time()


def _by_files(feed: Feed, folder: Path) -> Feed:
    files = FilesSource(path=str(folder.absolute()), format="protobuf", settle=timedelta(0))
    return feed.model_copy(update={"source": Source(files=files)})


def _stream(ground: Ground, feed: Feed) -> None:
    """As `lake-assets stream --until-caught-up`, in a warm session."""
    reports: list[BatchReport] = []
    failures: list[Exception] = []
    with open_lake(ground.settings, ground.session) as context:
        pipeline = Pipeline(
            session=ground.session,
            endpoints=ground.endpoints,
            context=context,
            stream=ground.settings.stream,
            state_dir=ground.settings.state_dir,
            report=reports.append,
            failed=lambda _, problem: failures.append(problem),
        )
        streams = FeedStreams(
            pipeline=pipeline,
            settings=ground.settings,
            feed=feed,
            until_caught_up=True,
            announce=lambda _: None,
            stop=threading.Event(),
            goes_on=lambda: False,
        )
        streams.run()
    for problem in (*failures, streams.failure):
        if problem is not None:
            raise problem
    rows = sum(
        sum(one.rows.values()) + sum(one.dropped.values())
        for one in reports
        if one.stage is Stage.DEMUX
    )
    check(FILES, rows=rows, expected=ground.events)


def _follow(venue: Venue, way: str, rate: int) -> dict[str, Figure]:
    """How late events are in silver on average, and what share of a core the streams take."""
    settings = venue.lake()
    name = f"bench-files-{settings.lake_dir.name[:8]}"
    shipped = feed_of(name, keys_of(venue.options.some_tables))
    feed = shipped.model_copy(update={"gold": ()})
    folder = settings.lake_dir.with_suffix(".files")
    folder.mkdir(parents=True)
    read = feed if way == _KAFKA else _by_files(feed, folder)
    send = partial(send_events, venue, feed)
    try:
        sent = send(1.0, 100.0)
        with (
            _exporting(venue.endpoints, name, folder) if way == _BY_FILES else nullcontext(),
            running_streams(settings, read) as process,
        ):
            arrivals = Arrivals(silver_folders(settings, feed), process)
            sent += send(_WARM_UP_S if venue.options.warm_up else 1.0, rate)
            arrivals.wait_for(sent)
            before, warm = cpu_times_of(process.pid), set(arrivals.rows_by_commit)
            began = time.time()
            counted = send(venue.options.seconds, rate)
            arrivals.wait_for(sent + counted)
            seconds = time.time() - began
            share = shares_of(before, cpu_times_of(process.pid), seconds)["core"]
        late_s = _mean_end(arrivals, warm) - _mean_begin(venue.endpoints, name, began)
    finally:
        delete_topic(venue.endpoints, name, feed.payload.subject)
    return {"mean_way_s": round(late_s, 2), "core_percent": share}


def _mean_end(arrivals: Arrivals, warm: set[Path]) -> float:
    """When rows came to silver, on average."""
    new = {commit: rows for commit, rows in arrivals.rows_by_commit.items() if commit not in warm}
    return sum(rows * commit.stat().st_mtime for commit, rows in new.items()) / sum(new.values())


def _mean_begin(endpoints: Endpoints, topic: str, began: float) -> float:
    """When records since some moment came to the topic, on average, by their own times."""
    times = [
        message.timestamp()[1] / 1000
        for partition, end in end_offsets(endpoints, topic).items()
        for read in read_range(
            endpoints,
            topic,
            Range(partition=partition, first=0, after=end),
            stop=lambda: False,
        )
        for message in read.messages
    ]
    return fmean(at for at in times if at >= began)


@contextmanager
def _exporting(endpoints: Endpoints, topic: str, folder: Path) -> Iterator[None]:
    """Exports a topic every few seconds, in a thread of its own, until the end of the block."""
    over = threading.Event()
    request = Request(topic=topic, folder=folder, format="protobuf")

    def go_on() -> None:
        while not over.wait(_EVERY_S):
            export_topic(endpoints, request)

    with ThreadPoolExecutor(1) as pool:
        exports = pool.submit(go_on)
        try:
            yield
        finally:
            over.set()
    exports.result()
