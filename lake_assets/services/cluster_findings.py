"""The doctor's look at a Spark cluster: what executors would reach, and what they would have."""

import re
import socket
from collections.abc import Collection, Iterator

from lake_assets.errors import RuntimeSetupError, SettingsError
from lake_assets.model.feeds import Feed
from lake_assets.services.control import needs_broker
from lake_assets.services.finding import Finding, Health, broken
from lake_assets.settings.schema import Settings
from lake_assets.spark.cluster import ensure_reachable, is_cluster, master_of

_ANSWER_S = 5.0
"""Seconds for a connection, for which a person waits."""

_STANDALONE = re.compile(r"spark://(?P<places>.+)")


def look_at_cluster(settings: Settings, feeds: Collection[Feed] | None) -> Iterator[Finding]:
    """What there is to tell; nothing where Spark runs in one process.

    Args:
        settings: Spark's, and where brokers are.
        feeds: all that are declared; None if nobody knows.
    """
    if not is_cluster(settings):
        return
    yield _master(master_of(settings))
    yield _executors(settings)
    # Registries, databases and streams of Kinesis are asked by the driver alone.
    if needs_broker(feeds) and settings.kafka.bootstrap_servers is None:
        fact = "the embedded broker is on this machine alone, and executors read topics themselves"
        fix = "Set LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS"
        yield Finding(thing="Kafka for executors", health=Health.BROKEN, fact=fact, fix=fix)
    for feed in feeds or ():
        files = feed.source.files
        if files is not None and not files.is_bucket:
            fact = f"{files.label} is in a folder, and executors open files themselves"
            fix = "Mount it at the same path on each worker, or keep the files in a bucket"
            yield Finding(thing=f"feed {feed.feed}", health=Health.LATER, fact=fact, fix=fix)


def _master(master: str) -> Finding:
    """Whether one of a standalone cluster's masters takes a connection; others Spark asks."""
    found = _STANDALONE.fullmatch(master)
    refused = []
    for place in found["places"].split(",") if found else ():
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=_ANSWER_S):
                return Finding(thing="Spark master", health=Health.OK, fact=f"spark://{place}")
        except (OSError, ValueError) as problem:
            refused.append(f"{place} does not answer ({problem})")
    if not refused:
        return Finding(thing="Spark master", health=Health.OK, fact=f"{master}, not asked")
    fix = "Start it, or correct LAKE_ASSETS_SPARK_MASTER"
    return Finding(thing="Spark master", health=Health.BROKEN, fact="; ".join(refused), fix=fix)


def _executors(settings: Settings) -> Finding:
    thing, package = "Spark executors", settings.spark.package
    try:
        ensure_reachable(settings)
    except (SettingsError, RuntimeSetupError) as problem:
        return broken(thing, problem)
    python = settings.spark.python or "the same path as here"
    fact = f"get {package}" if package else f"have a Python of their own, at {python}"
    return Finding(thing=thing, health=Health.OK, fact=fact)
