"""One run of the Ivy that ships in pyspark: pinned coordinates in, files in a folder out.

Whether the files are the right ones is for `jars` to say.
"""

import re
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.java import Java
from lake_assets.runtime.trust import trust_options

OnLanded = Callable[[int], None]
"""Called with the bytes that landed so far."""

ARTIFACTS = Path(str(files("lake_assets.runtime"))) / "artifacts"
"""The folder of `ivy.xml`, `ivysettings.xml` and `checksums.txt`."""

# Seconds without a new byte after which a download is given up. Must exceed the read timeout in
# ivysettings.xml (60); much above, a network that swallows packets looks like a hang.
_STALL_AFTER_S = 90.0

# A repository that hiccups is asked again; what already landed is not fetched twice.
_ATTEMPTS = 3

_POLL_S = 0.2

_NEXT_STEP = (
    "Check the network, or set LAKE_ASSETS_RUNTIME_IVY_SETTINGS to an Ivy settings file that names "
    "your mirror"
)

_REASONS = re.compile(
    r"Server access error|[Hh]ost \S+ not found|SERVER ERROR|CLIENT ERROR|\bFAILED\b|No space left"
    r"|Exception|not found"
)


class _IvyFailedError(Exception):
    """Ivy ended with an error; the text says why."""


def retrieve(  # noqa: PLR0913 - what, whence, and whither
    groups: Sequence[str],
    java: Java,
    staging: Path,
    *,
    settings: Path | None = None,
    log: Path,
    on_landed: OnLanded | None = None,
    ivy_file: Path = ARTIFACTS / "ivy.xml",
) -> Path:
    """Download the files of `groups` and return the folder that holds `<group>/<file>`.

    Args:
        groups: configurations of `ivy_file`.
        java: runs Ivy.
        staging: an empty folder for what is fetched.
        settings: of Ivy, in place of the project's.
        log: where Ivy's words go.
        on_landed: is told of each file.
        ivy_file: what there is to fetch.

    Raises:
        RuntimeSetupError: the files cannot be had; names the log.
    """
    target = staging / "files"
    cache = staging / "ivy"
    command = [
        *(str(java.executable), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *trust_options(java, staging),
        *("-jar", str(_ivy_jar())),
        *("-settings", str(settings or ARTIFACTS / "ivysettings.xml")),
        *("-ivy", str(ivy_file)),
        *("-cache", str(cache)),
        *("-confs", *groups),
        *("-retrieve", f"{target}/[conf]/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    retrying = Retrying(
        retry=retry_if_exception_type(_IvyFailedError),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_exponential(multiplier=0.5, max=4),
        reraise=True,
    )
    try:
        retrying(_run, command, cache, log, on_landed)
    except _IvyFailedError as problem:
        thing = f"download of the jars for {', '.join(groups)}"
        raise RuntimeSetupError(thing, f"{problem} (log: {log})", _NEXT_STEP) from problem
    return target


def _ivy_jar() -> Path:
    jars = sorted((Path(str(files("pyspark"))) / "jars").glob("ivy-*.jar"))
    if not jars:
        raise RuntimeSetupError("pyspark", "its jars/ has no ivy-*.jar", "Reinstall pyspark")
    return jars[-1]


def _run(command: list[str], cache: Path, log: Path, on_landed: OnLanded | None) -> None:
    with log.open("wb") as output:
        ivy = subprocess.Popen(  # noqa: S603 our own command line
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        with ivy:
            try:
                _watch(ivy, cache, on_landed)
            except BaseException:
                ivy.kill()
                raise
    if ivy.returncode != 0:
        raise _IvyFailedError(_reason(log))


def _watch(ivy: subprocess.Popen[bytes], cache: Path, on_landed: OnLanded | None) -> None:
    landed, since = -1, time.monotonic()
    while ivy.poll() is None:
        now_landed = _landed(cache)
        if now_landed != landed:
            landed, since = now_landed, time.monotonic()
        elif time.monotonic() - since > _STALL_AFTER_S:
            message = f"nothing arrived for {_STALL_AFTER_S:.0f} s"
            raise _IvyFailedError(message)
        if on_landed is not None:
            on_landed(landed)
        with suppress(subprocess.TimeoutExpired):
            ivy.wait(_POLL_S)


def _landed(cache: Path) -> int:
    """Bytes of all files so far; one may be renamed while we look."""
    total = 0
    for path in cache.rglob("*"):
        if path.suffix in {".jar", ".gz", ".part"}:
            with suppress(FileNotFoundError):
                total += path.stat().st_size
    return total


def _reason(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    for kind in _REASONS.pattern.split("|"):
        for line in lines:
            if re.search(kind, line):
                return line
    return lines[-1] if lines else "Ivy said nothing"
