import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import SimpleNamespace
from uuid import uuid4

import psutil
import pytest

from faults import stack as stack_module
from faults.dagster_processes import CODE_SERVER
from faults.kept import Kept
from faults.process_table import PART, RUN, SERVER
from faults.servers import Server, ports_for
from faults.stack import Asked, Log, Stack, environment_of
from faults.toxic_proxy import ToxicProxy
from lake_assets.errors import StreamError
from lake_assets.services.service import Service
from lake_assets_tests.e2e.dev import wait_for

SLEEP = "import time; print('up', flush=True); time.sleep(60)"

DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"

NOTES_ITS_PARENT = """
import os, signal, sys
def end(*_):
    with open("parent-at-end", "w") as file:
        file.write(str(os.getppid()))
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
"""

SPARK = "org.apache.spark.deploy.SparkSubmit"


def bears(program, word):
    """A program that starts another, which alone has the word in its command line."""
    child = f"[sys.executable, '-c', {program!r}, {word[::-1]!r}[::-1]]"
    return f"""
import subprocess, sys, time
child = subprocess.Popen({child})
print("up", flush=True)
child.wait()
time.sleep(60)
"""


def is_up(port):
    return any(
        one.laddr.port == port and one.status == psutil.CONN_LISTEN
        for one in psutil.net_connections("tcp")
    )


LISTENS = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1])))"

BROKER = Service(
    name="broker",
    group="kafka",
    ports=1,
    prepare=lambda _folder, _java, _jars, ports: [
        *(sys.executable, "-c", f"{LISTENS}; time.sleep(60)", str(ports[0]), "kafka.Kafka")
    ],
    answers=is_up,
)
"""A process that listens, and that is called what a broker is."""


@pytest.fixture
def make(tmp_path, settings):
    """A stack of small processes: a broker, and what is to be kept by name and program."""
    run = uuid4().hex[:12]
    with ExitStack() as over:
        proxy = over.enter_context(ToxicProxy(Random(1)))  # noqa: S311 - as the suite

        def go(**kept):
            environment = environment_of(settings, run)
            folder = tmp_path / "broker"
            broker = Server(
                BROKER, folder, None, (), ports_for(BROKER), {**environment, PART: SERVER}
            )
            over.callback(broker.end)
            log = Log(tmp_path / "run.log")
            keep = []
            for name, program in kept.items():
                role = name.replace("_", " ")
                command = [sys.executable, "-c", program]
                keep.append(Kept(role, command, environment, tmp_path, log))
                over.callback(keep[-1].kill)
            asked = Asked(venue="disk", folder=tmp_path, run=run, seed=1)
            return Stack(
                asked=asked,
                settings=settings,
                servers={"broker": broker},
                proxy=proxy,
                kept=keep,
                cluster=None,
                disk=None,
                clock=None,
                say=log,
            )

        yield go


def wait_until_up(stack):
    outputs = [one.output for one in stack.kept]
    wait_for(lambda: all(map(says_up, outputs)), "their start", within_s=120)


def says_up(output):
    return output.exists() and "up" in output.read_text()


def test_processes_are_known_by_role_and_a_server_that_was_killed_is_restored(make):
    stack = make(streams=bears(SLEEP, SPARK))
    stack.servers["broker"].start()
    stack.start()
    wait_until_up(stack)
    wait_for(lambda: stack.processes()["stream"], "the JVM", within_s=120)
    found = stack.processes()
    (jvm,), (stream,), (broker,) = found["jvm"], found["stream"], found["broker"]
    assert psutil.Process(jvm).ppid() == stream
    assert found.keys() - {"jvm"} == {"stream", "broker"}
    assert stack.roles == {"stream", "jvm", "python worker", "broker"}
    os.kill(broker, signal.SIGKILL)
    wait_for(lambda: not stack.processes().get("broker"), "its end", within_s=120)
    stack.restore("broker")
    assert stack.processes()["broker"] == stack.servers["broker"].pids != [broker]
    assert stack.addresses == {"broker": ("127.0.0.1", stack.servers["broker"].ports[0])}


def test_streams_end_and_what_they_leave_behind_is_told_and_servers_are_not(make, monkeypatch):
    monkeypatch.setattr(stack_module, "_LEFT_FOR_S", 0.5)
    stack = make(streams=bears(SLEEP, "lost"))
    stack.servers["broker"].start()
    stack.start()
    wait_until_up(stack)
    stack.end_streams()
    (orphan,) = stack.orphans()
    pid = int(orphan.split()[0])
    assert " of streams: " in orphan
    assert psutil.Process(pid).cmdline()[-1] == "lost"
    psutil.Process(pid).kill()
    assert stack.orphans() == []
    assert stack.servers["broker"].pids


def test_an_executor_that_outlives_its_application_is_an_orphan(make, monkeypatch):
    monkeypatch.setattr(stack_module, "_LEFT_FOR_S", 0.5)
    stack = make()
    mark = {**stack.environment, PART: SERVER}  # the cluster's worker has it
    role = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
    with psutil.Popen([sys.executable, "-c", SLEEP, role], env=mark) as executor:
        wait_for(lambda: stack.processes().get("executor"), "its start", within_s=120)
        (orphan,) = stack.orphans()
        executor.kill()
    assert orphan.startswith(f"{executor.pid} of server: ")


def test_the_streams_run_ends_before_its_code_server_and_none_is_started_again(make):
    run = f"{NOTES_ITS_PARENT}\n{bears(SLEEP, SPARK)}"
    stack = make(code_server=bears(run, "run"), daemon=SLEEP)
    assert stack.kept[0].name == CODE_SERVER
    stack.start()
    wait_until_up(stack)
    wait_for(lambda: stack.processes()["stream"], "the run", within_s=120)
    (pid,) = stack.processes()["stream"]
    code_server = psutil.Process(pid).ppid()
    stack.end_streams()
    assert (stack.asked.folder / "parent-at-end").read_text() == str(code_server)
    assert stack.processes()["stream"] == []
    assert [one.starts for one in stack.kept] == [1, 1]
    for left in stack.processes()["jvm"]:
        os.kill(left, signal.SIGKILL)


def test_streams_that_do_not_heed_their_end_are_a_failure(make, monkeypatch):
    monkeypatch.setattr(stack_module, "_ENDS_WITHIN_S", 0.3)
    stack = make(streams=DEAF)
    stack.start()
    wait_until_up(stack)
    with pytest.raises(StreamError, match="did not end within"):
        stack.end_streams()
    assert stack.orphans() == []


def test_a_command_runs_with_the_lakes_settings_and_the_runs_mark_and_is_kept(make):
    stack = make()
    shows = "import json, os; print(json.dumps(dict(os.environ)))"
    done = stack.command("config", before=(sys.executable, "-c", shows), within_s=60)
    told = SimpleNamespace(**json.loads(done.stdout))
    assert (getattr(told, RUN), getattr(told, PART)) == (stack.asked.run, "work")
    assert Path(told.LAKE_ASSETS_HOME) == stack.settings.home
    assert (stack.asked.folder / "work.log").read_text().startswith("$ lake-assets config\n{")


def test_lines_of_the_log_have_their_second_and_are_kept(tmp_path, capsys):
    log = Log(tmp_path / "run.log")
    log("begins")
    log("ends")
    text = (tmp_path / "run.log").read_text()
    assert [line.split(maxsplit=1)[1] for line in text.splitlines()] == ["begins", "ends"]
    assert capsys.readouterr().err == text
