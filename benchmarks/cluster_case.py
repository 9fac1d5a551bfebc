"""One Spark, one JVM or a cluster's, and the batches of a topic: a process of its own.

`python -m benchmarks.cluster_case` reads what to do from standard input as JSON, and settings from
the environment; it prints what each batch took as JSON. `cluster` starts it.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from statistics import median
from time import perf_counter

import psutil
from pydantic import BaseModel

from benchmarks.ground import Ground, check
from benchmarks.ours import catch_up, pipeline_of
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import load_settings
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.session import start_session

CASE = "cluster: batches"


class Case(BaseModel):
    """What to do."""

    kafka: str
    registry: str
    feed: Feed
    by_game: dict[str, int]
    warm_up: int
    """Batches before those that count."""

    workers: tuple[int, ...] = ()
    """Processes whose children are the executors."""


class Figures(BaseModel):
    """What a batch took, of those that count: a median, and means of processor time."""

    batches: int
    batch_s: float
    jvm_s: float
    python_s: float


def cpu_seconds(processes: Iterable[psutil.Process]) -> tuple[float, float]:
    """Of processor time that JVMs have used, and that Python has, ended children included."""
    jvm = python = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            own, is_jvm = sum(process.cpu_times()[:4]), process.name() == "java"
            jvm, python = jvm + own * is_jvm, python + own * (not is_jvm)
    return jvm, python


def figures_of(ends: Sequence[float], spent: Sequence[tuple[float, float]]) -> Figures:
    """What the batches took that count.

    Args:
        ends: when each batch had ended, that before the first of them included.
        spent: what had been used of processor time at the first of these ends and at the last.
    """
    batches, (before, after) = len(ends) - 1, spent
    return Figures(
        batches=batches,
        batch_s=round(median(later - earlier for earlier, later in pairwise(ends)), 3),
        jvm_s=round((after[0] - before[0]) / batches, 3),
        python_s=round((after[1] - before[1]) / batches, 3),
    )


def main() -> None:
    """Run the batches; a failure ends the process with its trace."""
    case, settings = Case.model_validate_json(sys.stdin.read()), load_settings()
    expected = -(-sum(case.by_game.values()) // settings.stream.max_rows_per_batch)
    ends: list[float] = []
    spent: list[tuple[float, float]] = []

    def note(report: BatchReport) -> None:
        # Partitions that are not equally long leave a small batch at the end.
        if report.stage is not Stage.DEMUX or len(ends) == expected:
            return
        ends.append(perf_counter())
        if len(ends) in {case.warm_up, expected}:
            spent.append(cpu_seconds(_processes(case.workers)))

    access = settings.registry.access
    ground = Ground(
        start_session=lambda: start_session(settings, ensure_runtime(settings)),
        endpoints=Endpoints(kafka=case.kafka, registry=case.registry, registry_access=access),
        settings=settings,
        feed=case.feed,
        by_game=case.by_game,
        stop=lambda: False,
    )
    with open_lake(settings) as context:
        catch_up(ground, pipeline_of(ground, context, note))
    ground.session.stop()
    check(CASE, rows=len(ends), expected=expected)
    sys.stdout.write(figures_of(ends[case.warm_up - 1 :], spent).model_dump_json())


def _processes(workers: Iterable[int]) -> Iterable[psutil.Process]:
    """This one and all below it, and the executors with all below them."""
    own = psutil.Process(os.getpid())
    yield from (own, *own.children(recursive=True))
    for pid in workers:
        yield from psutil.Process(pid).children(recursive=True)


if __name__ == "__main__":
    main()
