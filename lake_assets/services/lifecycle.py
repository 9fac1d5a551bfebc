"""One embedded service from start to stop. Callers hold the lock of the services' folder."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.errors import ServiceError
from lake_assets.model.processes import ProcessId
from lake_assets.runtime.java import Java
from lake_assets.runtime.processes import is_alive
from lake_assets.services.child import find, find_all, last_words, launch, stop
from lake_assets.services.service import LOOPBACK, Ports, Service
from lake_assets.services.state import ServiceState, read_state, write_state

START_TIMEOUT_S = 120.0
"""Seconds a service may take to answer. On two cores a start took 5 idle, 17 under load."""

# Another program may take a free port between our look and the service's bind.
_PORT_ATTEMPTS = 3

_LASTING_PORTS = range(20_000, 32_000)
"""Below those that systems give outgoing connections (Linux from 32768, macOS and Windows from
49152), which would have taken the port of a service that is stopped for a moment."""

_PORT_TAKEN = ("Address already in use", "BindException", "seems to be in use")


def log_of(folder: Path) -> Path:
    """Where the service in `folder` writes what it has to say."""
    return folder / f"{folder.name}.log"


def running(folder: Path) -> ServiceState | None:
    """The state of the service in `folder` if its process is alive."""
    state = read_state(folder)
    if state is None or state.child is None or find(state.child, folder) is None:
        return None
    return state


def ensure_started(
    service: Service, folder: Path, java: Java, jars: tuple[Path, ...]
) -> ServiceState:
    """Have the service run and answer, whatever was left behind by an earlier one.

    Raises:
        ServiceError: it does not start or does not answer; names its log.
    """
    state = running(folder)
    if state is not None and _becomes_healthy(service, state):
        return state if state.is_ready else _remember(folder, state.ports, state.child, ready=True)
    stop_service(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _PORT_ATTEMPTS + 1):
        ports = _choose_ports(service, read_state(folder) if attempt == 1 else None)
        command = service.prepare(folder, java, jars, ports)
        child = launch(command, folder, log_of(folder))
        state = _remember(folder, ports, child, ready=False)
        if child is not None and _becomes_healthy(service, state):
            return _remember(folder, ports, child, ready=True)
        is_slow = child is not None and is_alive(child)
        stop_service(folder)
        if is_slow or not _lost_its_port(folder):
            break
    raise _not_started(service, folder)


def stop_service(folder: Path) -> None:
    """Stop every process of the service in `folder`, the recorded one and any stray."""
    for process in list(find_all(folder)):
        stop(process)
    state = read_state(folder)
    if state is not None and state.child is not None:
        write_state(folder, ServiceState(ports=state.ports))


def _remember(folder: Path, ports: Ports, child: ProcessId | None, *, ready: bool) -> ServiceState:
    state = ServiceState(ports=ports, child=child, is_ready=ready)
    write_state(folder, state)
    return state


def _becomes_healthy(service: Service, state: ServiceState) -> bool:
    """Wait until the service answers; False when it died or took too long."""

    def look() -> bool | None:
        # Its command line may be empty for a moment, while a shell becomes a Java.
        if state.child is None or not is_alive(state.child):
            return False
        return True if _listens(state.ports[0]) and service.answers(state.ports[0]) else None

    retrying = Retrying(
        retry=retry_if_result(lambda answer: answer is None),
        wait=wait_fixed(0.1),
        stop=stop_after_delay(START_TIMEOUT_S),
    )
    try:
        return bool(retrying(look))
    except RetryError:
        return False


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


def _choose_ports(service: Service, before: ServiceState | None) -> Ports:
    """The ports it had, if they are still free, else new ones."""
    with ExitStack() as stack:
        if before is not None and len(before.ports) == service.ports:
            with suppress(OSError):
                for port in before.ports:
                    stack.enter_context(_bound(port))
                return before.ports
        # Each once: several sockets can be bound to one port as long as none of them listens.
        drawn = iter(random.sample(_LASTING_PORTS, len(_LASTING_PORTS)))
        return tuple(
            stack.enter_context(_bound_to_one_of(drawn)).getsockname()[1]
            for _ in range(service.ports)
        )


def _bound_to_one_of(ports: Iterator[int]) -> socket.socket:
    """Bound to a port that others do not get by chance while the service is down."""
    for port in ports:
        with suppress(OSError):
            return _bound(port)
    return _bound(0)


def _bound(port: int) -> socket.socket:
    taken = socket.socket()
    try:
        # As Java does it: connections of the service that stopped a moment ago do not count.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((LOOPBACK, port))
    except OSError:
        taken.close()
        raise
    return taken


def _lost_its_port(folder: Path) -> bool:
    with suppress(OSError):
        text = log_of(folder).read_text(errors="replace")
        return any(words in text for words in _PORT_TAKEN)
    return False


def _not_started(service: Service, folder: Path) -> ServiceError:
    log = log_of(folder)
    return ServiceError(
        f"embedded {service.name}",
        f"does not start: {last_words(log)}",
        f"See {log}; {_hint(folder)}",
    )


def _hint(folder: Path) -> str:
    free = psutil.disk_usage(str(folder)).free
    if free < 1_000_000_000:  # noqa: PLR2004 a gigabyte, as in the doctor's round
        return f"the disk has {free // 1_000_000} MB left, make room"
    return "`lake-assets doctor` says what is missing"
