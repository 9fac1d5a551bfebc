"""`dagster dev` as a child process: started with a home of its own, asked to stop, made to stop."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
from tenacity import RetryError, retry, retry_if_result, stop_after_delay, wait_fixed

import lake_assets
from lake_assets.errors import ServiceError
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings

_PORT = 3000
"""Dagster's own default, which users know; another one is taken if it is in use."""

_READY_WITHIN_S = 120.0
"""The first start compiles Dagster's bytecode: 22 s on an idle machine, five times that on a busy
one."""

_STOP_WITHIN_S = 8.0
"""Seconds for a clean end; whoever is left then is killed, so that Ctrl-C takes 15 s at most."""


@contextmanager
def dagster_dev(settings: Settings) -> Iterator[str]:
    """Run `dagster dev` while the block runs; yields the address of its page.

    Raises:
        ServiceError: it does not come up.
    """
    home = settings.dagster_home
    _write_instance(home)
    port = free_port(_PORT)
    log = home / "dagster-dev.log"
    environment = child_environment(settings) | {"DAGSTER_HOME": str(home)}
    command = [sys.executable, "-m", "dagster", "dev", "-h", "127.0.0.1", "-p", str(port)]
    command += ["-m", "lake_assets.definitions"]
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=home,
            # A group of its own: Ctrl-C reaches the demo alone, which stops everything in order.
            start_new_session=True,
            preexec_fn=_heed_interrupts,  # noqa: PLW1509 - no thread runs that the child would miss
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _await_page(url, process, log)
        yield url
    finally:
        _stop(process)


def free_port(wanted: int) -> int:
    """`wanted` if nothing listens there on loopback, else some free port."""
    for port in (wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise ServiceError("dagster", "no port is free on loopback", "Close some programs")


def _heed_interrupts() -> None:
    # A background shell makes its children ignore SIGINT, and then Dagster cannot be stopped.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _write_instance(home: Path) -> None:
    """Put the repository's (or the wheel's) `dagster.yaml` into Dagster's home."""
    package = Path(lake_assets.__file__).parent
    places = (package.parent / "dagster.yaml", package / "dagster.yaml")
    source = next((place for place in places if place.exists()), None)
    if source is None:
        raise ServiceError("dagster.yaml", f"is not at {places[0]}", "Reinstall lake-assets")
    replace_text(home / "dagster.yaml", source.read_text())


def _await_page(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    @retry(
        retry=retry_if_result(lambda ready: not ready),
        stop=stop_after_delay(_READY_WITHIN_S),
        wait=wait_fixed(0.5),
    )
    def ready() -> bool:
        if process.poll() is not None:
            raise ServiceError("dagster dev", f"ended with code {process.returncode}", f"See {log}")
        try:
            return httpx.get(f"{url}/server_info", timeout=5).is_success
        except httpx.HTTPError:
            return False

    try:
        ready()
    except RetryError as problem:
        raise ServiceError(
            "dagster dev", f"does not answer within {_READY_WITHIN_S:.0f} s", f"See {log}"
        ) from problem


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Interrupt the whole group, as Ctrl-C does, and kill what outlives the time it has."""
    family = _family(process)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    _, alive = psutil.wait_procs(family, timeout=_STOP_WITHIN_S)
    # Runs that were being launched when the family was listed; the group outlives its leader.
    alive += [member for member in _group(process.pid) if member not in alive]
    for survivor in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            survivor.kill()
    psutil.wait_procs(alive, timeout=3)
    process.wait()


def _family(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    try:
        leader = psutil.Process(process.pid)
        return [leader, *leader.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _group(group: int) -> list[psutil.Process]:
    members = []
    for candidate in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess, PermissionError):
            if os.getpgid(candidate.pid) == group:
                members.append(candidate)
    return members
