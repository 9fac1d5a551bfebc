"""The processes of docker/compose.yaml by hand: its commands and its environment.

Only hosts, ports and paths are others, and what executors elsewhere would need.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml

from lake_assets.demo.dagster_dev import free_port
from lake_assets_tests.conftest import QUICK_JAVA
from lake_assets_tests.e2e.dev import ROOT, wait_for

DOCKER = ROOT / "docker"


class Deployment:
    """Containers of one compose project as processes: each has a group of its own."""

    def __init__(
        self,
        folder: Path,
        secrets: Mapping[str, str],
        names: Mapping[str, str],
        feeds: Path,
        given: Mapping[str, str],
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            folder: its own; has what volumes would.
            secrets: by name, what is in compose's secrets.
            names: by what stands in compose's environment, what stands for it here.
            feeds: a folder of a user's own feeds, which the image of theirs would have.
            given: further variables.
        """
        self.folder, self.home = folder, folder / "dagster-home"
        self._compose: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
        self._ports = {"4000": str(free_port(0)), "3000": str(free_port(0))}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._seen: dict[int, psutil.Process] = {}
        for each in ("secrets", "data", "dagster-home"):
            (folder / each).mkdir(parents=True)
        for name, value in secrets.items():
            (folder / "secrets" / name).write_text(value)
        self._names = {
            "/run/secrets/": f"{folder}/secrets/",
            "/opt/lake_assets/dagster/": f"{self.home}/",
            "/data": str(folder / "data"),
            "0.0.0.0": "127.0.0.1",  # noqa: S104 - what a container listens on
            **names,
        }
        self._given = {
            "LAKE_ASSETS_FEEDS": str(feeds),
            "LAKE_ASSETS_METRICS_PORT": "0",
            "DAGSTER_HOME": str(self.home),
            "HOME": str(folder / "data"),
            **given,
        }
        instance = self._here((DOCKER / "dagster.yaml").read_text())
        (self.home / "dagster.yaml").write_text(instance)
        workspace = (DOCKER / "workspace.yaml").read_text()
        workspace = workspace.replace("host: code", "host: 127.0.0.1")
        (self.home / "workspace.yaml").write_text(
            workspace.replace("port: 4000", f"port: {self._ports['4000']}")
        )

    def environment(self, service: str) -> dict[str, str]:
        """A container's, and what its image sets."""
        given = self._compose["services"][service].get("environment", {})
        own = {name: self._here(str(value)) for name, value in given.items()}
        image = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # noqa: TID251
        if "JAVA_HOME" in os.environ:  # noqa: TID251
            image["JAVA_HOME"] = os.environ["JAVA_HOME"]  # noqa: TID251
        quick = dict.fromkeys(("SPARK_LAUNCHER_OPTS", "SPARK_SUBMIT_OPTS"), QUICK_JAVA)
        return {**image, **quick, **own, **self._given, "PYTHONPATH": str(ROOT)}

    def start(self, service: str, as_: str | None = None, **changed: str) -> None:
        """Start what a container would run, as its image's entrypoint does.

        Args:
            service: compose's name for it.
            as_: another name, of one more of the same.
            changed: variables that are otherwise.
        """
        command = [self._word(word) for word in self._compose["services"][service]["command"]]
        with (self.folder / f"{service}.log").open("ab") as log:
            self._processes[as_ or service] = subprocess.Popen(  # noqa: S603 - our own
                ["/bin/sh", str(DOCKER / "entrypoint.sh"), *command],
                cwd=self.folder / "data",
                env={**self.environment(service), **changed},
                stdout=log,
                stderr=log,
                process_group=0,
                preexec_fn=_heed_interrupts,  # noqa: PLW1509 - as in the demo
            )

    def wait_for_code(self) -> None:
        """Wait until the code server answers, as compose's `depends_on` does."""

        def answers() -> bool:
            assert self._processes["code"].poll() is None, self.log("code")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", int(self._ports["4000"]))) == 0

        wait_for(answers, "the code server", within_s=120)

    def wait_for_refusal(self, words: str) -> None:
        """Wait until the code server has ended, and see that it said why."""
        assert self._processes["code"].wait(120) != 0
        assert words in (self.folder / "code.log").read_text()

    def stop(self, service: str) -> None:
        """End it as compose does: SIGTERM to its first process, and time until it is over."""
        processes = self.processes(service)
        grace = self._compose["services"][service].get("stop_grace_period", "10s")
        minutes, seconds = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", grace).groups("0")
        self._processes[service].terminate()
        self._processes[service].wait(int(minutes) * 60 + int(seconds))
        # A container's end is the end of all that is in it: by then runs are to be over, and what
        # they started, such as a JVM, has no more to do than to end.
        left = [line for one in processes if (line := _command_line(one))]
        # The code server starts runs as Python's multiprocessing does.
        assert not [line for line in left if "spawn_main" in line], (left, self.log(service))
        wait_for(lambda: not any(map(_lives, processes)), lambda: str(left), within_s=120)

    def kill(self, service: str) -> None:
        """End it and all it started, as a machine does that loses power."""
        for process in self.processes(service):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._processes[service].wait()

    def kill_server(self) -> None:
        """End the code server's own process alone: its runs go on without it."""
        shell = psutil.Process(self._processes["code"].pid)
        (server,) = [one for one in shell.children() if "grpc" in one.cmdline()]
        self.processes("code")
        server.kill()
        self._processes["code"].wait(30)

    def processes(self, service: str) -> list[psutil.Process]:
        """What lives of a container, as far as it was ever seen."""
        with suppress(psutil.NoSuchProcess):
            outer = psutil.Process(self._processes[service].pid)
            self._seen |= {one.pid: one for one in (outer, *outer.children(recursive=True))}
        group = self._processes[service].pid
        return [one for one in self._seen.values() if _lives(one) and _group(one) == group]

    def command_lines(self) -> str:
        """Of all that runs."""
        running = [one for service in self._processes for one in self.processes(service)]
        return "\n".join(" ".join(one.cmdline()) for one in running)

    def end(self) -> None:
        """Kill all there is."""
        for service in self._processes:
            self.kill(service)

    def log(self, service: str) -> str:
        """The end of what it said."""
        return (self.folder / f"{service}.log").read_text(errors="replace")[-4000:]

    def ask(self, query: str) -> Any:
        """What the webserver answers to a query of GraphQL."""
        url = f"http://127.0.0.1:{self._ports['3000']}/graphql"
        told = httpx.post(url, json={"query": query}, timeout=60, trust_env=False)
        told.raise_for_status()
        found = told.json()
        assert "errors" not in found, found
        return found["data"]

    def is_served(self) -> bool:
        """Whether the webserver answers."""
        with suppress(httpx.HTTPError):
            self.ask("{ version }")
            return True
        return False

    def _word(self, word: str) -> str:
        if word == "code-server.sh":
            return str(DOCKER / word)
        return self._ports.get(word, self._here(word))

    def _here(self, text: str) -> str:
        for name, ours in self._names.items():
            text = text.replace(name, ours)
        return text


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _group(process: psutil.Process) -> int:
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return 0


def _command_line(process: psutil.Process) -> str:
    """Empty if it is over."""
    with suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())
    return ""


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
