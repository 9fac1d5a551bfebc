"""What a micro-batch costs whose lake is in a bucket, by how long the bucket takes to answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.bucket import LAKE, run_bucket
from benchmarks.ground import Ground
from benchmarks.section import Figure, Section
from benchmarks.small import measure_batches
from benchmarks.topic import topic_of
from benchmarks.venue import Venue
from lake_assets.settings.schema import Settings, StorageSettings

STORE = "store"

_ROWS = 2_000
"""Of a batch."""

_BATCHES = 12
"""Of a case: the first of them find every table new to the committer."""

LATENCIES_MS = (0, 20, 100, 200)
"""That a call takes longer than the server needs."""

_USUAL_TABLES, _USUAL_MS = 100, 20
"""So many tables are measured with each latency; other numbers of them with one."""


def measure_store(venue: Venue) -> Section:
    """Time micro-batches of 2,000 rows into lakes in a bucket that is far away.

    Raises:
        StreamError: the way to the bucket cannot be made longer.
        RuntimeSetupError: the server cannot be had.
    """
    rows: list[dict[str, Figure]] = []
    batches = venue.options.batches or _BATCHES
    for tables in sorted(venue.options.tables)[-2:]:
        events = batches * _ROWS
        with topic_of(venue.endpoints, tables=tables, events=events, stop=venue.stop) as topic:
            for latency_ms in LATENCIES_MS:
                if tables != _USUAL_TABLES and latency_ms != _USUAL_MS:
                    continue
                venue.announce(f"{STORE}: {batches} batches, {tables} tables, {latency_ms} ms …")
                with _bucket(venue.ground(topic), latency_ms / 1000) as ground:
                    found = measure_batches(ground, _ROWS)
                rows.append({"tables": tables, "latency_ms": latency_ms, **found})
                venue.announce(f"{STORE}: {found}")
    return Section(
        name=STORE,
        keys=("tables", "latency_ms"),
        rows=rows,
        note="the lake is in a bucket of S3Proxy, in memory, whose every call takes so much "
        "longer; columns are those of small-batches; server and streams share the machine",
    )


@contextmanager
def _bucket(ground: Ground, latency_s: float) -> Iterator[Ground]:
    """The same, with its lake in a bucket and its state in the folder that the lake had."""
    folder = ground.settings.lake_dir
    folder.mkdir(parents=True)
    with run_bucket(ground.settings.runtime, folder, latency_s) as options:
        settings: Settings = ground.settings.model_copy(
            update={
                "lake": Path(str(LAKE)),
                "state": folder / "state",
                "storage": StorageSettings.model_validate({"options": options}),
            }
        )
        yield replace(ground, settings=settings)
