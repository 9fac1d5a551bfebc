import time

import pytest
from confluent_kafka import Producer
from deltalake import write_deltalake

from lake_assets.alerts.forecast_facts import horizon_of, look_ahead
from lake_assets.alerts.forecasts import Deletion, Offsets, Unread, judge_forecasts
from lake_assets.delta.commit import Commit
from lake_assets.delta.source_offsets import offset_transactions
from lake_assets.logs.write import append
from lake_assets.model.alerts import ProblemKind
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sources import Source
from lake_assets.model.tables import STREAM_LOG, bronze_of
from lake_assets.sources.kafka.topics import client_config
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.columns import BRONZE
from lake_assets_tests.events import Topic
from lake_assets_tests.logs.test_durations import entry
from lake_assets_tests.sample import GAMES
from lake_assets_tests.sources.kinesis.streams import KEYS, land, running_kinesis

NOWHERE = Endpoints(kafka="localhost:1", registry="")
WEEK_S = 7 * 86_400
HOUR = 3_600.0


def look(settings, feed, endpoints, now, every_s=None):
    return look_ahead(
        settings, [feed], endpoints, every_s or {}, boot="b", now=now, utc_now=time.time()
    )


def ingested_until(settings, topic, offset):
    """A bronze table that says that ingest takes this offset of partition 0 next."""
    write_deltalake(settings.lake_dir / bronze_of("games").relative, BRONZE.empty_table())
    reached = offset_transactions("kafka", {(topic, 0): offset}, {})
    with open_lake(settings) as context:
        commit = Commit(table=bronze_of("games"), files=())
        context.committer.append_marked(commit, reached)


def test_a_look_is_taken_each_minute_and_samples_are_kept(settings):
    assert look(settings, GAMES, None, 10).samples[-1].free_bytes > 0
    assert look(settings, GAMES, None, 69) is None
    assert [one.at for one in look(settings, GAMES, None, 70).samples] == [10, 70]


def test_a_broker_that_does_not_answer_is_left_out(settings):
    ingested_until(settings, GAMES.source.kafka.names[0], 3)
    (sample,) = look(settings, GAMES, NOWHERE, 10).samples
    assert sample.feeds == {}


def test_refreshes_are_remembered_beyond_the_files_that_are_read(settings):
    at = time.time()
    pace = {"games.top": 60.0}
    with open_lake(settings) as context:
        append(context, [entry("refresh", "top", at - n, s) for n, s in ((3, 90.0), (2, 50.0))])
    assert look(settings, GAMES, None, 10, pace).refreshes["games.top"].seconds == 70.0
    with open_lake(settings) as context:
        append(context, [entry("refresh", "top", at, 55.0)])
    facts = look(settings, GAMES, None, 70, pace)
    assert (facts.refreshes["games.top"].seconds, facts.refreshes["games.top"].every_s) == (55, 60)
    with open_lake(settings) as context:
        context.committer.delete(STREAM_LOG, "true")
    assert look(settings, GAMES, None, 130, pace).refreshes["games.top"].seconds == 55


@pytest.mark.kafka
def test_rows_that_a_topic_will_delete_unread_are_forecast(services, settings):
    topic = Topic(services)
    topic.create(**{"retention.ms": str(WEEK_S * 1000)})
    producer = Producer(client_config(services))
    for age_s in (*[WEEK_S - HOUR] * 6, *[60] * 4):  # six go within an hour
        producer.produce(topic.name, b"x", timestamp=round((time.time() - age_s) * 1000))
    assert producer.flush(30) == 0
    ingested_until(settings, topic.name, 1)
    first = look(settings, topic.feed(), services, 10)
    assert first.samples[-1].feeds == {
        "games": {f"{topic.name}/0": Offsets(begin=0, reached=1, end=10)}
    }
    assert first.deletions == {"games": {f"{topic.name}/0": Deletion(young=6)}}
    facts = look(settings, topic.feed(), services, 400)
    (problem,) = judge_forecasts(facts, set(), horizon_of(settings))
    assert (problem.kind, problem.subject) == (ProblemKind.RETENTION_NEAR, "games")
    assert "deletes about 5 rows before they are read" in problem.details


def test_records_that_a_stream_will_delete_unread_are_forecast(settings, monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value.get_secret_value())
    with running_kinesis() as made:
        stream = made().create()
        source = stream.source()
        feed = GAMES.model_copy(update={"source": Source(kinesis=source)})
        assert look(settings, feed, None, 10).unread == {}
        land(source, lake_of(settings), feed="games")
        stream.forward(hours=20)
        facts = look(settings, feed, None, 100)
        (problem,) = judge_forecasts(facts, set(), horizon_of(settings))
        stream.client.delete_stream(StreamName=stream.name)
        assert look(settings, feed, None, 200).unread == {}
    told = facts.unread["games"]
    assert told == Unread(for_s=pytest.approx(20 * HOUR, abs=60), kept_s=24 * HOUR)
    assert (problem.kind, problem.subject) == (ProblemKind.RETENTION_NEAR, "games")
    assert "deletes them unread in 4.0 h" in problem.details
