from uuid import uuid4

import psutil
import pytest
import yaml
from dagster._grpc.client import DagsterGrpcClient

from faults.dagster_processes import CODE_SERVER, DAEMON, WEBSERVER, dagster_processes
from faults.process_table import by_role, end_all
from faults.stack import environment_of
from lake_assets_tests.e2e.dev import wait_for

STEPPED = {"A_CLOCK": "of its own"}


@pytest.fixture
def run():
    mark = uuid4().hex
    yield mark
    end_all(mark)


@pytest.fixture
def kept(settings, tmp_path, run):
    said = []
    made = dagster_processes(tmp_path, environment_of(settings, run), STEPPED, said.append)
    yield made
    for one in made:
        one.kill()
    assert said == []  # none was started again


def test_the_code_server_has_our_code_where_the_workspace_says_and_ends_with_its_shell(
    kept, run, tmp_path
):
    assert [one.name for one in kept] == [CODE_SERVER, DAEMON, WEBSERVER]
    (location,) = yaml.safe_load((tmp_path / "dagster" / "workspace.yaml").read_text())["load_from"]
    told = location["grpc_server"]
    kept[0].start()
    wait_for(lambda: is_listening(told["port"]), "the code server", within_s=120)
    said = DagsterGrpcClient(host=told["host"], port=told["port"]).list_repositories()
    assert "lake_assets.definitions" in said
    (server,) = by_role(run)[CODE_SERVER]
    assert STEPPED.items() <= psutil.Process(server).environ().items()
    kept[0].end(within_s=60)
    assert not psutil.pid_exists(server)


def is_listening(port):
    found = psutil.net_connections("tcp")
    return any(one.laddr.port == port and one.status == psutil.CONN_LISTEN for one in found)
