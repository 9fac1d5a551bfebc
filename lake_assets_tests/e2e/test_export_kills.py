"""Exports that are killed, and a reader that takes files away as soon as it sees them."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from lake_assets.runtime.command_line import command_line
from lake_assets.settings.load import child_environment
from lake_assets_tests.commandline import sparkless_here
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.export import dying
from lake_assets_tests.export.topics import counted, export, fill, numbers, range_of, visible

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def topic(services):
    made = Topic(services)
    made.create(1)
    return made


def take_away(folder, archive):
    """As a feed does that archives; a name that comes again is a file that it does not read."""
    archive.mkdir(exist_ok=True)
    for path in visible(folder):
        assert not (archive / path.name).exists()
        path.rename(archive / path.name)


def hidden(folder):
    return sorted(path.name for path in folder.iterdir() if path.name[0] == ".")


@pytest.mark.long
def test_a_kill_at_any_step_loses_nothing_and_doubles_nothing(topic, connected, tmp_path):
    fill(topic, *numbers(0, 15))
    for last in range(1, 100):
        folder = tmp_path / f"{last}"
        given = (topic.endpoints.kafka, topic.name, str(folder), str(last))
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, dying.__file__, *given],
            env=child_environment(connected) | {"PYTHONPATH": ":".join(filter(None, sys.path))},
            check=False,
        )
        if not done.returncode:
            break
        assert done.returncode == -signal.SIGKILL
        # More comes meanwhile: what was not counted is another range of offsets now.
        fill(topic, *(numbers(15, 17) if last == 1 else ()))
        read, archive = tmp_path / f"{last}-read", tmp_path / f"{last}-archive"
        shutil.copytree(folder, read)
        take_away(read, archive)
        export(topic, read)
        assert counted(archive) + counted(read) == range_of(0, 17)
        export(topic, folder)
        assert counted(folder) == range_of(0, 17)
        left = [f".{topic.name}.export.json", f".{topic.name}.export.lock"]
        assert hidden(folder) == hidden(read) == left
    assert last > 8


def test_kills_of_the_command_lose_nothing_and_double_nothing(topic, connected, tmp_path):
    fill(topic, *numbers(0, 20_000))
    folder, archive = tmp_path / "out", tmp_path / "archive"
    arguments = ("export", "--topic", topic.name, "--to", str(folder), "--rows-per-file", "20")
    record, chance = folder / f".{topic.name}.export.json", random.Random(7)  # noqa: S311 - no secret
    for _ in range(4):
        before = record.read_bytes() if record.exists() else b""
        with subprocess.Popen(  # noqa: S603 - our own command line
            command_line(*arguments),
            env=child_environment(connected),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:

            def has_moved(before: bytes = before) -> bool:
                return (record.read_bytes() if record.exists() else b"") != before

            wait_for(has_moved, "the first file", within_s=120)
            time.sleep(chance.uniform(0, 0.5))  # so that it dies at any moment of its way
            process.kill()
        assert process.returncode == -signal.SIGKILL
        take_away(folder, archive)
    taken = counted(archive)
    assert Counter() < taken < range_of(0, 20_000)
    done = sparkless_here(connected, *arguments[:5], "--json")
    assert done.returncode == 0, done.stderr
    assert taken + counted(folder) == range_of(0, 20_000)
