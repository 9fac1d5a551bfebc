import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each starts a pytest of its own

ROOT = Path(__file__).parents[1]

_HANGS = """
import pytest, threading

def test_alone():
    threading.Event().wait()

def test_after_it():
    pass

@pytest.mark.spark
def test_in_spark():
    threading.Event().wait()

def test_after_spark():
    pass
"""

_STARTS_A_JAVA = """
import pytest
from lake_assets.runtime.java import find_java

def test_unmarked(tmp_path):
    find_java(tmp_path)

def test_in_a_child(tmp_path):
    import subprocess, sys
    code = "import sys, pathlib; from lake_assets.runtime.java import find_java; find_java()"
    subprocess.run([sys.executable, "-c", code], check=True)
"""

_USES = """
def test_spark(spark): pass
def test_services(connected): pass
def test_runtime(runtime): pass
def test_nothing(settings): pass
"""


@pytest.fixture
def run_tests(tmp_path):
    """Run tests with this project's settings and hooks, in a process of their own."""

    def run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(text)
        return subprocess.run(  # noqa: S603 - our own tests
            [
                *(sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml")),
                *("--rootdir", str(tmp_path), "-p", "lake_assets_tests.conftest"),
                *("-p", "no:cacheprovider", "-q", *options, str(tmp_path / "test_it.py")),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_hang_is_a_failure_with_a_stack_and_ends_the_run_where_it_is_in_spark(run_tests):
    done = run_tests(_HANGS, "-o", "timeout=1")
    assert "2 failed, 1 passed" in done.stdout
    assert "threading.Event().wait()" in done.stdout
    assert "from pytest-timeout" in done.stdout
    assert "test_in_spark hung in Spark" in done.stdout


def test_an_unmarked_test_that_starts_a_java_fails_and_says_which_marks_there_are(run_tests):
    done = run_tests(_STARTS_A_JAVA)
    assert "2 failed" in done.stdout
    assert "only with a mark: java, kafka, slow, spark" in done.stdout


def test_a_test_is_marked_by_the_fixtures_it_uses(run_tests):
    fast = "not (java or spark or kafka or slow)"
    done = run_tests(_USES, "--collect-only", "-m", fast)
    assert "1/4 tests collected" in done.stdout
    assert "test_nothing" in done.stdout
