import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lake_assets.errors import ServiceError
from lake_assets.runtime.java import Java
from lake_assets.services.child import find_all, is_gone
from lake_assets.services.lifecycle import ensure_started, running, stop_service
from lake_assets.services.service import Ports, Service
from lake_assets.services.state import read_state, write_state

JAVA = Java(home=Path("home"), executable=Path("java"), major=17, version="", origin="PATH")

_LISTENS = """
import signal, socket, sys
listening = socket.create_server(("127.0.0.1", int(sys.argv[2])))
signal.pause()
"""


def _service(code: str) -> Service:
    """A service of one port, run by a Python program."""

    def prepare(folder: Path, _java: Java, _jars: tuple[Path, ...], ports: Ports) -> list[str]:
        program = folder / "program"
        program.write_text(f"#!{sys.executable}\n{code}")
        program.chmod(0o755)
        return [str(program), str(ports[0])]

    return Service(
        name="listener", group="kafka", ports=1, prepare=prepare, answers=lambda _port: True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "listener"
    for process in find_all(tmp_path / "listener"):
        process.kill()


def test_a_started_service_listens_and_is_remembered(folder):
    state = ensure_started(_service(_LISTENS), folder, JAVA, ())
    assert state.is_ready
    assert running(folder) == state
    socket.create_connection(("127.0.0.1", state.ports[0])).close()


def test_a_running_service_is_left_alone(folder):
    first = ensure_started(_service(_LISTENS), folder, JAVA, ())
    assert ensure_started(_service(_LISTENS), folder, JAVA, ()) == first


def test_a_service_comes_back_on_its_port(folder):
    first = ensure_started(_service(_LISTENS), folder, JAVA, ())
    stop_service(folder)
    assert running(folder) is None
    assert ensure_started(_service(_LISTENS), folder, JAVA, ()).ports == first.ports


def test_a_new_port_is_none_that_an_outgoing_connection_could_take_meanwhile(folder):
    ephemeral = Path("/proc/sys/net/ipv4/ip_local_port_range")
    lowest = int(ephemeral.read_text().split()[0]) if ephemeral.exists() else 49_152
    assert ensure_started(_service(_LISTENS), folder, JAVA, ()).ports[0] < lowest


def test_each_of_a_services_ports_is_another(folder):
    many = replace(_service(_LISTENS), ports=500)  # of 12,000: drawn one by one, some are the same
    assert len(set(ensure_started(many, folder, JAVA, ()).ports)) == 500


def test_a_service_whose_port_was_taken_gets_another(folder):
    first = ensure_started(_service(_LISTENS), folder, JAVA, ())
    stop_service(folder)
    with socket.create_server(("127.0.0.1", first.ports[0])):
        second = ensure_started(_service(_LISTENS), folder, JAVA, ())
    assert second.ports != first.ports


def test_a_port_lost_while_starting_is_tried_again_elsewhere(folder):
    once = """
import os, sys
if not os.path.exists("tried"):
    open("tried", "w").close()
    sys.exit("java.net.BindException: Address already in use")
"""
    assert ensure_started(_service(once + _LISTENS), folder, JAVA, ()).is_ready


def test_a_killed_service_is_started_again(folder):
    first = ensure_started(_service(_LISTENS), folder, JAVA, ())
    for process in find_all(folder):
        process.kill()
        assert is_gone(process, within_s=10)
    assert running(folder) is None
    second = ensure_started(_service(_LISTENS), folder, JAVA, ())
    assert second.child != first.child


def test_a_stray_that_nobody_recorded_is_replaced(folder):
    first = ensure_started(_service(_LISTENS), folder, JAVA, ())
    (folder / "state.json").unlink()
    second = ensure_started(_service(_LISTENS), folder, JAVA, ())
    assert first.child is not None
    assert second.child is not None
    assert [process.pid for process in find_all(folder)] == [second.child.pid]


def test_one_that_its_starter_left_half_way_is_waited_for(folder):
    state = ensure_started(_service(_LISTENS), folder, JAVA, ())
    write_state(folder, state.model_copy(update={"is_ready": False}))
    assert ensure_started(_service(_LISTENS), folder, JAVA, ()) == state


def test_a_service_that_dies_is_an_error_with_its_log_and_last_words(folder):
    dies = _service("import sys; sys.exit('ERROR no room for me')")
    with pytest.raises(ServiceError, match=r"listener: does not start: ERROR no.*listener\.log"):
        ensure_started(dies, folder, JAVA, ())
    state = read_state(folder)
    assert state is not None
    assert state.child is None


def test_a_program_that_cannot_run_is_an_error_with_its_log(folder):
    def prepare(*_arguments: object) -> list[str]:
        return ["/nowhere/java"]

    missing = Service(
        name="x", group="kafka", ports=1, prepare=prepare, answers=lambda _port: False
    )
    with pytest.raises(ServiceError, match="not found"):
        ensure_started(missing, folder, JAVA, ())


def test_stopping_what_does_not_run_does_nothing(folder):
    folder.mkdir()
    stop_service(folder)
    assert read_state(folder) is None
