"""The doctor's round: what this machine has and lacks, each with its fix. Changes nothing."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from lake_assets.errors import (
    FeedError,
    LakeAssetsError,
    LakeError,
    RegistryError,
    SettingsError,
    SourceError,
)
from lake_assets.feeds.load import load_feeds
from lake_assets.formats.confluent.registry_client import check_registry
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.runtime.jars import Group, is_here
from lake_assets.runtime.java import find_java
from lake_assets.runtime.setup import ensure_runtime, groups_of
from lake_assets.services.child import last_words
from lake_assets.services.cluster_findings import look_at_cluster
from lake_assets.services.control import (
    ServiceStatus,
    State,
    needs_broker,
    needs_registry,
    status,
)
from lake_assets.services.delta_findings import look_at_delta_sources
from lake_assets.services.feed_findings import look_at_feeds
from lake_assets.services.file_findings import look_at_files
from lake_assets.services.finding import Finding, Health, broken
from lake_assets.services.kinesis_findings import look_at_kinesis_sources
from lake_assets.services.postgres_findings import look_at_postgres_sources
from lake_assets.services.sink_findings import look_at_sinks
from lake_assets.services.subject_findings import look_at_subjects
from lake_assets.services.topic_findings import look_at_topics
from lake_assets.settings.load import unknown_variables
from lake_assets.settings.schema import Settings
from lake_assets.sources.kafka.topics import check_broker
from lake_assets.state.binding import Bound, Refuse
from lake_assets.state.lake_id import look_at_binding
from lake_assets.state.lake_record import lake_record

# A round number: below it a large batch may fill the disk half-way.
_DISK_BROKEN_BYTES = 1_000_000_000

# A round number that leaves time to react; not derived from a measured rate.
_DISK_SHORT_BYTES = 5_000_000_000

_START = "lake-assets services up"

_ANSWER_S = 5.0
"""Seconds for an answer of the user's own broker or registry, for which a person waits."""


def examine(settings: Settings) -> Iterator[Finding]:
    """Look at Java, jars, services, the lake's folders and disk, the cheapest first."""
    yield from map(_unknown, unknown_variables())
    yield _java(settings)
    yield from (_jars(group, settings) for group in groups_of(settings))
    yield from _class_archive(settings)
    yield from look_at_cluster(settings, _feeds(settings))
    yield from _services(settings)
    yield _lake(settings)
    yield _state(settings)
    yield _disk(settings.disk_dir)
    yield from look_at_feeds(settings)
    yield from look_at_files(settings)
    yield from look_at_delta_sources(settings)
    yield from look_at_postgres_sources(settings)
    yield from look_at_kinesis_sources(settings)
    yield from look_at_sinks(settings)


def _unknown(problem: SettingsError) -> Finding:
    return Finding(
        thing=problem.thing, health=Health.BROKEN, fact=problem.fact, fix=problem.next_step
    )


def _java(settings: Settings) -> Finding:
    try:
        java = find_java(settings.runtime.cache)
    except LakeAssetsError as problem:
        return Finding(thing="Java", health=Health.BROKEN, fact=str(problem), fix="Install Java 17")
    return Finding(
        thing="Java", health=Health.OK, fact=f"{java.major}, {java.executable} ({java.origin})"
    )


def _jars(group: Group, settings: Settings) -> Finding:
    thing = f"jars for {group}"
    try:
        here = is_here(group, settings.runtime)
    except LakeAssetsError as problem:
        fix = "Set LAKE_ASSETS_RUNTIME_CACHE"
        return Finding(thing=thing, health=Health.BROKEN, fact=str(problem), fix=fix)
    if here:
        return Finding(thing=thing, health=Health.OK, fact="complete")
    return Finding(
        thing=thing,
        health=Health.LATER,
        fact="missing or damaged; fetched with the first use",
        fix="lake-assets setup",
    )


def _class_archive(settings: Settings) -> Iterator[Finding]:
    """Whether starts of Spark are quick; nothing is said where Spark cannot start yet."""
    try:
        runtime = ensure_runtime(settings) if is_here("spark", settings.runtime) else None
    except LakeAssetsError:
        return  # said of Java or of the jars
    if runtime is None:
        return
    thing = "archive of classes"
    if runtime.class_archive is not None:
        yield Finding(thing=thing, health=Health.OK, fact=str(runtime.class_archive))
        return
    yield Finding(
        thing=thing,
        health=Health.LATER,
        fact="none for this Java; Spark takes twice as long to start",
        fix="lake-assets setup",
    )


def _services(settings: Settings) -> Iterator[Finding]:
    services = status(settings)
    endpoints = Endpoints(
        kafka=settings.kafka.bootstrap_servers or "",
        registry=settings.registry.url or "",
        kafka_options=settings.kafka.options,
        registry_access=settings.registry.access,
    )
    if needs_broker(_feeds(settings)):
        broker = _service(
            "Kafka", services.kafka, lambda: check_broker(endpoints, timeout_s=_ANSWER_S)
        )
        yield broker
        if services.kafka.state is State.YOURS and broker.health is Health.OK:
            yield from look_at_topics(settings, endpoints, timeout_s=_ANSWER_S)
    if not needs_registry(_feeds(settings)):
        return
    registry = _service(
        "schema registry",
        services.registry,
        lambda: check_registry(endpoints.registry, endpoints.registry_access, timeout_s=_ANSWER_S),
    )
    yield registry
    if services.registry.state is State.YOURS and registry.health is Health.OK:
        yield from look_at_subjects(settings, endpoints, timeout_s=_ANSWER_S)


