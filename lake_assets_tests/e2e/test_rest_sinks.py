"""REST sinks from a real broker to a real API, by commands in a shell; and by a kill."""

import json
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import Layer
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import COMMAND, lake_assets_here
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic
from lake_assets_tests.sinks.lakes import recorded
from lake_assets_tests.sinks.rest.api import running_api

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "rest-sinks.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def world(settings, services, folder, text, *values):
    """The page's feed, or one like it, in a lake of its own."""
    topic = Topic(services)
    topic.produce(*values)
    folder.mkdir()
    (folder / "plays.yaml").write_text(text.replace("topic: plays", f"topic: {topic.name}"))
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    made = settings.model_copy(update={"feeds": folder, "kafka": kafka})
    (feed,) = load_feeds(folder)
    return made, feed, topic


def test_the_example_of_the_page_does_what_the_page_says(settings, services, tmp_path, monkeypatch):
    (program,), (text,) = blocks("python"), blocks("yaml")
    values = [line.encode() for line in blocks("json")[0].splitlines()]
    monkeypatch.setenv("SESSIONS_TOKEN", "a-token-of-the-test")
    api = subprocess.Popen(  # noqa: S603 - the page's own program
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        made, feed, _ = world(settings, services, tmp_path / "feeds", text, *values)
        done = lake_assets_here(made, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
        again = lake_assets_here(made, "deliver", "--sink", "sessions")
        assert "0 rows in 0 calls" in again.stdout
    finally:
        api.kill()
        printed, _ = api.communicate()
    lines = printed.decode().splitlines()
    rows = [row for line in lines for row in json.loads(line.partition("[")[2].join(["[", ""]))]
    (shown,) = re.findall(r"^Bearer … .* (\[.*\])$", PAGE, re.MULTILINE)
    assert sorted(rows, key=str) == sorted(json.loads(shown), key=str)
    assert all(line.startswith("Bearer a-token-of-the-test ") for line in lines)
    assert [row["delivered"] for row in recorded(made, feed)] == [True, True]


FEED = """
feed: plays
source: {{kafka: {{topic: plays}}}}
payload: {{json: {{schema: "player string"}}}}
sinks:
  - name: api
    from: silver
    select: {{who: player}}
    rest: {{url: "{url}/sessions", rows_per_call: 3, calls_in_flight: 2, timeout: 30s,
           allow_private: true}}
"""


def wait_beside(streams, condition):
    """Wait until a condition holds, while streams live."""
    wait_for(lambda: streams.poll() is not None or condition(), "calls", within_s=300)
    assert streams.poll() is None


def killed_after(calls, api, made, command):
    """Run a command, and kill it once the API was called so often."""
    process = subprocess.Popen(  # noqa: S603 - our own command line
        [*COMMAND, command],
        env=child_environment(made),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_beside(process, lambda: len(api.calls()) >= calls)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def has_rows(api, count):
    return sum(len(json.loads(call["body"])) for call in api.calls()) >= count


def test_a_kill_between_calls_and_their_record_repeats_them_under_their_keys(
    settings, services, tmp_path
):
    values = [json.dumps({"player": f"p{number}"}).encode() for number in range(20)]
    with running_api(tmp_path) as api:
        text = FEED.format(url=api.url)
        made, feed, topic = world(settings, services, tmp_path / "feeds", text, *values)
        # Some are answered, the others never: nothing of them is recorded yet.
        api.script(*[{}] * 4, always={"kind": "hang", "seconds": 60})
        killed_after(6, api, made, "stream")
        before = api.calls()
        assert recorded(made, feed) == []
        api.script()
        topic.produce(b'{"player": "late"}')
        done = lake_assets_here(made, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
        after = api.calls()[len(before) :]
    known = {call["headers"]["idempotency-key"]: call["body"] for call in after}
    for call in before:
        assert known[call["headers"]["idempotency-key"]] == call["body"]
    sent = [row["who"] for call in after for row in json.loads(call["body"])]
    assert sorted(sent) == sorted([*(f"p{number}" for number in range(20)), "late"])
    assert {row["table"] for row in recorded(made, feed)} == {f"{Layer.SILVER}/silver_plays_events"}


@pytest.mark.long
def test_dead_letters_are_sent_again_and_a_kill_repeats_calls_under_their_keys(
    settings, services, tmp_path
):
    values = [json.dumps({"player": f"p{number}"}).encode() for number in range(20)]
    with running_api(tmp_path) as api:
        text = FEED.format(url=api.url)
        made, feed, _ = world(settings, services, tmp_path / "feeds", text, *values)
        api.script(always={"status": 422})
        done = lake_assets_here(made, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
        refused = api.calls()
        api.script(*[{}] * 3, always={"kind": "hang", "seconds": 60})
        killed_after(len(refused) + 5, api, made, "redeliver")
        cut_off = api.calls()[len(refused) :]
        api.script()
        done = lake_assets_here(made, "redeliver", "--sink", "api")
        assert done.returncode == 0, done.stderr
        after = api.calls()[len(refused) + len(cut_off) :]
        assert "0 rows in 0 calls" in lake_assets_here(made, "redeliver").stdout
    told = {call["headers"]["idempotency-key"]: call["body"] for call in refused}
    for call in (*cut_off, *after):
        assert told[call["headers"]["idempotency-key"]] == call["body"]
    answered = {call["headers"]["idempotency-key"] for call in (*cut_off[:3], *after)}
    assert answered == told.keys()
    assert [row["delivered"] for row in recorded(made, feed)] == [True] * 20


@pytest.mark.long
def test_a_dead_api_keeps_back_its_own_rows_only(settings, services, tmp_path):
    values = [json.dumps({"player": f"p{number}"}).encode() for number in range(5)]
    with running_api(tmp_path) as api:
        dead = FEED.format(url="http://127.0.0.1:9").replace("name: api", "name: dead")
        sink = dead.partition("sinks:\n")[2]
        text = FEED.format(url=api.url) + sink.replace("30s", "1s")
        made, _, topic = world(settings, services, tmp_path / "feeds", text, *values)
        streams = subprocess.Popen(  # noqa: S603 - our own command line
            [*COMMAND, "stream"], env=child_environment(made), stderr=subprocess.PIPE, text=True
        )
        try:
            for wanted in (5, 6):
                wait_beside(streams, partial(has_rows, api, wanted))
                topic.produce(b'{"player": "late"}')
        finally:
            streams.send_signal(signal.SIGTERM)
            _, told = streams.communicate(timeout=120)
    assert streams.returncode == 0, told
