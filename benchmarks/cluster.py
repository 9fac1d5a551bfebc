"""What Spark adds for tasks in processes of their own: the same batches by one JVM and by clusters.

A real standalone master with one to four workers of a core each on this machine: what is measured
is what tasks elsewhere cost, not how much quicker several machines are.
"""

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.bucket import LAKE, run_bucket
from benchmarks.cluster_case import Case, Figures
from benchmarks.section import Figure, Section
from benchmarks.standalone import run_cluster
from benchmarks.topic import Topic, topic_of
from benchmarks.venue import Venue
from lake_assets.errors import StreamError
from lake_assets.runtime.java import find_java
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings, StorageSettings
from lake_assets.settings.spark import SparkSettings

CLUSTER = "cluster"

ONE_JVM = "one JVM"

_CORES = (1, 2, 4)
"""Of a JVM, or workers of one core each; a batch has as many tasks."""

_ROWS = 40_000
"""Of a batch: enough for four tasks (`streams.triggers`)."""

_TABLES = 10
"""At most: with more, such a batch would be cut into fewer tasks."""

_BATCHES = 24
"""Of a case; in the first half Java compiles, and executors come."""


def measure_cluster(venue: Venue) -> Section:
    """Run the same batches by one JVM and by clusters, round by round.

    Raises:
        StreamError: a case failed.
        RuntimeSetupError: the store's server cannot be had.
    """
    options = venue.options
    cores = _CORES if options.warm_up else (2,)
    rows, batches = min(_ROWS, options.events), options.batches or _BATCHES
    tables = max((n for n in options.tables if n <= _TABLES), default=1)
    figures: dict[tuple[str, int], list[Figures]] = defaultdict(list)
    loads: list[float] = []
    with topic_of(venue.endpoints, tables=tables, events=rows * batches, stop=venue.stop) as topic:
        for _ in range(options.runs):
            for place in [(kind, count) for count in cores for kind in (ONE_JVM, CLUSTER)]:
                loads.append(os.getloadavg()[0])
                figures[place].append(_run(venue, topic, place, rows, batches // 2))
                venue.announce(f"{CLUSTER}: {place[0]}, {place[1]} cores: {figures[place][-1]}")
                if venue.stop():
                    raise KeyboardInterrupt
    return Section(
        name=CLUSTER,
        keys=("spark", "cores"),
        rows=rows_of({place: medians_of(found) for place, found in figures.items()}),
        note=f"a batch of {rows:,} rows into bronze and {tables} tables in a bucket (S3Proxy, in "
        f"memory), of the last {batches - batches // 2} of {batches}; processor seconds of driver, "
        "executors and their Python, without those of broker, store, master and workers, which "
        f"share the machine; load {min(loads):.1f} to {max(loads):.1f}; medians of {options.runs}",
    )


def rows_of(found: Mapping[tuple[str, int], Figures]) -> list[dict[str, Figure]]:
    """With how many times the first one's seconds each takes."""
    first = next(iter(found.values()))
    rows: list[dict[str, Figure]] = []
    for (kind, cores), case in found.items():
        cpu_s, of_first = case.jvm_s + case.python_s, first.jvm_s + first.python_s
        rows.append(
            {
                "spark": kind,
                "cores": cores,
                "batch_s": case.batch_s,
                "cpu_s": round(cpu_s, 3),
                "jvm_s": case.jvm_s,
                "python_s": case.python_s,
                "x_batch": round(case.batch_s / first.batch_s, 2),
                "x_cpu": round(cpu_s / of_first, 2),
            }
        )
    return rows


def medians_of(found: Sequence[Figures]) -> Figures:
    """What rounds of one case come to."""
    return Figures(
        batches=found[0].batches,
        batch_s=round(median(one.batch_s for one in found), 3),
        jvm_s=round(median(one.jvm_s for one in found), 3),
        python_s=round(median(one.python_s for one in found), 3),
    )


def _run(venue: Venue, topic: Topic, place: tuple[str, int], rows: int, warm_up: int) -> Figures:
    """A case, with a bucket and a cluster of its own."""
    kind, cores = place
    runtime = venue.settings.runtime
    with (
        tempfile.TemporaryDirectory(prefix="cluster-") as folder,
        run_bucket(runtime, Path(folder)) as options,
    ):
        settings = _settings(venue.settings, Path(folder), options, rows)
        case = Case(
            kafka=venue.endpoints.kafka,
            registry=venue.endpoints.registry,
            feed=topic.feed,
            by_game=dict(topic.by_game),
            warm_up=warm_up,
        )
        if kind == ONE_JVM:
            return _figures(_on(settings, f"local[{cores}]"), case)
        with run_cluster(find_java(runtime.cache), Path(folder) / "c", workers=cores) as cluster:
            conf = {
                "spark.executor.memory": "1g",
                "spark.executor.cores": "1",
                "spark.cores.max": str(cores),
                "spark.executorEnv.PYTHONPATH": _path(),
            }
            own = case.model_copy(update={"workers": cluster.workers})
            return _figures(_on(settings, cluster.master, conf), own)


def _settings(settings: Settings, folder: Path, options: Mapping[str, str], rows: int) -> Settings:
    stream = settings.stream.model_copy(update={"max_rows_per_batch": rows})
    return settings.model_copy(
        update={
            "home": folder / "home",
            "lake": Path(str(LAKE)),
            "storage": StorageSettings.model_validate({"options": options}),
            "stream": stream,
        }
    )


def _on(settings: Settings, master: str, conf: Mapping[str, str] | None = None) -> Settings:
    own = settings.spark.model_dump() | {"master": master, "conf": conf or {}}
    return settings.model_copy(update={"spark": SparkSettings.model_validate(own)})


def _figures(settings: Settings, case: Case) -> Figures:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cluster_case"],
        env={**child_environment(settings), "PYTHONPATH": _path()},
        input=case.model_dump_json(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last_lines = done.stderr.splitlines()[-1:] or ["it left no message"]
        raise StreamError(f"bench: {CLUSTER}", last_lines[0][:300], "Leave it out")
    return Figures.model_validate_json(done.stdout.splitlines()[-1])


def _path() -> str:
    return os.pathsep.join(filter(None, sys.path))
