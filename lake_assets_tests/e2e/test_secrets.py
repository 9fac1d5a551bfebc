"""Everything that a user runs, with marked secrets: the marker is in nothing that was left.

The settings are those of docs/operations.md, filled in, against a real broker and a real registry
with TLS and passwords, and sinks of alerts that do not answer.
"""

import base64
import json
import logging
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.alerts.alert_round import go_round
from lake_assets.alerts.decide import Look
from lake_assets.model.alerts import ProblemKind
from lake_assets.settings.load import child_environment, load_settings
from lake_assets.settings.schema import Settings
from lake_assets.state.files import read_heartbeat
from lake_assets_tests.alerts.problems import problem
from lake_assets_tests.commandline import COMMAND
from lake_assets_tests.services import secured as broker
from lake_assets_tests.services import secured_registry as registry
from lake_assets_tests.services.secured import MARKER, Listener

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]

P = "LAKE_ASSETS_"

OPTIONS, PASSWORD = "KAFKA_OPTIONS", "REGISTRY_PASSWORD"

FEED = """\
feed: games
source: {{kafka: {{topic: {topic}, starting_offsets: earliest}}}}
payload: {{protobuf: {{subject: {topic}-value}}}}
route: {{column: game_name, keys: [chess], unknown: quarantine}}
gold:
  - {{name: player_agg, keys: [gamer_id], measures: {{sessions: count(*)}}}}
"""


def exports() -> dict[str, str]:
    """The variables that docs/operations.md sets for a Kafka of one's own."""
    section = (ROOT / "docs/operations.md").read_text().split("## Your own Kafka\n", 1)[1]
    block = section.split("```sh\n", 1)[1].split("```", 1)[0]
    return dict(re.findall(r"^export (\w+)='?(.*?)'?$", block, re.MULTILINE))


