"""What the feed of `test_spark_cluster` names as its `transform`: tasks that linger, and some die.

It goes to the executors in the package, so it imports nothing of the tests.
"""

import os
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyspark

MARK = "a-task-lingers-here"
"""File in an executor's folder while a task of its decodes."""

BATCH = 24_000
"""Rows, enough for two tasks."""

BUFFER_BYTES = 300_000
"""Of a writing task: some thousand rows fill it, so that each piece of 2,000 leaves files."""

DIES_AT = 8_000
"""Rows of a batch before the one at which a first attempt dies, of which each task has half: files
of several pieces are in the lake by then."""


def linger(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Add where this runs; take a while, and longer at the first attempt of a second task."""
    context = pyspark.TaskContext.get()
    if context is not None:
        is_first = context.attemptNumber() == 0
        Path(MARK).touch()
        if is_first and DIES_AT in (score % BATCH for score in rows["score"].to_pylist() if score):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.5 if is_first and context.partitionId() else 0.1)
    own = Path(pyspark.__file__).is_relative_to(Path("lake_assets_package").absolute())
    place = "its package" if own else f"{pyspark.__file__} in {Path.cwd()}"
    return rows.append_column("place", pa.repeat(place, rows.num_rows))
