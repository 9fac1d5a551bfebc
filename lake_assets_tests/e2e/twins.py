"""What a feed of `test_spark_cluster` names as its `transform`: two attempts of a task in step.

The first attempt of a batch's second task waits until Spark starts another; from then on neither is
ahead of the other by more than a piece of rows, so that both come to their end.
"""

import os
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyspark

PLACE = "LAKE_ASSETS_TEST_TWINS"
"""Variable that names a folder of both, in which each says how far it is."""

_PATIENCE_S = 60.0

_pieces: Counter[int] = Counter()
"""By attempt, those that came."""


def keep_step(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, once the other attempt is as far."""
    context = pyspark.TaskContext.get()
    if context is not None and context.partitionId() == 1:
        piece, attempt = _pieces[context.taskAttemptId()], context.attemptNumber()
        _pieces[context.taskAttemptId()] += 1
        place = Path(os.environ[PLACE])  # noqa: TID251 - an executor's own
        (place / f"{attempt}-{piece}").touch()
        _wait_for(place / f"{1 - attempt}-{piece}")
    return rows


def _wait_for(mark: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not mark.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(str(mark))
        time.sleep(0.01)
