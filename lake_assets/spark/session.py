"""The Spark session: one way to build it, for streams, refreshes, tests and benchmarks alike."""

import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from lake_assets.errors import LakeAssetsError, RuntimeSetupError
from lake_assets.runtime.class_archive import using_options
from lake_assets.runtime.setup import Runtime
from lake_assets.settings.load import spark_class_path, store_environment, temporary_environment
from lake_assets.settings.schema import Settings
from lake_assets.spark.cluster import (
    archives,
    cluster_properties,
    cores_of,
    ensure_reachable,
    is_cluster,
    master_of,
    python_variables,
)
from lake_assets.spark.jvm import has_started, set_hadoop_properties, stop_what_started
from lake_assets.spark.object_stores import HadoopProperties, hadoop_properties
from lake_assets.spark.session_digest import RESULT_PROPERTIES
from lake_assets.spark.task_slots import wait_for_executor

_ARROW_ROWS = 65_536
"""Rows an Arrow batch holds between the JVM and Python. Spark's default of 10,000 costs a fifth
of demux's time in per-batch overhead; above 100,000 nothing more was gained, only memory lost."""

_SOCKET_FOLDER_BYTES = 61
"""The longest name of a folder in which Spark makes Unix sockets: the system allows 104 bytes in
all, and their names take the rest (Spark's own check of `spark.python.unix.domain.socket.dir`)."""

_STOPPED = "stopped SparkContext"
"""Is in what Spark says of a session whose master it gave up, after a minute, as it came up."""

_WORKER_PYTHON = Path(__file__).with_name("worker_python.sh")


def properties(settings: Settings, runtime: Runtime) -> dict[str, str]:
    """Every property that differs from Spark's own; the user's win.

    Raises:
        SettingsError: Spark cannot read the store that the lake is in.
    """
    return {
        "spark.master": settings.spark.master,
        "spark.app.name": "lake_assets",
        "spark.driver.memory": settings.spark.driver_memory,
        **({} if _class_path(settings, runtime) else {"spark.jars": _joined(runtime, ",")}),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **RESULT_PROPERTIES,
        **(
            cluster_properties(settings)
            if is_cluster(settings)
            else _laptop_properties(cores_of(settings) or 1)
        ),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_ARROW_ROWS),
        "spark.sql.warehouse.dir": str(settings.home / "spark-warehouse"),
        # A gold refresh names each file it reads, hundreds of them. Spark would start a job with a
        # task a file to look at them, which costs ten times what looking costs.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
        # What opening a small file costs, in bytes that could be read meanwhile: 4 MB, Spark's own
        # guess, is right for a store far away and makes a task of every 32 files.
        "spark.sql.files.openCostInBytes": str(256 * 1024),
        # The UI of a laptop's lake is Dagster's; Spark's own costs a port and a fifth of its start.
        # Jobs of streams and of gold, in pools of their own, take turns at a core.
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        # Hadoop starts a program, `chmod`, for each file of a checkpoint, and with its checksums
        # beside them there are twice as many (decision 29).
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
        # A batch's metadata is kept for this many batches; each is a few small files.
        "spark.sql.streaming.minBatchesToRetain": "20",
        # What plans, the UI and event logs say of a source's options; Spark's own misses keys.
        # Spark's own, and Azure's keys: Hadoop's properties are shown beside Spark's.
        "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|account[.]key",
        "spark.sql.redaction.options.regex": "(?i)url|password|secret|token|jaas|[.]key",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.extraJavaOptions": _java_options(runtime),
        **{f"spark.hadoop.{name}": value for name, value in _of_store(settings).plain.items()},
        **{name: value.get_secret_value() for name, value in settings.spark.conf.items()},
        **archives(settings),
    }


