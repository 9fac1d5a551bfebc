import errno

import pytest
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # comes with PySpark
from pyspark.errors import PySparkException

from lake_assets.errors import (
    CommitConflictError,
    ConstraintViolatedError,
    ExpectationFailedError,
    RegistryError,
    SourceError,
    StreamError,
)
from lake_assets.streams.batch_errors import Blame, blame_for, cause_of, did_not_start, told

KAFKA = "Caused by: org.apache.kafka.common.errors."
OURS = "lake_assets.errors."
S3A = "org.apache.hadoop.fs.s3a."
GOOGLE = "com.google.cloud.hadoop.repackaged.ossgcs.com.google.cloud.storage."


@pytest.mark.parametrize(
    ("problem", "blame"),
    [
        (ExpectationFailedError("known", "uno", "2 of 3"), Blame.BATCH),
        (ConstraintViolatedError("t", "c", "no", "Look"), Blame.BATCH),
        (ZeroDivisionError("division by zero"), Blame.BATCH),
        (PySparkException("[UDF_ERROR] ValueError: bad row"), Blame.BATCH),
        (PySparkException(f"x\n{KAFKA}CorruptRecordException: CRC"), Blame.BATCH),
        (PySparkException(f"x\n{KAFKA}TimeoutException: no answer"), Blame.SURROUNDINGS),
        (PySparkException("java.lang.OutOfMemoryError: Java heap space"), Blame.SURROUNDINGS),
        (
            PySparkException("Job 3 cancelled because SparkContext was shut down"),
            Blame.SURROUNDINGS,
        ),
        (PySparkException("Some data may have been lost"), Blame.SURROUNDINGS),
        (PySparkException("java.io.IOException: No space left on device"), Blame.SURROUNDINGS),
        (PySparkException("Python worker failed to connect back."), Blame.SURROUNDINGS),
        (PySparkException("Python worker exited unexpectedly (crashed)"), Blame.CRASH),
        (RuntimeError("Answer from Java side is empty"), Blame.CRASH),
        (
            PySparkException(
                "java.util.concurrent.TimeoutException: Cannot fetch record for offset 5"
            ),
            Blame.SURROUNDINGS,
        ),
        (PySparkException("[SPARK_JOB_CANCELLED] Job 3 cancelled as part of"), Blame.SURROUNDINGS),
        (
            PySparkException("lake_assets.errors.SourceNotFoundError: folder /in: does not exist."),
            Blame.SURROUNDINGS,
        ),
        (PySparkException(f"x\n{OURS}StoreAwayError: s3://b/x: cannot"), Blame.SURROUNDINGS),
        (PySparkException(f"x\n{OURS}LakeError: s3://b/x: cannot"), Blame.SURROUNDINGS),
        (PySparkException(f"x\n{OURS}ColumnsChangedError: t: has"), Blame.BATCH),
        (PySparkException(f"x\nCaused by: {S3A}AWSServiceIOException: 503"), Blame.SURROUNDINGS),
        (PySparkException("x\nAccessDeniedException: s3a://b/x: 400"), Blame.SURROUNDINGS),
        (DeltaError("Generic S3 error: Error performing GET http://x"), Blame.SURROUNDINGS),
        (DeltaError("Generic MicrosoftAzure error: x"), Blame.SURROUNDINGS),
        (DeltaError("Generic GCS error: x"), Blame.SURROUNDINGS),
        (PySparkException(f"x\nCaused by: {GOOGLE}StorageException: 503"), Blame.SURROUNDINGS),
        (PySparkException("TaskKilled (Stage cancelled)"), Blame.SURROUNDINGS),
        (PySparkException("[CAST_INVALID_INPUT] The value 'cancelled' of the type"), Blame.BATCH),
        (OSError(errno.EIO, "Input/output error"), Blame.SURROUNDINGS),
        (MemoryError(), Blame.SURROUNDINGS),
        (SourceError("t", "no", "Wait"), Blame.SURROUNDINGS),
        (RegistryError("r", "no", "Wait"), Blame.SURROUNDINGS),
        (CommitConflictError("t", "no", "Wait"), Blame.SURROUNDINGS),
        (StreamError("silver", "its tables do not fit", "Rebuild"), Blame.SURROUNDINGS),
    ],
)
def test_an_error_is_the_batch_s_or_that_of_what_is_around_it(problem, blame):
    assert blame_for(problem) is blame


def test_what_is_behind_an_error_tells_as_well():
    problem = ValueError("cannot be written")
    problem.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert blame_for(problem) is Blame.SURROUNDINGS


def test_the_innermost_cause_is_told():
    text = "Job aborted\n\tat x\nCaused by: first\n\tat y\nCaused by: second: bad row\n\tat z"
    assert cause_of(PySparkException(text)) == "Caused by: second: bad row"
    assert cause_of(ValueError("bad row\nand more")) == "bad row"
    assert cause_of(ValueError()) == "ValueError"


def test_the_cause_is_what_python_raised_where_a_worker_or_a_callback_did():
    trace = 'Traceback (most recent call last):\n  File "a", line 1\n    raise\nValueError: bad row'
    worker = f"Job aborted\nCaused by: x.PythonException: {trace}\n\n\tat y\n\tat z"
    assert cause_of(PySparkException(worker)) == "ValueError: bad row"
    assert (
        cause_of(PySparkException(f"An exception was thrown\n{trace}\n")) == "ValueError: bad row"
    )
    again = f"first\n{trace}\n\nDuring handling\n\n{trace.replace('bad', 'worse')}"
    assert cause_of(PySparkException(again)) == "ValueError: worse row"
    assert (
        cause_of(PySparkException(f"{worker}\nCaused by: a.B: last\n\tat z"))
        == "Caused by: a.B: last"
    )


def test_spark_s_errors_are_told_in_our_words_and_others_as_they_are():
    assert str(told(PySparkException("boom\n\tat x"))).startswith("streams: boom. Repair the cause")
    assert str(told(Py4JError("An error occurred\nCaused by: z: bad"))).startswith(
        "streams: Caused by: z: bad. Repair the cause"
    )
    ours = SourceError("t", "no", "Wait")
    assert told(ours) is ours


def test_a_process_that_did_not_start_in_time_is_told_from_what_failed():
    assert did_not_start(PySparkException("Python worker failed to connect back."))
    assert not did_not_start(PySparkException("Python worker exited unexpectedly (crashed)"))
