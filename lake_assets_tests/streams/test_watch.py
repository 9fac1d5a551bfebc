import logging
import socket
from datetime import UTC, datetime

import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from prometheus_client.parser import text_string_to_metric_families

from lake_assets.metrics.health import FeedStatus, StreamsStatus
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.reports import BatchReport, Span, Stage, ViewFailed, Waiting
from lake_assets.model.sources import Source
from lake_assets.model.tables import bronze_of
from lake_assets.settings.watch import MetricsSettings
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import Change, Entry
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.watch import Watch, waiting_status
from lake_assets_tests.places import t
from lake_assets_tests.sample import GAMES
from lake_assets_tests.sources.files.folders import JSON

NOWHERE = Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")


@pytest.fixture
def lake(settings):
    settings.lake_dir.mkdir(parents=True)
    return settings


def samples(address):
    text = httpx.get(f"{address}/metrics", timeout=30).text
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_first_who_asks_is_told_of_memory_and_disk(lake):
    with Watch(lake, [GAMES], None).serving() as address:
        found = samples(address)
    assert found["lake_assets_memory_bytes", "driver"] > 0
    assert found["lake_assets_disk_size_bytes",] >= found["lake_assets_disk_free_bytes",] > 0
    assert found["lake_assets_start_time_seconds",] > 0


class Counting(Watch):
    """Counts its looks."""

    looks = 0

    def look(self):
        self.looks += 1
        super().look()


def test_nothing_is_measured_while_nobody_asks(lake):
    watch = Counting(lake, [GAMES], None)
    with watch.serving() as address:
        httpx.get(f"{address}/healthz", timeout=30)
        httpx.get(f"{address}/readyz", timeout=30)
        assert watch.looks == 0
        samples(address)
        samples(address)  # a moment later
        assert watch.looks == 1


def test_who_asks_after_an_hour_is_told_what_is_so_now(lake):
    now = [1000.0]
    watch = Counting(lake, [GAMES], None, lambda: now[0])
    with watch.serving() as address:
        samples(address)
        now[0] += 3600  # nobody asked meanwhile
        samples(address)
    assert watch.looks == 2


def test_a_broker_that_is_away_leaves_the_lag_unknown_and_the_rest_told(lake):
    with Watch(lake, [GAMES], NOWHERE).serving() as address:
        found = samples(address)
    assert found["lake_assets_memory_bytes", "driver"] > 0
    assert not [name for name, *_ in found if name == "lake_assets_source_lag_rows"]


def test_files_are_counted_by_state_at_most_once_a_minute(lake, tmp_path):
    source = FilesSource(path=str(tmp_path), format="jsonl")
    feed = Feed(feed="beats", source=Source(files=source), payload=JSON)
    file = Found("a.jsonl", 5, 1)
    index = FileIndex(lake_of(lake), "beats")
    bad = Entry(file=Found("b.jsonl", 5, 1), first=2, lines=1, problem="is none")
    index.add([Entry(file=file, first=0, lines=2), bad])
    now = [1000.0]
    with Watch(lake, [feed], None, lambda: now[0]).serving() as address:
        first = samples(address)
        at = datetime.now(UTC)
        index.add([], [Change(file=file, state=state, noticed_at=at) for state in ("grown",) * 2])
        now[0] += 30
        later = samples(address)
        now[0] += 60
        found = samples(address)
    index.close()

    def states(of):
        counts = {key: n for key, n in of.items() if key[0] == "lake_assets_source_files"}
        return {next(one for one in key[1:] if one != "beats"): n for key, n in counts.items()}

    assert states(first) == states(later) == {"found": 2, "bad": 1, "grown": 0, "rewritten": 0}
    assert states(found) == {"found": 2, "bad": 1, "grown": 2, "rewritten": 0}


def test_a_table_that_cannot_be_read_is_told_of_once_and_the_rest_is_measured(lake, caplog):
    log = lake.lake_dir / bronze_of("games").relative / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("no log")
    other = GAMES.model_copy(update={"feed": "other"})
    write_deltalake(lake.lake_dir / bronze_of("other").relative, pa.table({"value": [b"x"] * 3}))
    watch = Watch(lake, [GAMES, other], None)
    with caplog.at_level(logging.WARNING), watch.serving() as address:
        watch.look()
        found = samples(address)
    assert len([m for m in caplog.messages if m.startswith("metrics are incomplete")]) == 1
    assert [feed for name, *feed in found if name == "lake_assets_demux_lag_rows"] == [["other"]]


def test_a_disk_is_measured_before_the_lake_has_a_folder(settings, caplog):
    with caplog.at_level(logging.WARNING), Watch(settings, [GAMES], None).serving() as address:
        assert samples(address)["lake_assets_disk_size_bytes",] > 0
    assert caplog.messages == []


def test_batches_lags_and_failures_are_told(lake):
    watch = Watch(lake, [GAMES], None)
    watch.batch(
        BatchReport(
            feed="games",
            stage=Stage.INGEST,
            batch_id=1,
            rows={"bronze_games": 10},
            span=Span(query="q", offsets_to=t({0: 10})),
        )
    )
    watch.ends("games", t({0: 15}))
    demuxed = BatchReport(
        feed="games",
        stage=Stage.DEMUX,
        batch_id=1,
        rows={"silver_uno_events": 4},
        span=Span(query="q", version_from=1, version_to=2),
    )
    watch.batch(demuxed)
    watch.lag(demuxed, 6)
    watch.lag(demuxed, None)  # not measured this time
    watch.event(ViewFailed(feed="games", view="player_agg", reason="no such column"))
    watch.event(Waiting(feed="games", stage=Stage.INGEST, reason="no broker"))
    with watch.serving() as address:
        found = samples(address)
    assert found["lake_assets_source_lag_rows", "0", "games", "t"] == 5
    assert found["lake_assets_demux_lag_rows", "games"] == 6
    assert found["lake_assets_view_failures_total", "games", "player_agg"] == 1


def test_health_is_asked_of_the_streams_each_time(lake):
    watch = Watch(lake, [GAMES], None)
    with watch.serving() as address:
        begins = httpx.get(f"{address}/readyz", timeout=30)
        watch.status = lambda: waiting_status([GAMES], "no broker")
        waits = httpx.get(f"{address}/readyz", timeout=30)
        runs = FeedStatus(is_running=True, quiet_s=0.1)
        watch.status = lambda: StreamsStatus(is_running=True, feeds={"games": runs})
        ready = httpx.get(f"{address}/readyz", timeout=30)
    assert begins.json()["problems"] == {"games": "it has not begun yet"}
    assert waits.json()["problems"] == {"games": "it waits: no broker"}
    assert (ready.status_code, ready.json()["ok"]) == (200, True)


def test_a_taken_port_stops_no_streams(lake):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        own = lake.model_copy(update={"metrics": MetricsSettings(port=port)})
        with Watch(own, [GAMES], None).serving() as address:
            assert address is None
