"""Whose fault an error in a batch is, and what it says: the batch's own, or its surroundings'.

Spark tells most of it as text, from its JVM and from its workers.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # comes with PySpark
from pyspark.errors import PySparkException

from lake_assets.errors import (
    ConstraintViolatedError,
    ExpectationFailedError,
    LakeAssetsError,
    PartitionsExceededError,
    StreamError,
    UnknownColumnsError,
    causes_of,
)
from lake_assets.state.disk_errors import disk_trouble

_CRASHES = re.compile(
    r"Python worker exited unexpectedly|Answer from Java side is empty|Error while sending or rec"
)
"""Of a worker or of the JVM: anybody may have killed it, or what it was at did."""

_NOT_STARTED = "Python worker failed to connect back"
"""Of a process of Python's that a busy machine did not start within Spark's ten seconds."""

_SURROUNDINGS = re.compile(
    rf"OutOfMemoryError|Cannot allocate memory|{_NOT_STARTED}"
    # Kafka's client tells of brokers, logins and topics; but for these, which are of rows.
    r"|org\.apache\.kafka\.common\.errors\.(?!CorruptRecord|RecordDeserialization|Serialization)"
    r"|[Ss]ome data may have been (?:lost|missed)"
    # Spark's reader says so of rows that a broker has and does not send.
    r"|java\.util\.concurrent\.TimeoutException|java\.net\.(?:Connect|SocketTimeout|UnknownHost)Exc"
    r"|InterruptedException|InterruptedIOException|ClosedByInterruptException"
    # Not the bare word: errors quote values of rows, and an order may be "cancelled".
    r"|SparkContext was (?:shut down|stopped)|stopped SparkContext"
    r"|SPARK_JOB_CANCELLED|OPERATION_CANCELED|TaskKilled|(?:Job|Stage) (?:\d+ )?(?:was )?cancelled"
    r"|Connection (?:refused|reset)|Broken pipe"
    # Ours, of a task whose folder, disk or bucket is away; rows make none of these.
    r"|lake_assets\.errors\.(?:Source\w*|Lake|NoBucket|StoreAway|LeaseLost)Error: "
    # Of a bucket: deltalake's, and Spark's own reader's.
    r"|Generic (?:S3|GCS|MicrosoftAzure) error"
    r"|Error performing (?:list request|GET|HEAD|PUT|POST|DELETE)"
    r"|hadoop\.fs\.s3a\.\w+(?:Exception|Error)|AccessDeniedException: s3a:|awssdk\.\S+Exception"
    r"|hadoop\.fs\.azurebfs\.\S+Exception|hadoop\.repackaged\.ossgcs\.\S+Exception"
)


_OF_ROWS = (
    ExpectationFailedError,
    UnknownColumnsError,
    ConstraintViolatedError,
    PartitionsExceededError,
)
"""Errors of ours that the rows of a batch make."""

_TRACEBACK = "Traceback (most recent call last)"


class Blame(StrEnum):
    """Whose fault an error is."""

    BATCH = "batch"  # it would come again with the same rows
    CRASH = "crash"  # of a process; anybody's, unless it comes again
    SURROUNDINGS = "surroundings"  # a broker, the registry, the disk, a lock, memory: they may pass


def did_not_start(problem: BaseException) -> bool:
    """Whether a process of Spark's, such as a source's reader, did not start in time."""
    return _NOT_STARTED in str(problem)


def blame_for(problem: BaseException) -> Blame:
    """Whose fault an error in a batch is."""
    if isinstance(problem, _OF_ROWS):
        return Blame.BATCH
    text = "\n".join(str(cause) for cause in causes_of(problem))
    if _CRASHES.search(text):
        return Blame.CRASH
    is_of_surroundings = (
        isinstance(problem, LakeAssetsError | OSError | MemoryError)
        or disk_trouble(problem) is not None
        or _SURROUNDINGS.search(text) is not None
    )
    return Blame.SURROUNDINGS if is_of_surroundings else Blame.BATCH


def told(problem: Exception) -> LakeAssetsError | Exception:
    """A failure in our words, where Spark tells it."""
    if isinstance(problem, PySparkException | Py4JError):  # a query's is one of Spark's
        step = "Repair the cause; the streams go on where they were"
        return StreamError("streams", cause_of(problem), step)
    return problem


def cause_of(problem: BaseException) -> str:
    """The innermost line of an error's message that says something."""
    lines = [line for line in str(problem).splitlines() if line.strip()]
    causes = [at for at, line in enumerate(lines) if line.lstrip().startswith("Caused by")]
    innermost = lines[causes[-1] if causes else 0 :]
    # What Python raised is told by the last line of its traceback, wherever that begins.
    said = [*innermost[:1], *_raised(innermost)]
    return (said or [type(problem).__name__])[-1].strip()[:300]


def _raised(lines: Sequence[str]) -> Iterator[str]:
    """What ends each of Python's tracebacks."""
    is_inside = False
    for line in lines:
        if _TRACEBACK in line:
            is_inside = True
        elif is_inside and not line[0].isspace():
            is_inside = False
            yield line