def _laptop_properties(cores: int) -> dict[str, str]:
    """Of a JVM that is driver and executor in one."""
    return {
        **_sockets(tempfile.gettempdir()),
        # Aggregations here are small beside their scans: a task a core, not Spark's 200.
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def _class_path(settings: Settings, runtime: Runtime) -> str:
    """Our jars, for the class path of a JVM that is driver and executor in one.

    What is on the class path can be in an archive of classes, and is not copied at each start. Else
    it is empty and jars are shipped: to executors elsewhere, or those that the user has chosen.
    """
    is_path = os.pathsep not in _joined(runtime, ",")
    if is_cluster(settings) or not is_path or "spark.jars" in settings.spark.conf:
        return ""
    # Spark's launcher puts this last; `spark.driver.extraClassPath` is left to the user.
    return os.pathsep.join(filter(None, (spark_class_path(), _joined(runtime, os.pathsep))))


def _joined(runtime: Runtime, separator: str) -> str:
    return separator.join(str(jar) for jar in (*runtime.spark_jars, *runtime.store_jars))


def _of_store(settings: Settings) -> HadoopProperties:
    root = settings.lake_root
    return hadoop_properties(
        root, settings.storage.secrets, {} if root.is_local else store_environment()
    )


def _java_options(runtime: Runtime) -> str:
    logging_file = Path(__file__).with_name("log4j2.properties").as_uri()
    options = ["-XX:+UseSerialGC", "-Xss2m", f"-Dlog4j2.configurationFile={logging_file}"]
    if runtime.class_archive is not None:
        options.append(using_options(runtime.java, runtime.class_archive))
    return " ".join(options)


def _sockets(folder: str) -> dict[str, str]:
    """How Spark and its Python workers talk: through Unix sockets (decision 16) if they can."""
    if len(os.fsencode(folder)) > _SOCKET_FOLDER_BYTES:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
        "spark.python.daemon.module": "lake_assets.spark.daemon",
    }


def start_session(settings: Settings, runtime: Runtime, *, further_slots: int = 0) -> SparkSession:
    """Start Spark, or return the session that this process already has.

    Signal handlers stay as they were: PySpark replaces SIGINT's, and a process that is told to stop
    must reach its own clean-up first. While Spark starts, they wait. The environment, too, is as it
    was: other processes that this one starts find their own Java.

    Args:
        settings: Spark's among them.
        runtime: Java and jars.
        further_slots: for tasks, beyond one a core, where the master is the default: tasks that
            take long, and are few, leave slots to others so.

    Raises:
        RuntimeSetupError: the JVM did not come up, or a cluster gave nothing in time; what had
            begun was ended, so that this process may try again.
        SettingsError: Spark cannot read the store that the lake is in, or executors elsewhere
            could not reach it.
    """
    is_first = not has_started()
    if is_first:
        ensure_reachable(settings)
    builder = SparkSession.builder
    for key, value in properties(settings, runtime).items():
        builder = builder.config(key, value)
    if further_slots and properties(settings, runtime)["spark.master"] == "local[*]":
        builder = builder.master(f"local[{(os.cpu_count() or 2) + further_slots}]")
    # Where Spark runs nothing is set, and nobody who opens a table waits.
    launch = temporary_environment(_launch_environment(settings, runtime))
    with _signals_held_back(), launch if is_first else contextlib.nullcontext():
        session = _created(settings, builder, is_first=is_first)
    try:
        wait_for_executor(session)
    except RuntimeSetupError:
        if is_first:
            session.stop()
        raise
    # Not among its properties, which PySpark writes on the JVM's command line.
    if secret := _of_store(settings).secret:
        set_hadoop_properties(session, secret)
    session.sparkContext.setLogLevel("ERROR")
    # SQL that does not compile is told as an error of ours; PySpark would print pages before it.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return session


def _created(settings: Settings, builder: SparkSession.Builder, *, is_first: bool) -> SparkSession:
    """What the builder makes, or nothing at all."""
    try:
        return builder.getOrCreate()
    except LakeAssetsError:
        raise
    except Exception as problem:
        if is_first:
            stop_what_started()
        raise RuntimeSetupError(
            "Spark", _why_not(settings, problem), "Run `lake-assets doctor`"
        ) from problem


def _why_not(settings: Settings, problem: Exception) -> str:
    """What is wrong with a Spark that did not start."""
    if is_cluster(settings) and _STOPPED in str(problem):
        return f"did not start: {master_of(settings)} did not answer, or ended the application"
    return f"did not start ({problem})"


def _launch_environment(settings: Settings, runtime: Runtime) -> dict[str, str]:
    """What PySpark takes from the environment only, and reads while it starts."""
    variables = {"JAVA_HOME": str(runtime.java.home), **python_variables(settings)}
    if class_path := _class_path(settings, runtime):
        variables["SPARK_DIST_CLASSPATH"] = class_path
        # Elsewhere than in this process, executors may have the Python alone.
        if os.access(_WORKER_PYTHON, os.X_OK) and Path(pyspark.__file__).is_file():
            variables["PYSPARK_PYTHON"] = str(_WORKER_PYTHON)
            variables["PYSPARK_WORKER_PYTHON"] = sys.executable
    return variables


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """Keep SIGINT and SIGTERM until Spark is up; then they do what they did before.

    A JVM whose launch is interrupted never ends: PySpark deletes the folder into which the JVM is
    about to write its port, and the JVM's main thread dies of that while others live on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # a signal never interrupts another thread
        return
    signals: list[int] = []
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, lambda received, _: signals.append(received))
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        if signals:
            signal.raise_signal(signals[0])
