import json

import pytest
from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families

from lake_assets.errors import StreamsLockedError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.tables import QUALITY_LOG, STREAM_LOG
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked, read_heartbeat, streams_lock
from lake_assets.streams.log_thread import spool_folder
from lake_assets.streams.run import stream_events
from lake_assets_tests.events import Topic
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES

# Streams that find no topic, then a topic with rows, and then are told to stop.
_JOURNEY = """
import json, os, sys
import httpx
import psutil
from lake_assets.state.files import is_locked, read_heartbeat
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.reports import BatchReport, Stage, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.streams.run import stream_events
from lake_assets_tests.events import Topic, framed

settings = Settings.model_validate_json(sys.argv[1])
topic = Topic(Endpoints(kafka=sys.argv[2], registry=sys.argv[3]), sys.argv[4])
said = {"waited": [], "rows": [], "batches": {}, "beats": []}
events = stream_events(settings, [topic.feed()], topic.endpoints, owner="a test")
known = topic.register(0)
for event in events:
    beat = read_heartbeat(settings.state_dir)
    said["beats"].append((beat.pid == os.getpid(), beat.owner))
    if isinstance(event, Waiting) and not said["waited"]:
        said["waited"].append(event.reason)
        ready = httpx.get(f"{beat.metrics}/readyz", timeout=30)
        said["not_ready"] = (ready.status_code, ready.json()["problems"])
        said["live"] = httpx.get(f"{beat.metrics}/healthz", timeout=30).status_code
        topic.produce(framed(known))
    if isinstance(event, BatchReport):
        said["rows"].append((event.stage, dict(event.rows)))
        said["batches"][event.stage] = event.batch_id
        if event.stage is Stage.DEMUX:
            said["metrics"] = httpx.get(f"{beat.metrics}/metrics", timeout=30).text
            ready = httpx.get(f"{beat.metrics}/readyz", timeout=30)
            said["ready"] = (ready.status_code, ready.json())
            break
said["locked"] = is_locked(settings.state_dir)
events.close()
said["locked_after"] = is_locked(settings.state_dir)
said["beats"] = sorted(set(said["beats"]))
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def said(services, home):
    arguments = (json.dumps({"home": str(home)}), services.kafka, services.registry)
    return json.loads(run_program(_JOURNEY, [*arguments, Topic(services).name]))


@pytest.mark.spark
@pytest.mark.kafka
def test_a_topic_that_is_not_there_yet_is_waited_for(said):
    (reason,) = said["waited"]
    assert "does not exist" in reason


@pytest.mark.spark
@pytest.mark.kafka
def test_batches_are_reported_as_they_are_committed(said):
    assert said["rows"] == [
        ["ingest", {"bronze_games": 1}],
        ["demux", {"silver_uno_events": 1}],
    ]


@pytest.mark.spark
@pytest.mark.kafka
def test_batches_are_in_the_logs_when_the_streams_have_ended(home, said):
    settings = Settings(home=home)

    def rows(table, *columns):
        found = DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table(
            columns=list(columns)
        )
        return sorted(found.to_pylist(), key=str)

    both = {"rows": 1, "files": 1, "lag_rows": 0}
    logged = rows(STREAM_LOG, "stage", "batch", "rows", "files", "lag_rows")
    assert said["batches"] == {"ingest": 2, "demux": 1}  # the first recorded where it begins
    assert logged == [
        {"stage": "demux", "batch": said["batches"]["demux"], **both},
        {"stage": "ingest", "batch": said["batches"]["ingest"], **both},
    ]
    judged = rows(QUALITY_LOG, "expectation", "key", "action", "seen", "violated")
    seen = {"key": "uno", "seen": 1, "violated": 0}
    assert judged == [
        {"expectation": "device_is_known", "action": "warn"} | seen,
        {"expectation": "gamer_is_known", "action": "drop"} | seen,
    ]
    assert not list(spool_folder(settings).glob("*"))


@pytest.mark.spark
@pytest.mark.kafka
def test_the_heartbeat_is_this_processs_and_names_its_owner(said):
    assert said["beats"] == [[True, "a test"]]


@pytest.mark.spark
@pytest.mark.kafka
def test_the_lock_is_held_until_the_events_are_closed(said):
    assert (said["locked"], said["locked_after"]) == (True, False)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.usefixtures("said")
def test_the_last_heartbeat_stays_readable_after_the_end(home):
    beat = read_heartbeat(Settings(home=home).state_dir)
    assert beat
    assert beat.waiting_for is None


@pytest.mark.spark
@pytest.mark.kafka
def test_health_follows_the_streams(said):
    assert said["live"] == 200
    status, problems = said["not_ready"]
    assert status == 503
    assert "does not exist" in problems["games"]
    assert said["ready"] == [200, {"ok": True, "problems": {}}]


@pytest.mark.spark
@pytest.mark.kafka
def test_metrics_tell_what_the_streams_have_done(said):
    of_name = {
        (sample.name.removeprefix("lake_assets_"), *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(said["metrics"])
        for sample in family.samples
    }
    assert of_name["rows_total", "bronze", "games", "ingest"] == 1
    assert of_name["rows_total", "demux", "games", "silver"] == 1
    assert of_name["commits_total", "demux", "games"] == 2
    lags = {name: lag for name, lag in of_name.items() if name[0] == "source_lag_rows"}
    assert lags
    assert set(lags.values()) == {0}
    assert of_name["demux_lag_rows", "games"] == 0
    for role in ("driver", "jvm", "python_workers"):
        assert of_name["memory_bytes", role] > 1_000_000
    assert of_name[("disk_free_bytes",)] > 0


def test_streams_do_not_run_beside_others(settings):
    endpoints = Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")
    events = stream_events(settings, [GAMES], endpoints, owner="a test")
    with streams_lock(settings.state_dir), pytest.raises(StreamsLockedError):
        next(events)
    assert not is_locked(settings.state_dir)
