"""The embedded services together: up, status, down, and where they answer.

Only what the user does not bring is started, and only what was started here is stopped.
"""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rich.console import Console

from lake_assets.errors import ServiceError
from lake_assets.model.endpoints import Endpoints, RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.runtime.file_lock import try_lock
from lake_assets.runtime.java import find_java
from lake_assets.runtime.setup import ensure_files
from lake_assets.services import lifecycle
from lake_assets.services.kafka import BROKER
from lake_assets.services.registry import REGISTRY, url_of
from lake_assets.services.service import LOOPBACK, Service
from lake_assets.settings.schema import Settings

# Another shell may be downloading the jars; a slow line needs minutes.
_LOCK_TIMEOUT_S = 900.0

_HOW_TO_START = (
    "Start it with `lake-assets services up`, or point LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS and "
    "LAKE_ASSETS_REGISTRY_URL at your own"
)


class State(StrEnum):
    """How a service is."""

    RUNNING = "running"
    STOPPED = "stopped"
    SILENT = "silent"  # its process is alive and does not answer
    YOURS = "yours"  # the user's own; never started nor stopped here


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceStatus:
    """How one service is."""

    state: State
    address: str | None
    pid: int | None = None
    log: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ServicesStatus:
    """How the broker and the registry are."""

    kafka: ServiceStatus
    registry: ServiceStatus


def up(
    settings: Settings, feeds: Collection[Feed] | None = None, *, console: Console | None = None
) -> Endpoints:
    """Start what is not running and not the user's own; returns when it answers.

    Args:
        settings: say which are the user's own.
        feeds: for whom; what none of them needs is not started.
        console: tells what takes long.

    Raises:
        ServiceError: a service does not start or does not answer.
        RuntimeSetupError: Java or a jar cannot be had.
    """
    embedded = _embedded(settings, feeds)
    if embedded:
        with _locked(settings):
            names = " and ".join(service.name for service in embedded)
            busy = console.status(f"Starting {names}") if console else nullcontext()
            groups = tuple(service.group for service in embedded)
            java = find_java(settings.runtime.cache)
            files = ensure_files(groups, java, settings, console=console)
            with busy, ThreadPoolExecutor(len(embedded)) as pool:
                starts = [
                    pool.submit(
                        lifecycle.ensure_started,
                        service,
                        _folder(settings, service),
                        java,
                        files[service.group],
                    )
                    for service in embedded
                ]
            for start in starts:
                start.result()
    return locate(settings, feeds)


def down(settings: Settings) -> None:
    """Stop the embedded services of this home; those of others and the user's own go on."""
    if not settings.services_dir.is_dir():
        return
    with _locked(settings), ThreadPoolExecutor(2) as pool:
        folders = [_folder(settings, service) for service in (BROKER, REGISTRY)]
        list(pool.map(lifecycle.stop_service, folders))


def status(settings: Settings) -> ServicesStatus:
    """Look at both services; embedded ones are asked whether they answer."""
    return ServicesStatus(
        kafka=_status(settings, BROKER, settings.kafka.bootstrap_servers, _kafka_address),
        registry=_status(settings, REGISTRY, settings.registry.url, url_of),
    )


def needs_broker(feeds: Collection[Feed] | None) -> bool:
    """Whether one of the feeds reads or fills topics; True if nobody knows the feeds."""
    return feeds is None or any(
        feed.source.kafka is not None or any(sink.needs_broker for sink in feed.sinks)
        for feed in feeds
    )


def needs_registry(feeds: Collection[Feed] | None) -> bool:
    """Whether one of the feeds needs a schema registry; True if nobody knows the feeds."""
    return feeds is None or any(
        feed.payload.needs_registry or any(sink.needs_registry for sink in feed.sinks)
        for feed in feeds
    )


def locate(settings: Settings, feeds: Collection[Feed] | None = None) -> Endpoints:
    """Where the broker and the registry answer: the user's own, else the embedded ones that run.

    Args:
        settings: say which are the user's own.
        feeds: for whom; an embedded service that none of them needs has no address.

    Raises:
        ServiceError: an embedded service is needed and does not run.
    """
    registry = settings.registry.url or ""
    if needs_registry(feeds) and not registry:
        registry = url_of(_port(settings, REGISTRY))
    kafka = settings.kafka.bootstrap_servers or ""
    if needs_broker(feeds) and not kafka:
        kafka = _kafka_address(_port(settings, BROKER))
    return Endpoints(
        kafka=kafka,
        registry=registry,
        kafka_options=settings.kafka.options,
        registry_access=settings.registry.access if settings.registry.url else RegistryAccess(),
    )


def locate_broker(settings: Settings) -> Endpoints:
    """As `locate`, for what reads topics alone, whatever feeds there are; without a registry.

    Raises:
        ServiceError: the user has no broker of his own, and the embedded one does not run.
    """
    own = settings.kafka.bootstrap_servers
    return Endpoints(
        kafka=own or _kafka_address(_port(settings, BROKER)),
        registry="",
        kafka_options=settings.kafka.options,
    )


def _embedded(settings: Settings, feeds: Collection[Feed] | None) -> tuple[Service, ...]:
    own: dict[Service, str | None] = {}
    if needs_broker(feeds):
        own[BROKER] = settings.kafka.bootstrap_servers
    if needs_registry(feeds):
        own[REGISTRY] = settings.registry.url
    return tuple(service for service, address in own.items() if not address)


def _folder(settings: Settings, service: Service) -> Path:
    return settings.services_dir.absolute() / service.name


def _kafka_address(port: int) -> str:
    return f"{LOOPBACK}:{port}"


def _port(settings: Settings, service: Service) -> int:
    state = lifecycle.running(_folder(settings, service))
    if state is None or not state.is_ready:
        thing = f"embedded {service.name} of {settings.home}"
        raise ServiceError(thing, "does not run", _HOW_TO_START)
    return state.ports[0]


def _status(
    settings: Settings, service: Service, own: str | None, address_of: Callable[[int], str]
) -> ServiceStatus:
    if own:
        return ServiceStatus(state=State.YOURS, address=own)
    folder = _folder(settings, service)
    log = lifecycle.log_of(folder)
    state = lifecycle.running(folder)
    if state is None or state.child is None:
        return ServiceStatus(state=State.STOPPED, address=None, log=log if log.exists() else None)
    port = state.ports[0]
    return ServiceStatus(
        state=State.RUNNING if service.answers(port) else State.SILENT,
        address=address_of(port),
        pid=state.child.pid,
        log=log,
    )


@contextmanager
def _locked(settings: Settings) -> Iterator[None]:
    folder = settings.services_dir
    thing = f"services folder {folder}"
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = try_lock(folder / "lock", within_s=_LOCK_TIMEOUT_S)
            is_ours = stack.enter_context(lock)
        except OSError as problem:
            raise ServiceError(
                thing,
                f"cannot be written ({problem.strerror or problem})",
                "Make it writable or set LAKE_ASSETS_HOME to another folder",
            ) from problem
        if not is_ours:
            raise ServiceError(
                thing,
                f"another process has been starting or stopping them for {_LOCK_TIMEOUT_S:.0f} s",
                "Wait for it, or end it and try again",
            )
        yield
