"""Several topics through one bronze: each row once, whatever becomes of the topics meanwhile."""

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.cimpl import NewPartitions
from deltalake import DeltaTable

from lake_assets.errors import SourceNotFoundError, StreamError
from lake_assets.feeds.load import load_feeds
from lake_assets.logs.gaps import recorded_gaps
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import bronze_of
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.e2e.test_gaps import FedLake
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]


class Topics(FedLake):
    """A lake of a feed that reads several topics, which tests call by a letter."""

    def __init__(self, spark, settings, services):
        self.prefix = f"game-{uuid4().hex[:8]}"
        super().__init__(spark, settings, Topic(services, f"{self.prefix}-a"))

    def of(self, letter):
        return Topic(self.topic.endpoints, f"{self.prefix}-{letter}")

    def reading(self, letters, **source):
        """The feed, of these topics, or of all by a pattern."""
        topics = [self.of(letter).name for letter in letters] if letters else f"{self.prefix}-.*"
        declared = Source(kafka=KafkaSource(topics=topics, **source))
        feed = self.topic.feed(source=declared)
        return feed.model_copy(update={"trigger": timedelta(milliseconds=500)})

    def write(self, letter, count):
        """Rows of a topic; letter, partition and offset of each."""
        places = self.of(letter).produce(*[framed(self.known)] * count)
        return Counter((letter, *place) for place in places)

    def found(self, table, prefix=""):
        folder = self.path(table)
        if not (folder / "_delta_log").exists():
            return Counter()
        rows = DeltaTable(folder).to_pyarrow_table()
        letters = [name[-1] for name in rows[f"{prefix}topic"].to_pylist()]
        columns = (rows[f"{prefix}{name}"].to_pylist() for name in ("partition", "offset"))
        return Counter(zip(letters, *columns, strict=True))

    @property
    def bronze(self):
        return self.found(bronze_of("games"))

    @property
    def silver(self):
        return self.found(silver_of("uno"), "_")

    def path(self, table):
        return self.settings.lake_dir / table.relative

    def has_begun(self):
        """Whether bronze records where the feed begins."""
        return (self.path(bronze_of("games")) / "_delta_log" / f"{1:020}.json").exists()

    def widen_topic(self, letter, partitions):
        (answer,) = self.admin.create_partitions(
            [NewPartitions(self.of(letter).name, partitions)]
        ).values()
        answer.result()

    @property
    def passed_over(self):
        """By topic, how many offsets are in gaps."""
        found = Counter()
        for recorded in recorded_gaps(lake_of(self.settings), "games"):
            gap = recorded.gap
            found[gap.source[-1]] += gap.offset_to - gap.offset_from
        return found


PAGE = Path(__file__).parents[2] / "docs" / "topics.md"


@pytest.fixture
def lake(spark, services, settings):
    return Topics(spark, settings, services)


def test_topics_are_added_and_taken_out_between_starts_and_each_row_comes_once(lake):
    made = lake.write("a", 10) + lake.write("b", 7)
    assert lake.catch_up(lake.topic.feed()) is None  # `topic: a`, as a lake of before has it
    assert lake.bronze == lake.silver == Counter({p: 1 for p in made if p[0] == "a"})
    assert lake.catch_up(lake.reading("ab")) is None
    assert lake.bronze == lake.silver == made
    made += lake.write("a", 5) + lake.write("b", 5)
    assert lake.catch_up(lake.reading("b")) is None
    assert len(lake.silver) == 22
    made += lake.write("b", 3) + lake.write("c", 4)
    assert lake.catch_up(lake.reading("abc", starting_offsets="earliest")) is None
    assert lake.bronze == lake.silver == made
    assert lake.catch_up(lake.reading("abc")) is None
    assert lake.bronze == lake.silver == made