def _feeds(settings: Settings) -> tuple[Feed, ...] | None:
    """The feeds; None if they cannot be read, which is said where they are looked at."""
    try:
        return load_feeds(settings.feeds)
    except FeedError:
        return None


def _service(thing: str, found: ServiceStatus, check: Callable[[], None]) -> Finding:
    if found.state is State.YOURS:
        fact = f"yours, {found.address}"
        try:
            check()
        except (SourceError, RegistryError) as problem:
            return replace(broken(thing, problem), fact=f"{fact}: {problem.fact}")
        return Finding(thing=thing, health=Health.OK, fact=fact)
    if found.state is State.RUNNING:
        return Finding(thing=thing, health=Health.OK, fact=f"embedded, {found.address}")
    if found.state is State.STOPPED:
        return Finding(thing=thing, health=Health.LATER, fact="embedded, not running", fix=_START)
    words = last_words(found.log) if found.log else "no log"
    return Finding(
        thing=thing,
        health=Health.BROKEN,
        fact=f"embedded, {found.address} does not answer: {words}",
        fix=f"lake-assets services down, then up; log: {found.log}",
    )


def _lake(settings: Settings) -> Finding:
    if not settings.lake_root.is_local:
        return _bucket(settings)
    folder = settings.lake_dir
    there = _nearest(folder)
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        fact = f"{folder}, writable" if folder.exists() else f"{folder}, made with the first use"
        return Finding(thing="lake folder", health=Health.OK, fact=fact)
    return Finding(
        thing="lake folder",
        health=Health.BROKEN,
        fact=f"{folder} cannot be written ({there} refuses)",
        fix=f"Make {there} writable, or set LAKE_ASSETS_HOME or LAKE_ASSETS_LAKE",
    )


def _bucket(settings: Settings) -> Finding:
    # Loaded only for buckets, as their store is.
    from lake_assets.storage.conditions import ensure_conditions  # noqa: PLC0415

    try:
        found = lake_record(settings).read()
        ensure_conditions(settings.lake_root, settings.storage.secrets)
    except (LakeError, SettingsError) as problem:
        return broken("lake", problem)
    fact = f"{settings.lake_root}, {'made with the first use' if found is None else 'read'}"
    return Finding(thing="lake", health=Health.OK, fact=fact)


def _state(settings: Settings) -> Finding:
    """Whether the state folder is this lake's."""
    thing, folder = "state folder", settings.state_dir
    try:
        decision = look_at_binding(settings)
    except LakeError as problem:
        return replace(broken(thing, problem), fact=f"{problem.thing} {problem.fact}")
    if isinstance(decision, Refuse):
        fact = f"{folder} cannot be used with this lake: {decision.why}"
        return Finding(thing=thing, health=Health.BROKEN, fact=fact, fix=decision.next_step)
    there = _nearest(folder)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        fact = f"{folder} cannot be written ({there} refuses)"
        fix = f"Make {there} writable, or set LAKE_ASSETS_STATE"
        return Finding(thing=thing, health=Health.BROKEN, fact=fact, fix=fix)
    if settings.state_root is not None:
        # Loaded only for buckets, as their store is.
        from lake_assets.storage.conditions import ensure_conditions  # noqa: PLC0415

        try:
            ensure_conditions(settings.state_root, settings.storage.secrets)
        except (LakeError, SettingsError) as problem:
            return broken(thing, problem)
    whose = f"of lake {decision.id}" if isinstance(decision, Bound) else "bound with the next use"
    kept = f", and what lasts of it in {settings.state_root}" if settings.state_root else ""
    return Finding(thing=thing, health=Health.OK, fact=f"{folder}{kept}, {whose}")


def _disk(folder: Path) -> Finding:
    free = psutil.disk_usage(str(_nearest(folder))).free
    return judge_disk(free)


def judge_disk(free_bytes: int) -> Finding:
    """Whether that much room is enough to go on."""
    fact = f"{free_bytes / 1e9:.1f} GB free"
    if free_bytes >= _DISK_SHORT_BYTES:
        return Finding(thing="disk", health=Health.OK, fact=fact)
    health = Health.BROKEN if free_bytes < _DISK_BROKEN_BYTES else Health.LATER
    fix = "Make room, or set LAKE_ASSETS_HOME to a larger disk"
    return Finding(thing="disk", health=health, fact=fact, fix=fix)


def _nearest(folder: Path) -> Path:
    """The folder itself or the nearest one above it that exists."""
    absolute = folder.absolute()
    return next(path for path in (absolute, *absolute.parents) if path.exists())
