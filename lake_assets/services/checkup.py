"""The doctor's round: what this machine has and lacks, each with its fix. Changes nothing."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

import psutil

from lake_assets.errors import LakeAssetsError
from lake_assets.runtime.jars import GROUPS, Group, is_here
from lake_assets.runtime.java import find_java
from lake_assets.services import kafka, registry
from lake_assets.services.child import last_words
from lake_assets.services.control import ServiceStatus, State, status
from lake_assets.settings.schema import Settings

# A round number: below it a large batch may fill the disk half-way.
_DISK_BROKEN_BYTES = 1_000_000_000

# A round number that leaves time to react; not derived from a measured rate.
_DISK_SHORT_BYTES = 5_000_000_000

_START = "lake-assets services up"


class Health(StrEnum):
    """How a thing is."""

    OK = "ok"
    LATER = "later"  # not there yet; comes by itself or with a command
    BROKEN = "broken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at."""

    thing: str
    health: Health
    fact: str
    fix: str = ""


def examine(settings: Settings) -> Iterator[Finding]:
    """Look at Java, jars, services, lake folder and disk, the cheapest first."""
    yield _java(settings)
    yield from (_jars(group, settings) for group in GROUPS)
    services = status(settings)
    reaches_kafka = partial(kafka.reaches, options=settings.kafka.options)
    yield _service("Kafka", services.kafka, reaches_kafka)
    yield _service("schema registry", services.registry, registry.reaches)
    yield _lake(settings.lake_dir)
    yield _disk(settings.lake_dir)


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
        fix="python -m lake_assets.runtime.setup",
    )


def _service(thing: str, found: ServiceStatus, reaches: Callable[[str], str | None]) -> Finding:
    if found.state is State.YOURS and found.address is not None:
        problem = reaches(found.address)
        if problem is None:
            return Finding(thing=thing, health=Health.OK, fact=f"yours, {found.address}")
        fix = "Check its address, and that it runs"
        fact = f"yours, {found.address}: {problem}"
        return Finding(thing=thing, health=Health.BROKEN, fact=fact, fix=fix)
    if found.state is State.RUNNING:
        return Finding(thing=thing, health=Health.OK, fact=f"embedded, {found.address}")
    if found.state is State.STOPPED:
        return Finding(thing=thing, health=Health.LATER, fact="embedded, not running", fix=_START)
    said = last_words(found.log) if found.log else "no log"
    return Finding(
        thing=thing,
        health=Health.BROKEN,
        fact=f"embedded, {found.address} does not answer: {said}",
        fix=f"lake-assets services down, then up; log: {found.log}",
    )


def _lake(folder: Path) -> Finding:
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
