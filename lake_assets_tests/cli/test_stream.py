import signal
import subprocess
from contextlib import ExitStack

import pytest

from lake_assets.model.reports import Stage
from lake_assets.settings.load import child_environment
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.state.files import streams_lock
from lake_assets.streams.batch_attempts import BatchAttempts
from lake_assets.streams.skip_request import is_released, request_file
from lake_assets_tests.commandline import COMMAND, lake_assets_here, sparkless_here
from lake_assets_tests.sample import GAMES


def _error_of(done):
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_without_services_it_says_how_to_start_them(settings):
    assert "lake-assets services up" in _error_of(sparkless_here(settings, "stream"))


def test_a_lake_that_another_process_streams_into_is_refused(settings):
    own = settings.model_copy(
        update={
            "kafka": settings.kafka.model_copy(update={"bootstrap_servers": "127.0.0.1:1"}),
            "registry": settings.registry.model_copy(update={"url": "http://127.0.0.1:1"}),
        }
    )
    with streams_lock(own.state_dir):
        assert "already running for this lake" in _error_of(sparkless_here(own, "stream"))


def fail_at_a_batch(settings):
    batch = BatchRange(begin="3", end="9", words="versions 3 to 9 of bronze_games")
    attempts = BatchAttempts(state_dir=settings.state_dir, feed="games", stage=Stage.DEMUX)
    with pytest.raises(ValueError, match="no"), attempts.attempt(batch):
        raise ValueError("no")


@pytest.mark.parametrize("option", ["--skip-batch", "--retry-batch"])
def test_where_no_batch_failed_there_is_none_to_skip_or_to_try_again(settings, option):
    told = "feed 'games': has no batch that failed last"
    assert told in _error_of(sparkless_here(settings, "stream", option, "games"))


def test_a_feed_that_is_not_there_has_no_batch(settings):
    assert "nogames" in _error_of(sparkless_here(settings, "stream", "--skip-batch", "nogames"))


@pytest.mark.parametrize("are_running", [True, False])
def test_the_next_run_of_a_feed_with_a_schedule_skips_its_batch_and_no_streams_begin(
    settings, tmp_path, are_running
):
    folder = tmp_path / "scheduled"
    folder.mkdir()
    text = (settings.feeds / "games.yaml").read_text()
    (folder / "games.yaml").write_text(f'run: "0 * * * *"\n{text}')
    fail_at_a_batch(settings)
    with ExitStack() as stack:
        if are_running:
            stack.enter_context(streams_lock(settings.state_dir))
        scheduled = settings.model_copy(update={"feeds": folder})
        done = sparkless_here(scheduled, "stream", "--skip-batch", "games")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "games: versions 3 to 9 of bronze_games will be skipped",
        "games: its next run does it; `--feed games --until-caught-up` runs it now",
    ]
    assert request_file(settings.state_dir, GAMES, Stage.DEMUX).read_text() == "3"


def test_a_feed_that_is_not_there_is_not_run(settings):
    done = sparkless_here(settings, "stream", "--feed", "nogames", "--until-caught-up")
    assert "feed 'nogames': is not declared" in _error_of(done)


def test_streams_that_run_are_asked_to_skip_the_batch_and_no_others_begin(settings):
    fail_at_a_batch(settings)
    with streams_lock(settings.state_dir):
        done = sparkless_here(settings, "stream", "--skip-batch", "games")
    assert done.returncode == 0, done.stderr
    assert "games: versions 3 to 9 of bronze_games will be skipped" in done.stderr
    assert request_file(settings.state_dir, GAMES, Stage.DEMUX).read_text() == "3"


def test_streams_that_run_are_asked_to_try_the_batch_again(settings):
    fail_at_a_batch(settings)
    with streams_lock(settings.state_dir):
        done = sparkless_here(settings, "stream", "--retry-batch", "games")
    assert "games: versions 3 to 9 of bronze_games will be tried again" in done.stderr
    assert is_released(settings.state_dir, GAMES, Stage.DEMUX)


@pytest.mark.kafka
@pytest.mark.spark
def test_a_missing_topic_ends_a_run_that_must_catch_up(connected, tmp_path):
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    (feeds / "games.yaml").write_text(
        "feed: games\n"
        "source: {kafka: {topic: no-such-topic}}\n"
        "payload: {protobuf: {subject: no-such-topic-value}}\n"
        "route: {column: game_name, keys: [uno]}\n"
    )
    lost = connected.model_copy(update={"feeds": feeds})
    done = lake_assets_here(lost, "stream", "--until-caught-up")
    assert done.returncode == 1
    assert "topic 'no-such-topic': does not exist" in done.stderr.splitlines()[-1]


@pytest.mark.spark
@pytest.mark.slow
def test_a_broker_that_is_away_is_waited_for_until_ctrl_c(settings):
    away = settings.model_copy(
        update={
            "kafka": settings.kafka.model_copy(update={"bootstrap_servers": "127.0.0.1:1"}),
            "registry": settings.registry.model_copy(update={"url": "http://127.0.0.1:1"}),
        }
    )
    with subprocess.Popen(  # noqa: S603 - our own command line
        [*COMMAND, "stream"],
        env=child_environment(away),
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as process:
        assert process.stderr
        lines = iter(process.stderr)
        assert any(line.startswith("waiting: Kafka at 127.0.0.1:1") for line in lines)
        process.send_signal(signal.SIGINT)
        rest = list(lines)
    assert process.returncode == 0
    assert any(line.startswith("stopping") for line in rest)
