import pytest

from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import RuntimeSettings
from lake_assets_tests.commandline import sparkless_here

pytestmark = pytest.mark.java


@pytest.mark.parametrize("option", ["--only-spark", "--no-class-archive"])
def test_a_complete_cache_is_set_up_without_a_word(settings, option):
    ensure_runtime(settings)
    done = sparkless_here(settings, "setup", option)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_cache_that_refuses_is_one_line_and_exit_code_1(settings, tmp_path):
    (tmp_path / "file").touch()
    runtime = RuntimeSettings(cache=tmp_path / "file" / "cache")
    done = sparkless_here(settings.model_copy(update={"runtime": runtime}), "setup")
    assert done.returncode == 1
    assert done.stderr.startswith("error: cache folder")
    assert len(done.stderr.splitlines()) == 1


def test_what_cannot_be_recorded_is_a_note(settings, tmp_path, monkeypatch):
    """A Java that answers and starts nothing: the demo cannot run with it."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        'case "$*" in *-version*)\n'
        f'  echo "    java.home = {java.parent.parent}"\n'
        '  echo "    java.specification.version = 25" ;;\n'
        "*) exit 1 ;; esac\n"
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    done = sparkless_here(settings, "setup")
    assert done.returncode == 0
    assert "recording an archive of Spark's classes" in done.stderr
    assert (
        "note: archive of Spark's classes: was not recorded (the demo ended with 1" in done.stderr
    )
    assert ensure_runtime(settings).class_archive is None
