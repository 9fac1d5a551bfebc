"""What makes the first attempt of each writing task die once all its files are there.

It is imported where tasks run, so that it brings in nothing of the tests.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyspark

from lake_assets.spark.fan_out import Output, RowTransform


@dataclass
class DiesOnce:
    """A transform; at the task's end, which is after the last file, a first attempt is killed."""

    inner: RowTransform

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows."""
        return self.inner(batches)

    def notes(self) -> Iterable[str]:
        """The same notes, if this is another attempt."""
        context = pyspark.TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner.notes()


def dying(output: Output) -> Output:
    """The same, written by tasks that die once."""
    return replace(output, transform=partial(_dies_once, output.transform))


def _dies_once(transform: Callable[[], RowTransform]) -> RowTransform:
    return DiesOnce(transform())
