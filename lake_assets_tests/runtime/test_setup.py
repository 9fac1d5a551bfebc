import subprocess
import sys

import pytest

from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import RuntimeSettings

pytestmark = pytest.mark.java


def test_spark_gets_a_java_and_its_jars(settings):
    runtime = ensure_runtime(settings)
    assert runtime.java.executable.is_file()
    assert "delta-spark_4.2_2.13-4.4.0.jar" in {jar.name for jar in runtime.spark_jars}


def _setup(settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lake_assets.runtime.setup", "spark"],
        env=child_environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_complete_cache_is_set_up_without_a_word(settings):
    ensure_runtime(settings)
    done = _setup(settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_cache_that_refuses_is_one_line_and_exit_code_1(settings, tmp_path):
    (tmp_path / "file").touch()
    runtime = RuntimeSettings(cache=tmp_path / "file" / "cache")
    done = _setup(settings.model_copy(update={"runtime": runtime}))
    assert done.returncode == 1
    assert done.stderr.startswith("error: cache folder")
    assert len(done.stderr.splitlines()) == 1
