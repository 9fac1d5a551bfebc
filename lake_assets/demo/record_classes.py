"""Recording the archive of Spark's classes: the demo, run once by a JVM that records.

The demo starts what users start: a stream from Kafka, a refresh of gold, checks. Where an archive
lies and how a session uses it are `runtime.class_archive`'s and `spark.session`'s.
"""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.cache import not_writable
from lake_assets.runtime.class_archive import recording_options
from lake_assets.runtime.command_line import command_line
from lake_assets.runtime.file_lock import lock
from lake_assets.runtime.java import Java
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.storage.durability import sync_file

_EVENTS = 2_000

_KEPT = 2
"""Archives of one installation that stay when another is recorded: its own and one other Java's."""


def record_classes(settings: Settings, java: Java, archive: Path) -> None:
    """Run the demo in a home of its own and keep what its JVM recorded as `archive`.

    Takes a minute or two on two cores, and the file 200 to 250 MB. It appears in one step or not
    at all; older archives of the same installation go, but for the newest.

    Args:
        settings: where jars are kept; nothing else of them is used.
        java: that Spark is started with.
        archive: as `runtime.class_archive.archive_path` tells it.

    Raises:
        RuntimeSetupError: the demo failed, or its JVM left no archive.
    """
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with lock(archive.parent / ".lock"):
            if not archive.is_file():  # another process may just have recorded it
                _record(settings, java, archive)
    except OSError as problem:
        raise not_writable(archive.parent, problem) from problem


def _record(settings: Settings, java: Java, archive: Path) -> None:
    for left_behind in archive.parent.glob(".staging-*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".staging-") as folder:
        staged = Path(folder) / archive.name
        home = Path(folder) / "home"
        environment = child_environment(Settings(home=home, runtime=settings.runtime))
        environment["SPARK_SUBMIT_OPTS"] = recording_options(java, staged)
        _run_demo(environment, Path(folder) / "lake")
        if not staged.is_file():
            raise _not_recorded(f"{java.executable} wrote none")
        sync_file(staged)
        staged.replace(archive)
    for old in sorted(archive.parent.glob("*.jsa"), key=lambda file: file.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)


def _run_demo(environment: Mapping[str, str], lake: Path) -> None:
    keys = ("--key", "chess", "--key", "go")
    options = ("--once", "--events", str(_EVENTS), *keys, "--lake", str(lake))
    with (
        _interrupted_by(signal.SIGTERM),
        subprocess.Popen(  # noqa: S603 - our own command line
            command_line("demo", *options),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a terminal's Ctrl-C comes to us, and we see to its end
        ) as demo,
    ):
        try:
            # The JVM writes its archive after the demo's end, and keeps the pipes open until then.
            _, errors = demo.communicate()
        except BaseException:
            demo.send_signal(signal.SIGINT)
            demo.communicate()  # it stops Kafka and the registry
            raise
    if demo.returncode:
        last = (errors.strip().splitlines() or [""])[-1]
        raise _not_recorded(f"the demo ended with {demo.returncode}: {last}")


@contextmanager
def _interrupted_by(number: signal.Signals) -> Iterator[None]:
    """Let a signal do what Ctrl-C does, so that nothing is left behind."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _not_recorded(fact: str) -> RuntimeSetupError:
    return RuntimeSetupError(
        "archive of Spark's classes",
        f"was not recorded ({fact})",
        "Nothing needs it; Spark takes twice as long to start. Try again: `lake-assets setup`",
    )
