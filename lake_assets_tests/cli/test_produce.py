import signal
import subprocess
from uuid import uuid4

import pytest

from lake_assets.runtime.command_line import command_line
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.sources.kafka.topics import end_offsets
from lake_assets_tests.commandline import lake_assets, sparkless_here


@pytest.fixture
def topic() -> str:
    return f"cli-{uuid4().hex[:8]}"


@pytest.fixture
def fed(connected, topic) -> Settings:
    """Settings with a feed whose topic is this test's own."""
    folder = connected.home / "feeds"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        f"feed: mine\nsource: {{kafka: {{topic: {topic}}}}}\n"
        f"payload: {{protobuf: {{subject: {topic}-value}}}}\n"
        "route: {column: game_name, unknown: create}\n"
    )
    return Settings(**{**dict(connected), "feeds": folder})


@pytest.mark.kafka
def test_events_go_to_the_feeds_topic(fed, services, topic):
    done = lake_assets(
        fed, "produce", "--feed", "mine", "--events", "500", "--key", "a", "--key", "b"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"500 events to topic {topic} in ")
    assert sum(end_offsets(services, topic).values()) == 500


@pytest.mark.kafka
def test_ctrl_c_ends_an_endless_run_and_delivers(fed, services, topic):
    arguments = ["--feed", "mine", "--rate", "100", "--key", "a"]
    with subprocess.Popen(  # noqa: S603 our own command line
        command_line("produce", *arguments),
        env=child_environment(fed),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        while not _has_rows(services, topic):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    delivered = sum(end_offsets(services, topic).values())
    assert (process.returncode, printed.split()[0]) == (0, f"{delivered:,}")


def _has_rows(services, topic) -> bool:
    from lake_assets.errors import SourceError

    try:
        return sum(end_offsets(services, topic).values()) > 0
    except SourceError:
        return False


@pytest.mark.kafka
def test_a_feed_without_keys_needs_games(fed):
    done = lake_assets(fed, "produce", "--feed", "mine")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Name some with --key" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--key", "a", "--key", "../x"], "error: --key: '../x' cannot name a table."),
        (["--key", ""], "error: --key: '' cannot name a table."),
        (["--feed", "nope"], "error: feed 'nope': is not declared. Use one of: games"),
        (["--events", "1"], "error: embedded"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(settings, arguments, problem):
    done = sparkless_here(settings, "produce", *arguments)
    assert (done.returncode, done.stdout) == (2 if "--key" in problem else 1, "")
    assert done.stderr.startswith(problem)
    assert len(done.stderr.splitlines()) == 1
