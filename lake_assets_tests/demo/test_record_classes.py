import signal
import subprocess
import sys
import time

import psutil
import pytest

from lake_assets.demo.record_classes import record_classes
from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.class_archive import archive_path
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import RuntimeSettings

pytestmark = pytest.mark.java


def test_a_demo_that_fails_leaves_no_archive(settings, tmp_path):
    (tmp_path / "file").touch()
    runtime = RuntimeSettings(cache=tmp_path / "file" / "cache")
    archive = tmp_path / "classes" / "new.jsa"
    java = ensure_runtime(settings).java
    with pytest.raises(RuntimeSetupError, match="the demo ended with 1: error: cache folder"):
        record_classes(settings.model_copy(update={"runtime": runtime}), java, archive)
    assert [path.name for path in archive.parent.iterdir()] == [".lock"]


def test_a_folder_that_refuses_is_told(settings, tmp_path):
    (tmp_path / "file").touch()
    java = ensure_runtime(settings).java
    with pytest.raises(RuntimeSetupError, match="cannot be written"):
        record_classes(settings, java, tmp_path / "file" / "new.jsa")


@pytest.mark.spark
def test_a_session_starts_from_the_archive_that_was_recorded(spark, runtime, spark_settings):
    recorded = archive_path(runtime.java, runtime.spark_jars, spark_settings.runtime.cache)
    if not recorded.is_file():
        # `make setup` records it, which `make test` begins with; here that is a JVM too many.
        pytest.skip("none was recorded for this Java: `lake-assets setup`")
    jvm = spark.sparkContext._jvm.ProcessHandle.current().pid()  # noqa: SLF001 - no public way
    with open(f"/proc/{jvm}/maps") as maps:  # noqa: PTH123 - Path.read_text stats it as empty
        assert str(recorded) in maps.read()


_RECORDS = """
import sys
from pathlib import Path
from lake_assets.demo.record_classes import record_classes
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import load_settings

settings = load_settings()
record_classes(settings, ensure_runtime(settings).java, Path(sys.argv[1]))
"""


def _started_below(folder) -> list[str]:
    """Command lines of the processes that were told of a home below `folder`."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(folder) in process.environ().get("LAKE_ASSETS_HOME", ""):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:  # it ends just now
            continue
    return found


@pytest.mark.long
@pytest.mark.slow
def test_who_is_told_to_end_while_spark_starts_leaves_nothing_behind(settings, tmp_path):
    folder = tmp_path / "classes"
    command = [sys.executable, "-c", _RECORDS, str(folder / "new.jsa")]
    with subprocess.Popen(command, env=child_environment(settings)) as process:  # noqa: S603
        while not any("SparkSubmit" in line for line in _started_below(folder)):
            assert process.poll() is None
            time.sleep(0.5)  # between two looks for the JVM, at all processes
        process.send_signal(signal.SIGTERM)
    assert process.returncode
    assert [path.name for path in folder.iterdir()] == [".lock"]
    assert _started_below(folder) == []
