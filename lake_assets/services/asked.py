"""Whether the broker and the registry really answer: one request each, to the user's own as well.

`control.status` looks at what was started here; the doctor says more of each.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lake_assets.errors import RegistryError, ServiceError, SourceError
from lake_assets.formats.confluent.registry_client import check_registry
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.services.control import (
    ServiceStatus,
    State,
    needs_broker,
    needs_registry,
    status,
)
from lake_assets.settings.schema import Settings
from lake_assets.sources.kafka.topics import check_broker

_ANSWER_S = 5.0
"""Seconds for an answer of the user's own: a person or a probe waits."""

_START = "Start it with `lake-assets services up`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """How a service answered."""

    state: State
    address: str | None
    answers: bool
    is_needed: bool
    """Whether a feed needs it; what none needs may be stopped."""

    pid: int | None = None
    log: Path | None = None
    problem: ServiceError | SourceError | RegistryError | None = None
    """Why it does not answer, if it should."""


def ask_services(settings: Settings, feeds: Collection[Feed]) -> dict[str, Asked]:
    """Ask the broker for its topics and the registry for its subjects; by their names.

    Args:
        settings: say which are the user's own.
        feeds: for whom.
    """
    found = status(settings)
    own = Endpoints(
        kafka=settings.kafka.bootstrap_servers or "",
        registry=settings.registry.url or "",
        kafka_options=settings.kafka.options,
        registry_access=settings.registry.access,
    )
    problems: dict[str, SourceError | RegistryError | None] = {"kafka": None, "registry": None}
    if found.kafka.state is State.YOURS:
        try:
            check_broker(own, timeout_s=_ANSWER_S)
        except SourceError as problem:
            problems["kafka"] = problem
    if found.registry.state is State.YOURS:
        try:
            check_registry(own.registry, own.registry_access, timeout_s=_ANSWER_S)
        except RegistryError as problem:
            problems["registry"] = problem
    return {
        "kafka": _asked("kafka", found.kafka, problems["kafka"], is_needed=needs_broker(feeds)),
        "registry": _asked(
            "registry", found.registry, problems["registry"], is_needed=needs_registry(feeds)
        ),
    }


def _asked(
    name: str,
    found: ServiceStatus,
    refusal: SourceError | RegistryError | None,
    *,
    is_needed: bool,
) -> Asked:
    thing, problem = f"embedded {name}", None
    if found.state is State.STOPPED and is_needed:
        problem = ServiceError(thing, "does not run", _START)
    elif found.state is State.SILENT:
        fact = f"{found.address} does not answer"
        step = f"`lake-assets services down`, then up; log: {found.log}"
        problem = ServiceError(thing, fact, step)
    return Asked(
        state=found.state,
        address=found.address,
        answers=found.state is State.RUNNING or (found.state is State.YOURS and refusal is None),
        is_needed=is_needed,
        pid=found.pid,
        log=found.log,
        problem=refusal or problem,
    )
