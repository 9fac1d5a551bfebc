"""Dagster's processes as docker/compose.yaml has them: code server, daemon and webserver.

Each is started again when it ends, as compose's `restart: always` does. The streams are the code
server's child: the supervisor in the daemon starts them. Dagster's storage is SQLite's here.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from faults.kept import Kept
from lake_assets.demo.dagster_dev import free_port

_ROOT = Path(__file__).parents[1]

_WORKSPACE = """
load_from:
  - grpc_server: {{host: 127.0.0.1, port: {port}, location_name: lake_assets}}
"""

CODE_SERVER, DAEMON, WEBSERVER = "code server", "daemon", "webserver"


def dagster_processes(
    folder: Path,
    environment: Mapping[str, str],
    stepped: Mapping[str, str],
    log: Callable[[str], None],
) -> list[Kept]:
    """Those of an instance of its own, in the order in which they are to be started.

    Args:
        folder: for their files.
        environment: of all of them.
        stepped: more of the code server, which streams have of it: the clock that faults step.
            The others keep the machine's: Dagster's daemon waits by the clock of the wall, and
            launches nothing for a day after one that was a day ahead.
        log: told of ends and starts.
    """
    home = folder / "dagster"
    home.mkdir()
    shutil.copy(_ROOT / "dagster.yaml", home)
    code, page = free_port(0), free_port(0)
    workspace = home / "workspace.yaml"
    workspace.write_text(_WORKSPACE.format(port=code))
    own = {**environment, "DAGSTER_HOME": str(home)}
    python = sys.executable
    # Two that make SQLite's tables at once leave some that neither can use.
    subprocess.run(  # noqa: S603 - Dagster's own
        [python, "-m", "dagster", "instance", "info"],
        env=own,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    grpc = [*(python, "-m", "dagster", "api", "grpc", "--module-name", "lake_assets.definitions")]
    grpc += ["--location-name", "lake_assets", "--host", "127.0.0.1", "--port", str(code)]
    commands = {
        CODE_SERVER: ["/bin/sh", str(_ROOT / "docker" / "code-server.sh"), *grpc],
        DAEMON: [python, "-m", "dagster._daemon", "run", "--workspace", str(workspace)],
        WEBSERVER: [
            *(python, "-m", "dagster_webserver", "--host", "127.0.0.1", "--port", str(page)),
            *("--workspace", str(workspace)),
        ],
    }
    more = {CODE_SERVER: stepped}
    return [
        Kept(name, command, {**own, **more.get(name, {})}, folder, log)
        for name, command in commands.items()
    ]