def test_a_topic_that_comes_while_streams_run_is_read_from_its_first_row(lake):
    feed = lake.reading("", starting_offsets="latest")
    failure = lake.catch_up(feed)
    assert isinstance(failure, SourceNotFoundError)
    assert "do not exist" in str(failure)
    before = lake.write("a", 3)
    Topic(lake.topic.endpoints, f"x-{lake.prefix}-a").produce(framed(lake.known))  # not whole
    with lake.running(feed) as streams:
        wait_for(lake.has_begun, "the start", within_s=120)
        made = lake.write("a", 5)
        wait_for(lambda: lake.silver == made, "the first topic's rows", within_s=120)
        made += lake.write("b", 20)
        wait_for(lambda: lake.silver == made, "the rows of a new topic", within_s=120)
        lake.widen_topic("b", 4)
        made += lake.write("b", 20) + lake.write("a", 2)
        wait_for(lambda: lake.silver == made, "rows of new partitions", within_s=120)
    assert streams.failure is None
    made += lake.write("c", 6) + lake.write("b", 1)  # while nobody reads
    assert lake.catch_up(feed) is None
    assert lake.bronze == lake.silver == made
    assert not before & made
    assert lake.passed_over == Counter()


def test_a_topic_that_is_deleted_under_the_stream_is_told_by_its_name_and_waited_for(lake):
    made = lake.write("a", 4) + lake.write("b", 4)
    with lake.running(lake.reading("")) as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)
        lake.of("b").delete()
        wait_for(lambda: streams.waiting, "waiting for the topic", within_s=240)
        assert f"topic '{lake.of('b').name}'" in streams.waiting.reason
    assert streams.failure is None
    assert lake.bronze == lake.silver == made


@pytest.mark.parametrize("letters", ["", "ab"])
def test_the_others_go_on_after_one_is_deleted_where_gaps_are_recorded(lake, letters):
    feed = lake.reading(letters, on_gap="record")
    made = lake.write("a", 4) + lake.write("b", 4)
    with lake.running(feed) as streams:
        wait_for(lambda: lake.silver == made, "the first rows", within_s=120)
        lake.of("b").delete()
        made += lake.write("a", 5)
        wait_for(lambda: lake.silver == made, "the rows of the other", within_s=240)
    assert streams.failure is None
    lake.write("b", 50)  # made again: its offsets would mean two rows each
    failure = lake.catch_up(feed)
    assert isinstance(failure, StreamError)
    assert f"topic '{lake.of('b').name}': is not the one that bronze has rows of" in str(failure)
    assert lake.bronze == lake.silver == made


def test_rows_that_one_topic_lost_are_gaps_of_it_alone(lake):
    made = lake.write("a", 6) + lake.write("b", 6)
    assert lake.catch_up(lake.reading("ab")) is None
    made += lake.write("a", 10)
    lost = lake.write("b", 10)
    for partition in {p for _, p, _ in lost}:
        end = max(offset for _, p, offset in lost if p == partition) + 1
        lake.of("b").delete_rows(partition, before=end)
    told = str(lake.catch_up(lake.reading("ab")))
    assert f"of topic '{lake.of('b').name}': begins at" in told
    assert lake.catch_up(lake.reading("ab", on_gap="record")) is None
    assert lake.bronze == lake.silver == made
    assert lake.passed_over == Counter({"b": 10})


def test_the_example_of_the_page_runs(lake, services, tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    folder = tmp_path / "declared"
    folder.mkdir()
    (folder / "shops.yaml").write_text(text)
    (feed,) = load_feeds(folder)
    for shop, rows in (("berlin", 3), ("paris", 2)):
        value = b'{"shop": "%s", "total": 1.5}' % shop.encode()
        Topic(services, f"shop-{shop}-1").produce(*[value] * rows)
    Topic(services, "shop-rome-1").produce(b'{"shop": "rome"}')
    assert lake.catch_up(feed) is None
    tables = {shop: DeltaTable(lake.path(feed.silver_table(shop))) for shop in ("berlin", "paris")}
    topics = {shop: table.to_pyarrow_table()["_topic"] for shop, table in tables.items()}
    assert topics["berlin"].to_pylist() == ["shop-berlin-1"] * 3
    assert topics["paris"].to_pylist() == ["shop-paris-1"] * 2
    assert not lake.path(feed.silver_table("rome")).exists()
