from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.commit import Commit
from lake_assets.delta.source_offsets import offset_transactions
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import Origin
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.silver.demux_position import POSITION, Position, batch_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.trace import trace
from lake_assets.streams.whereabouts import Whereabouts
from lake_assets_tests.columns import BRONZE, ORIGIN, QUARANTINE
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import GAMES, RENAMED, silver_of

AT = datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC)
TOPIC = "game-stream"


@pytest.fixture
def lake(settings):
    """A bronze table of three commits with two rows each, all of partition 0, then ingested."""
    for first in (0, 2, 4):
        rows = [
            {"topic": TOPIC, "partition": 0, "offset": o, "ingested_at": AT, "ingested_date": AT}
            for o in (first, first + 1)
        ]
        add(
            settings, bronze_of("games"), pa.Table.from_pylist(rows, schema=BRONZE), "ingested_date"
        )
    ingested_until(settings, 6)
    return settings


def add(settings, table, rows, *partition_by):
    path = settings.lake_dir / table.relative
    write_deltalake(path, rows, mode="append", partition_by=list(partition_by) or None)


def ingested_until(settings, offset):
    """Bronze says that ingest takes this offset of partition 0 next."""
    reached = offset_transactions("kafka", {(TOPIC, 0): offset}, {})
    append_nothing(settings, bronze_of("games"), reached, {})


def demuxed_until(settings, offset):
    """Quarantine says that demux takes this offset of partition 0 next."""
    position = Position(number=1, offsets={(TOPIC, 0): offset})
    if not (settings.lake_dir / quarantine_of("games").relative).exists():
        add(settings, quarantine_of("games"), QUARANTINE.empty_table())
    info = {POSITION: position.to_json()}
    append_nothing(settings, quarantine_of("games"), [batch_of("games", 1)], info)


def append_nothing(settings, table, marks, info):
    """A commit that says how far a table is."""
    with open_lake(settings) as context:
        context.committer.append_marked(Commit(table=table, files=(), info=info), marks)


def look(settings, offset, *, partition=0, topic=TOPIC, feed=GAMES, endpoints=None):
    return trace(settings, feed, Origin(topic, partition, offset), endpoints)


def test_in_an_empty_lake_nothing_was_ingested(settings):
    found = look(settings, 0)
    assert (found.whereabouts, found.places) == (Whereabouts.NOT_INGESTED, ())
    assert found.words == "not in bronze: ingest has taken nothing of this partition"


def test_a_message_beyond_ingest_is_not_ingested(lake):
    found = look(lake, 6)
    assert found.whereabouts is Whereabouts.NOT_INGESTED
    assert found.words == "not in bronze: ingest takes offset 6 next"


def test_an_offset_that_ingest_passed_and_bronze_has_not_never_came(lake):
    ingested_until(lake, 9)
    found = look(lake, 7)
    assert found.whereabouts is Whereabouts.PASSED
    assert "the source had no such message" in found.words


@pytest.mark.parametrize(("topic", "partition"), [("other", 0), (TOPIC, 1)])
def test_a_message_of_another_partition_or_topic_is_another(lake, topic, partition):
    assert look(lake, 1, topic=topic, partition=partition).places == ()


def test_a_message_that_demux_has_not_come_to_is_in_bronze_alone(lake):
    demuxed_until(lake, 2)
    found = look(lake, 3)
    (place,) = found.places
    assert found.whereabouts is Whereabouts.BRONZE
    assert (place.table, place.version, place.at) == (bronze_of("games"), 1, AT)
    assert place.file.parent.name == "ingested_date=2026-11-21"


def test_a_message_that_was_demuxed_into_no_table_was_dropped(lake):
    demuxed_until(lake, 4)
    found = look(lake, 3)
    assert found.whereabouts is Whereabouts.DROPPED
    assert found.words.endswith("expectations that drop are gamer_is_known")


def test_if_nothing_drops_a_missing_row_is_not_blamed_on_an_expectation(lake):
    demuxed_until(lake, 4)
    found = look(lake, 3, feed=GAMES.model_copy(update={"expectations": ()}))
    assert found.whereabouts is Whereabouts.DROPPED
    assert "no expectation drops now" in found.words


def test_a_compacted_file_was_demuxed_before(lake):
    demuxed_until(lake, 6)
    DeltaTable(lake.lake_dir / bronze_of("games").relative).optimize.compact()
    found = look(lake, 3)
    assert (found.whereabouts, found.places[0].version) == (Whereabouts.DROPPED, 4)


def test_an_event_is_in_its_games_table(lake):
    demuxed_until(lake, 6)
    for key, offset in (("uno", 3), ("go_fish", 4)):
        row = {"_topic": TOPIC, "_partition": 0, "_offset": offset}
        add(lake, silver_of(key), pa.Table.from_pylist([row], schema=ORIGIN))
    found = look(lake, 4)
    assert found.whereabouts is Whereabouts.SILVER
    assert found.words == "in silver, as an event of go_fish"
    assert [place.table for place in found.places] == [bronze_of("games"), silver_of("go_fish")]


def test_a_refused_message_is_in_quarantine_with_its_reason(lake):
    row = {
        "topic": TOPIC,
        "partition": 0,
        "offset": 5,
        "reason": "unknown_key",
        "detail": "game_name = chess",
        "quarantined_at": AT,
    }
    add(lake, quarantine_of("games"), pa.Table.from_pylist([row], schema=QUARANTINE))
    found = look(lake, 5)
    assert found.whereabouts is Whereabouts.QUARANTINE
    assert found.words == "in quarantine: unknown_key (game_name = chess)"
    assert (found.places[-1].reason, found.places[-1].at) == ("unknown_key", AT)


@pytest.mark.kafka
def test_a_broker_tells_whether_a_message_exists(settings, services):
    topic = Topic(services)
    ((partition, offset),) = topic.produce(b"x")

    def ask(at):
        origin = Origin(topic.name, partition, at)
        return trace(settings, topic.feed(), origin, services)

    assert ask(offset).whereabouts is Whereabouts.NOT_INGESTED
    beyond = ask(offset + 1)
    assert beyond.whereabouts is Whereabouts.NOT_IN_SOURCE
    assert beyond.words == "does not exist yet: the partition ends at offset 1"


def test_a_broker_that_does_not_answer_is_done_without(settings):
    silent = Endpoints(
        kafka="127.0.0.1:1", registry="http://127.0.0.1:1", kafka_options={"no.such": "x"}
    )
    assert look(settings, 0, endpoints=silent).whereabouts is Whereabouts.NOT_INGESTED


def test_a_message_is_found_in_the_table_that_its_feed_names(settings):
    row = {"_topic": TOPIC, "_partition": 0, "_offset": 1}
    silver = pa.Table.from_pylist([row], schema=pa.schema(ORIGIN))
    add(settings, RENAMED.silver_table("uno"), silver)
    (place,) = look(settings, 1, feed=RENAMED).places
    assert (place.table.name, place.key) == ("uno_in_silver", "uno")
    assert look(settings, 1).places == ()
