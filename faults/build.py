"""A venue's parts, built and taken down: servers, proxy, cluster, and who keeps the streams."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from random import Random

from benchmarks.standalone import Cluster, run_cluster
from faults.clock import Clock, cannot_step
from faults.dagster_processes import dagster_processes
from faults.disk import cannot_mount, mounted
from faults.kept import Kept
from faults.lake import BUCKET, in_a_bucket, on_a_cluster, settings_of, store_options
from faults.network import broker_behind
from faults.process_table import PART, RUN, SERVER, end_all
from faults.servers import Server, make_bucket, ports_for, store_front, store_service
from faults.stack import CORES, ROOT, WORKERS, Asked, Log, Stack, environment_of
from faults.toxic_proxy import Address, ToxicProxy
from lake_assets.runtime.command_line import command_line
from lake_assets.runtime.java import Java, find_java
from lake_assets.runtime.setup import ensure_files, ensure_runtime
from lake_assets.services.registry import REGISTRY
from lake_assets.services.service import LOOPBACK
from lake_assets.settings.load import child_environment, load_settings
from lake_assets.settings.schema import Settings

_DISK_BYTES = 4 << 30
"""Of the lake's own disk, in a sparse file."""


@contextmanager
def run_stack(asked: Asked, log: Log) -> Iterator[Stack]:
    """Servers that answer, and streams that are to be started; all is over at the end.

    Raises:
        LakeAssetsError: a part cannot be had, or does not start.
    """
    base = load_settings()
    java = find_java(base.runtime.cache)
    random = Random(asked.seed)  # noqa: S311 - need not be secret
    with ExitStack() as stack:
        stack.callback(end_all, asked.run)
        proxy = stack.enter_context(ToxicProxy(random))
        roles = ("broker", "registry", *(("store",) if asked.venue != "disk" else ()))
        links = {role: proxy.listen(role) for role in roles}
        disk = None
        if asked.venue == "disk" and cannot_mount() is None:
            disk = stack.enter_context(mounted(asked.folder / "disk", _DISK_BYTES))
        settings = settings_of(
            base, asked.folder, broker=links["broker"], registry=links["registry"]
        )
        if asked.venue != "disk":
            settings = in_a_bucket(settings, store_options(links["store"]))
        servers = _servers(asked, settings, java, links)
        for role, server in servers.items():
            stack.callback(server.end)
            server.start()
            proxy.lead(role, stack.enter_context(_led(asked, role, server)))
        cluster = None
        if asked.venue == "cluster":
            cluster = stack.enter_context(_cluster(asked, java))
            settings = on_a_cluster(settings, cluster.master, _path())
        ensure_runtime(settings)
        clock = Clock(asked.folder / "clock") if cannot_step() is None else None
        kept = _kept(asked, settings, clock, log)
        found = Stack(
            asked=asked,
            settings=settings,
            servers=servers,
            proxy=proxy,
            kept=kept,
            cluster=cluster,
            disk=disk,
            clock=clock,
            say=log,
        )
        for one in kept:
            stack.callback(one.kill)
        yield found


def _cluster(asked: Asked, java: Java) -> AbstractContextManager[Cluster]:
    mark = {RUN: asked.run, PART: SERVER}
    folder = asked.folder / "cluster"
    return run_cluster(java, folder, workers=WORKERS, cores=CORES, more=mark)


def _servers(
    asked: Asked, settings: Settings, java: Java, links: Mapping[str, Address]
) -> dict[str, Server]:
    services = {"broker": broker_behind(links["broker"]), "registry": REGISTRY}
    jars = dict(ensure_files(("kafka", "registry"), java, settings))
    if "store" in links:
        services["store"] = store_service(settings.runtime)
    environment = {**child_environment(settings), RUN: asked.run, PART: SERVER}
    return {
        role: Server(
            service,
            asked.folder / role,
            java,
            jars.get(service.group, ()),
            ports_for(service),
            environment,
        )
        for role, service in services.items()
    }


def _kept(asked: Asked, settings: Settings, clock: Clock | None, log: Log) -> list[Kept]:
    environment = environment_of(settings, asked.run)
    stepped = {} if clock is None else clock.environment()
    if asked.dagster:
        return dagster_processes(asked.folder, environment, stepped, log)
    own = {**environment, **stepped}
    return [Kept("streams", command_line("stream"), own, asked.folder, log)]


@contextmanager
def _led(asked: Asked, role: str, server: Server) -> Iterator[Address]:
    """Where the proxy is to lead to."""
    if role == "broker":
        yield LOOPBACK, server.ports[-1]
    elif role == "store":
        make_bucket(server.ports[0], BUCKET)
        with store_front(asked.folder, server.ports[0]) as server.front:
            yield server.front
    else:
        yield server.address


def _path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