class Shell:
    """Runs commands with secrets in its environment, and keeps what they said."""

    def __init__(self, environment: Mapping[str, str], said: Path) -> None:
        """Keep what is said below the folder `said`."""
        self._environment = dict(environment)
        self._said = said
        said.mkdir(parents=True)

    def but(self, **changes: str | None) -> "Shell":
        """The same with other variables; None takes one away."""
        given = {**self._environment, **{P + name: value for name, value in changes.items()}}
        environment = {name: value for name, value in given.items() if value is not None}
        return Shell(environment, self._said / uuid4().hex[:8])

    def run(self, *words: str) -> tuple[int, str]:
        """Run `lake-assets` to its end: its exit code and all that it said."""
        process = self.start(*COMMAND, *words)
        code = process.wait(timeout=280)
        return code, self.said()

    def start(self, *command: str) -> "subprocess.Popen[bytes]":
        """Start a command."""
        with (self._said / f"{uuid4().hex}.txt").open("wb") as file:
            return subprocess.Popen(  # noqa: S603 - our own commands
                command, env=self._environment, stdout=file, stderr=file, cwd=self._said
            )

    def said(self) -> str:
        """All that was said so far."""
        return "\n".join(file.read_text() for file in self._said.glob("*.txt"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def environment(home, secured, secured_registry) -> dict[str, str]:
    """The documentation's settings, filled in, and all that this test wants beside."""
    topic = f"topic-{uuid4().hex[:8]}"
    feeds = home / "feeds"
    feeds.mkdir()
    (feeds / "games.yaml").write_text(FEED.format(topic=topic))
    options = json.loads(exports()[f"{P}KAFKA_OPTIONS"])
    assert options["sasl.mechanism"] == "SCRAM-SHA-512"
    mine = secured.options(Listener.SCRAM)
    filled = {
        f"{P}KAFKA_BOOTSTRAP_SERVERS": secured.address(Listener.SCRAM),
        f"{P}KAFKA_OPTIONS": json.dumps({name: mine[name] for name in options}),
        f"{P}REGISTRY_URL": secured_registry.url,
        f"{P}REGISTRY_USER": broker.USER,
        f"{P}REGISTRY_PASSWORD": registry.PASSWORD,
        f"{P}REGISTRY_CA": str(secured_registry.authority.file),
    }
    assert exports().keys() == filled.keys()
    events = home / "events"
    events.mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",  # to be searched
    }
    settings = Settings(
        home=home, runtime=load_settings().runtime, feeds=feeds, spark={"conf": conf}
    )
    return {
        **child_environment(settings),
        **filled,
        f"{P}ALERTS_WEBHOOK_URL": f"http://LOCALHOST:1/{MARKER}",
        f"{P}ALERTS_SMTP_HOST": "localhost",
        f"{P}ALERTS_SMTP_PORT": "1",
        f"{P}ALERTS_SMTP_USER": "me",
        f"{P}ALERTS_SMTP_PASSWORD": MARKER,
        f"{P}ALERTS_SMTP_FROM": "lake@example.com",
        f"{P}ALERTS_SMTP_TO": "ops@example.com",
        "DAGSTER_HOME": str(home / "dagster"),
        "SPARK_LOCAL_DIRS": str(home / "spark"),
    }


@pytest.fixture(scope="module")
def shell(home, environment, tmp_path_factory) -> Shell:
    """A shell with all of it: some in variables, some in a file, and some said by a command."""
    (home / "dagster").mkdir()
    (home / "dagster" / "dagster.yaml").write_text((ROOT / "dagster.yaml").read_text())
    secrets = tmp_path_factory.mktemp("secrets")
    given = dict(environment)
    for name in (OPTIONS, PASSWORD):
        (secrets / name).write_text(given.pop(P + name) + "\n")
    given[f"{P}{OPTIONS}_FILE"] = str(secrets / OPTIONS)
    given[f"{P}{PASSWORD}_COMMAND"] = f"cat '{secrets / PASSWORD}'"
    return Shell(given, home / "said")


def traces() -> set[bytes]:
    """The marker as it may be written: also at any place within a Base64 text."""
    coded = {base64.b64encode(b"-" * lead + MARKER.encode())[4:-4] for lead in range(3)}
    return {MARKER.encode(), *coded}


def leaks(folder: Path) -> list[str]:
    """Files with the marker in them."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(file) for file in files if any(one in file.read_bytes() for one in traces())]


def wrong_kafka(environment: Mapping[str, str]) -> str:
    options = json.loads(environment[f"{P}KAFKA_OPTIONS"])
    return json.dumps({**options, "sasl.password": f"{MARKER} wrong"})


@retry(
    retry=retry_if_result(lambda found: not found), stop=stop_after_delay(250), wait=wait_fixed(0.5)
)
def wait_for_reason(lake: Path, reason: str) -> bool:
    beat = read_heartbeat(lake / "_lake_assets")
    return beat is not None and reason in (beat.waiting_for or "")


def end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)


def command_lines(process: "subprocess.Popen[bytes]") -> bytes:
    """Of it and all that it started."""
    started = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    told = []
    for one in started:
        with suppress(psutil.NoSuchProcess):  # short-lived ones end meanwhile, or are zombies
            told.append(" ".join(one.cmdline()))
    assert any("lake_assets" in words for words in told)
    return "\n".join(told).encode()


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_no_secret_is_left_anywhere(home, shell, environment, monkeypatch, caplog):
    for words in (
        ("doctor",),
        ("produce", "--events", "300"),
        ("stream", "--until-caught-up"),
        ("refresh",),
    ):
        code, said = shell.run(*words)
        assert code == 0, said

    login = f"https://{broker.USER}:{quote(registry.PASSWORD, safe='')}@"
    in_url = shell.but(
        REGISTRY_URL=environment[f"{P}REGISTRY_URL"].replace("https://", login),
        REGISTRY_USER=None,
        REGISTRY_PASSWORD_COMMAND=None,
    )
    for words in (("services", "status"), ("produce", "--events", "10")):
        code, said = in_url.run(*words)
        assert code == 0, said

    refused = shell.but(KAFKA_OPTIONS=wrong_kafka(environment), KAFKA_OPTIONS_FILE=None)
    for words in (
        ("doctor",),
        ("produce", "--verbose"),
        ("stream", "--until-caught-up", "--verbose"),
    ):
        code, said = refused.run(*words)
        assert code == 1, said
    assert "refuses the login" in refused.said()

    wrong = f"{MARKER} wrong"
    unknown = shell.but(REGISTRY_PASSWORD=wrong, REGISTRY_PASSWORD_COMMAND=None)
    code, said = unknown.run("produce", "--verbose")
    assert code == 1, said
    assert "refuses us (401)" in said
    waiting = unknown.start(*COMMAND, "stream", "--lake", str(home / "other"))
    wait_for_reason(home / "other", "refuses us (401)")
    (home / "said" / "processes.txt").write_bytes(command_lines(waiting))
    end(waiting)

    job = [sys.executable, "-m", "dagster", "job", "execute", "-m", "lake_assets.definitions"]
    run = refused.but(LAKE=str(home / "third")).start(*job, "-j", "streams")
    wait_for_reason(home / "third", "refuses the login")
    end(run)

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    down = problem("streams", ProblemKind.STREAMS_WAITING, details=refused.said()[-500:])
    done = go_round(
        load_settings(), lambda _: Look(now=1e9, utc_now=1e9, problems=(down,)), logging.getLogger()
    )
    assert done is not None
    (home / "said" / "alerts.txt").write_text("\n".join((*done.complaints, caplog.text)))
    assert searched(home) >= {"events", "said", "dagster", "lake", "other", "third"}
    assert leaks(home) == []


def searched(home: Path) -> set[str]:
    """Folders below the home with something in them; Spark's events are there as text."""
    events = [path for path in (home / "events").rglob("*") if path.is_file()]
    assert any(b"SparkListenerSQLExecutionStart" in path.read_bytes() for path in events)
    return {path.name for path in home.iterdir() if path.is_dir() and any(path.rglob("*"))}


@pytest.mark.parametrize(
    "text",
    [
        f"a {MARKER}",
        base64.b64encode(f"me:{registry.PASSWORD}".encode()).decode(),
        base64.b64encode(f"you:{broker.PASSWORD}".encode()).decode(),
        base64.b64encode(f"they:{broker.PASSWORD}".encode()).decode(),
    ],
)
def test_a_marker_is_found_however_it_is_written(tmp_path, text):
    (tmp_path / "clean").write_text("nothing")
    (tmp_path / "leak").write_text(f"...{text}...")
    assert leaks(tmp_path) == [str(tmp_path / "leak")]
