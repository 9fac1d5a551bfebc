import json
import subprocess
import sys
from importlib.metadata import version

from lake_assets.settings.load import child_environment
from lake_assets_tests.commandline import lake_assets

INTERRUPTED = """
import os, signal, sys

class Finder:
    is_over = False

    def find_spec(self, name, *_):
        if name == "lake_assets.cli.main" and not self.is_over:
            self.is_over = True
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests may ignore it
sys.meta_path.insert(0, Finder())
from lake_assets.__main__ import run
run()
"""


def test_the_package_runs_as_the_command(settings):
    done = lake_assets(settings, "--version")
    assert done.stdout == f"lake-assets {version('lake-assets')}\n"


def test_ctrl_c_while_the_command_line_is_imported_is_no_trace(settings):
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", INTERRUPTED, "tables", "--json"],
        env=child_environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "")
    assert json.loads(done.stdout)["problems"][0]["fact"] == "was interrupted (Ctrl-C)"
