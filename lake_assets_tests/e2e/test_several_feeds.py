"""Several feeds into the same silver tables: each row once, whatever becomes of either feed.

The hardest case is two feeds whose rows have the same origins, as topics of one name in two
clusters have: here both read one topic.
"""

import random
import re
import shutil
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.backup.create import back_up
from lake_assets.backup.progress import Progress
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.erasure.obeyed_restore import restore
from lake_assets.errors import FeedError, LakeError, StreamError
from lake_assets.feeds.flows import with_targets
from lake_assets.maintenance.run import maintain
from lake_assets.model.origins import Origin
from lake_assets.model.retention import Reset
from lake_assets.model.routes import Route
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import Layer, bronze_of, quarantine_of
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.streams.reset import reset_bronze
from lake_assets.streams.trace import trace
from lake_assets_tests.backup.lakes import place_at
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.e2e.dying import EACH_POINT, POINTS, KilledError, doomed
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.formats.protobuf.given import framed as framed_message
from lake_assets_tests.formats.protobuf.given import message_of
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

NAMES = ("games", "twin")

EACH_NAME = with_long(NAMES, long=["twin"])
"""Parameters of a test that takes seconds for each: both at night."""

KEYS = ("uno", "go_fish")


@dataclass
class SharedLake(StreamedLake):
    """A lake whose feed `games` has the tables, and `twin` fills them as well."""

    known: int = 0
    declared: Mapping[str, object] = field(default_factory=dict)
    """What the feed that has the tables declares otherwise."""

    def feeds(self, **more):
        """By name, each knowing the other."""
        changes = {**self.declared, **more}
        twin = self.topic.feed(feed="twin", into="games", route=None, expectations=(), gold=())
        declared = with_targets([self.topic.feed(**changes), twin])
        return {feed.feed: feed.beside(declared) for feed in declared}

    def produce(self, *keys):
        made = [framed(self.known, key, gamer=f"g{number}") for number, key in enumerate(keys)]
        return self.topic.produce(*made)

    def stream_both(self, **changes):
        for feed in self.feeds(**changes).values():
            self.stream(feed)

    def found(self, *keys):
        """By feed, where its rows of keys are from, and how often each is there."""
        found = {name: Counter() for name in NAMES}
        for key in keys or KEYS:
            rows = DeltaTable(self.folder(silver_of(key))).to_pyarrow_table()
            columns = (rows[f"_{name}"].to_pylist() for name in ("feed", "partition", "offset"))
            for feed, *place in zip(*columns, strict=True):
                found[feed or "games"][tuple(place)] += 1
        return found

    def rebuild_of(self, name, **chosen):
        with self.redo(self.feeds()[name]) as redo:
            self.rebuild_with(redo, **chosen)

    def followers(self, stack, feeds, *, is_one_process):
        """What demuxes each feed, in one process or in one each."""
        pipeline = stack.enter_context(self.pipeline())
        found = {}
        for name, feed in feeds.items():
            own = pipeline if is_one_process else stack.enter_context(self.pipeline())
            found[name] = self._follower(own, feed)
        return found

    def has_each_once(self, places):
        return self.found() == {name: Counter(places) for name in NAMES}


@pytest.fixture
def lake(spark, services, settings):
    topic = Topic(services)
    return SharedLake(spark, settings, topic, known=topic.register(0))


def test_rows_of_the_same_origin_are_told_apart_by_their_feed(lake):
    made = lake.produce("uno", "go_fish", "uno")
    lake.stream_both()
    assert lake.has_each_once(made)


def test_a_feed_may_come_to_tables_that_another_filled_alone_and_leave_them(lake):
    made = lake.produce("uno", "go_fish")
    alone = lake.topic.feed()
    lake.stream(alone)
    assert "_feed" not in DeltaTable(lake.folder(silver_of("uno"))).schema().to_arrow().names
    lake.stream_both()
    assert lake.has_each_once(made)
    lake.rebuild_of("games")
    lake.rebuild_of("twin")
    assert lake.has_each_once(made)
    lake.produce("uno")
    lake.stream(alone)  # rows of it name nobody from here on
    with lake.redo(alone) as redo:
        lake.rebuild_with(redo)
    assert lake.found()["twin"] == Counter(made)
    assert lake.found()["games"].total() == 3


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("point", EACH_POINT)
@pytest.mark.parametrize("who", EACH_NAME)
def test_one_that_dies_in_a_batch_loses_and_doubles_no_row_of_either(lake, who, point, forgets):
    (other,) = set(NAMES) - {who}
    made = lake.produce(*KEYS)
    lake.stream_both()
    made += lake.produce(*KEYS, *KEYS)
    feeds = lake.feeds()
    lake.ingest(feeds[who])
    dying = replace(lake, kind=doomed(point))
    with suppress(KilledError):
        dying.demux(feeds[who])
    if forgets:
        shutil.rmtree(lake.settings.state_dir)
    lake.stream(feeds[other])
    made += lake.produce(*KEYS)
    lake.stream(feeds[other])
    assert lake.found()[other] == Counter(made)
    lake.stream(feeds[who])
    assert lake.has_each_once(made)


@pytest.mark.parametrize("who", EACH_NAME)
def test_a_rebuild_replaces_the_rows_of_its_feed_alone(lake, who):
    made = lake.produce("uno", "go_fish", "uno", "chess")
    lake.stream_both()
    (other,) = set(NAMES) - {who}
    before = {key: lake.found(key) for key in KEYS}
    lake.rebuild_of(who)
    lake.rebuild_of(who, keys=["uno"])
    assert {key: lake.found(key) for key in KEYS} == before
    DeltaTable(lake.folder(silver_of("uno"))).delete()
    lake.rebuild_of(who, keys=["uno"])
    assert lake.found("uno")[who] == before["uno"][who]
    assert not lake.found("uno")[other]
    lake.rebuild_of(other)
    assert {key: lake.found(key) for key in KEYS} == before
    assert lake.places(quarantine_of(who)) == Counter(made[3:])


@pytest.mark.parametrize("who", EACH_NAME)
def test_tables_that_do_not_fit_together_are_derived_again_and_the_others_rows_stay(lake, who):
    made = lake.produce(*KEYS)
    lake.stream_both()
    shutil.rmtree(lake.folder(quarantine_of(who)))
    with pytest.raises(StreamError, match="do not fit together"):
        lake.stream(lake.feeds()[who])
    lake.rebuild_of(who)
    assert lake.has_each_once(made)
    made += lake.produce(*KEYS)
    lake.stream_both()
    assert lake.has_each_once(made)


@pytest.mark.long
@pytest.mark.parametrize("is_put_back", [True, False])
def test_rows_that_both_lost_are_derived_again_by_both(lake, is_put_back):
    made = lake.produce(*KEYS)
    lake.stream_both()
    table = DeltaTable(lake.folder(silver_of("uno")))
    if is_put_back:
        table.restore(0)
    else:
        for file in active_files(table):
            (lake.folder(silver_of("uno")) / file.path).unlink()
    lake.rebuild_of("games")
    assert lake.found("uno")["games"].total() == 1
    with pytest.raises(StreamError, match="when feed 'games' was derived again"):
        lake.stream(lake.feeds()["twin"])
    with lake.redo(lake.feeds()["twin"]) as redo, pytest.raises(StreamError):
        lake.rebuild_with(redo, keys=["uno"])
    lake.rebuild_of("twin")
    assert lake.has_each_once(made)
    lake.stream_both()
    assert lake.has_each_once(made)


@pytest.mark.long
def test_a_batch_that_the_other_feed_undid_is_no_matter_to_this_one(lake):
    made = lake.produce(*KEYS)
    lake.stream_both()
    feeds = lake.feeds()
    for who in ("twin", "games"):  # the one's numbers are lower than the other's by then
        for _ in range(3):
            made += lake.produce(*KEYS)
            lake.stream(feeds["games"])
        made += lake.produce(*KEYS)
        lake.ingest(feeds[who])
        with suppress(KilledError):
            replace(lake, kind=doomed("last")).demux(feeds[who])
        shutil.rmtree(lake.settings.state_dir)
        lake.stream(feeds[who])
    lake.stream_both()
    assert lake.has_each_once(made)


def test_requeued_rows_are_of_their_feed(lake):
    made = lake.produce("uno", "chess")
    lake.stream_both()
    with_chess = {"route": Route(column="game_name", keys=(*KEYS, "chess"))}
    for feed in lake.feeds(**with_chess).values():
        with lake.redo(feed) as redo:
            assert redo.requeue().rows == {"silver_chess_events": 1}
    assert lake.found("uno", "chess") == {name: Counter(made) for name in NAMES}


def test_two_that_stream_at_once_wait_for_nobody_and_lose_nothing(lake):
    made, failures = lake.produce(*KEYS), []
    feeds = lake.feeds()
    lake.stream_both()

    def go_on(feed):
        try:
            for _ in range(4):
                lake.stream(feed)
        except Exception as problem:  # noqa: BLE001 - told below
            failures.append(problem)

    threads = [threading.Thread(target=go_on, args=(feed,)) for feed in feeds.values()]
    for thread in threads:
        thread.start()
    for _ in range(10):
        made += lake.produce(*KEYS)
    for thread in threads:
        thread.join()
    assert failures == []
    lake.stream_both()
    assert lake.has_each_once(made)


TEXT = "message event {{ string game_name = 1; string gamer_id = 2; string device_id = 3; {} }}"


@pytest.mark.parametrize("is_one_process", [True, False])
def test_a_column_that_one_makes_wider_is_as_wide_in_the_files_of_the_other(lake, is_one_process):
    other = Topic(lake.topic.endpoints)
    narrow, wide = (TEXT.format(f"{kind} score = 4;") for kind in ("int32", "int64"))

    def produce(topic, text, score):
        message = message_of(text, game_name="uno", gamer_id="ann", score=score)
        topic.produce(framed_message(topic.register_text(text), message))

    feeds = lake.feeds()
    feeds["twin"] = feeds["twin"].model_copy(
        update={name: getattr(other.feed(), name) for name in ("source", "payload")}
    )
    with ExitStack() as stack:
        followers = lake.followers(stack, feeds, is_one_process=is_one_process)
        for topic in (lake.topic, other):
            produce(topic, narrow, 1)
        for name, feed in feeds.items():
            lake.ingest(feed)
            followers[name].drain()
        produce(lake.topic, wide, 2**40)
        lake.ingest(feeds["games"])
        followers["games"].drain()
        produce(other, narrow, 2)
        lake.ingest(feeds["twin"])
        followers["twin"].drain()
    table = DeltaTable(lake.folder(silver_of("uno")))
    files = {pq.read_schema(lake.folder(silver_of("uno")) / f.path) for f in active_files(table)}
    assert {columns.field("score").type for columns in files} == {pa.int64()}
    scores = table.to_pyarrow_table().select(["_feed", "score"]).to_pylist()
    expected = {("games", 1), ("games", 2**40), ("twin", 1), ("twin", 2)}
    assert {(row["_feed"], row["score"]) for row in scores} == expected


def test_a_row_is_traced_in_its_feed_alone(lake):
    ((partition, offset),) = lake.produce("uno")
    feeds, origin = lake.feeds(), Origin(lake.topic.name, partition, offset)
    lake.stream(feeds["games"])
    lake.ingest(feeds["twin"])
    places = {
        name: trace(lake.settings, feed, origin, lake.topic.endpoints).places
        for name, feed in feeds.items()
    }
    assert [place.key for place in places["games"]] == [None, "uno"]
    assert [place.key for place in places["twin"]] == [None]


def test_what_would_take_the_others_rows_along_is_refused(lake):
    lake.produce(*KEYS)
    lake.stream_both()
    for feed in lake.feeds().values():
        allowed = feed.model_copy(update={"reset": Reset.ALLOWED})
        with pytest.raises(FeedError, match="fills, too"):
            reset_bronze(lake.settings, allowed)
    assert lake.places(bronze_of("twin")).total() == 2
    named = lake.feeds(tables=TableNames(silver="{key}_in_silver"))
    for feed in named.values():
        with lake.redo(feed) as redo, pytest.raises(FeedError, match="fills it, too"):
            lake.rebuild_with(redo)


def dying_in_a_rebuild(after):
    """A committer that goes down once so many tables have their part of a rebuild."""

    class Dying(Committer):
        done = 0

        def append(self, commits, batch):
            if "redo" in batch.app_id:
                if self.done == after:
                    raise KilledError
                self.done += 1
            return super().append(commits, batch)

    return Dying


class Sequence:
    """What happens to a lake of two feeds, one thing after the other, as chance has it."""

    def __init__(self, lake, chance):
        self.lake, self.chance, self.made = lake, chance, []
        self.kept: list[Mapping[str, object]] = []
        self.copy = lake.settings.lake_dir.with_name("copy")
        self.place = place_at(lake.settings.home.with_name("backups"))
        self.backed_up: list[Mapping[str, object]] = []
        self.version = 0

    def produce(self):
        lake, chance = self.lake, self.chance
        keys = [chance.choice(KEYS) for _ in range(chance.randint(1, 4))]
        made = [
            framed(lake.known, key, gamer=f"g{len(self.made)}", version=self.version)
            for key in keys
        ]
        self.made += lake.topic.produce(*made)

    def register(self):
        self.version = min(self.version + 1, 3)
        self.lake.known = self.lake.topic.register(self.version)

    def stream(self):
        self.lake.stream(self.feed)

    def kill(self):
        self.produce()
        feed = self.feed
        self.lake.ingest(feed)
        with suppress(KilledError):
            replace(self.lake, kind=doomed(self.chance.choice(POINTS))).demux(feed)

    def run(self):
        """As a run of the feed's schedule takes it, or streams that keep up: in one job."""
        self.lake.stream_in_one_job(self.feed)

    def kill_a_run(self):
        self.produce()
        dying = replace(self.lake, kind=doomed(self.chance.choice(POINTS), Layer.BRONZE))
        with suppress(Exception):  # Spark tells it in words of its own
            dying.stream_in_one_job(self.feed)

    def run_both_at_once(self):
        self.produce()
        with ThreadPoolExecutor(len(NAMES)) as pool:
            runs = [
                pool.submit(self.lake.stream_in_one_job, feed)
                for feed in self.lake.feeds().values()
            ]
        for run in runs:
            run.result()

    def put_a_table_back(self):
        """Another engine does, and each feed refuses to go on until its rows are derived again."""
        table = DeltaTable(self.lake.folder(silver_of(self.chance.choice(KEYS))))
        try:
            table.restore(self.chance.randint(0, table.version()))
        except DeltaError:  # files of that version are gone
            return
        feeds = self.chance.sample(list(self.lake.feeds().values()), len(NAMES))
        for feed in feeds:
            with pytest.raises(StreamError):
                self.lake.stream(feed)
            self.lake.rebuild_of(feed.feed)
            if self.chance.random() < 0.5:  # the other's are lacking yet
                self.back_up()
                self.restore_backup()

    def back_up(self):
        """There is none of versions whose files maintenance deleted; it keeps some for no time."""
        self.backed_up = []
        try:
            back_up(self.lake.settings, self.place, Progress(), take_over=True)
        except LakeError as problem:
            if "is missing, and a table's log names it" not in str(problem):
                raise
        else:
            self.backed_up = [self.lake.declared]

    def restore_backup(self):
        if self.backed_up:
            restore(self.lake.settings, self.place, Progress(), number=None, force=True)
            (self.lake.declared,) = self.backed_up

    def forget(self):
        shutil.rmtree(self.lake.settings.state_dir, ignore_errors=True)

    def rebuild(self):
        feed = self.feed
        self.lake.stream(feed)  # a part is derived of tables that are whole
        keys = self.chance.choice([None, ["uno"], ["go_fish"]])
        self.lake.rebuild_of(feed.feed, keys=keys)

    def kill_a_rebuild(self):
        """Between the commits of two tables, or before the first."""
        feed = self.feed
        self.lake.stream(feed)
        dying = replace(self.lake, kind=dying_in_a_rebuild(self.chance.randint(0, 1)))
        with suppress(KilledError):
            dying.rebuild_of(feed.feed)

    def keep_lake(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.lake.settings.lake_dir, self.copy)
        self.kept = [self.lake.declared]

    def restore_lake(self):
        if self.kept:
            shutil.rmtree(self.lake.settings.lake_dir)
            shutil.copytree(self.copy, self.lake.settings.lake_dir)
            (self.lake.declared,) = self.kept

    def lay_out(self):
        by = self.chance.choice([{}, {"device_id": "device_id"}])
        feed = self.feed
        self.lake.stream(feed)
        self.lake.declared = {"partition_by": by}
        self.lake.rebuild_of(feed.feed)

    def compact(self):
        DeltaTable(self.lake.folder(silver_of(self.chance.choice(KEYS)))).optimize.compact()

    def maintain(self):
        upkeep = MaintenanceSettings(keep_hours=1e-9, join_at_files=2)
        settings = self.lake.settings.model_copy(update={"maintenance": upkeep})
        maintain(settings, self.feed)

    @property
    def feed(self):
        return self.lake.feeds()[self.chance.choice(NAMES)]


@pytest.mark.long
def test_each_row_is_there_once_by_feed_whatever_happens_in_whichever_order(lake, seed):
    chance = random.Random(seed)  # noqa: S311 - the same each time
    steps = Sequence(lake, chance)
    steps.produce()
    lake.stream_both()
    usual = [steps.produce, steps.stream, steps.kill, steps.kill, steps.rebuild, steps.forget]
    for _ in range(14):
        rare = [steps.compact, steps.maintain, steps.register, steps.kill_a_rebuild]
        rare += [steps.keep_lake, steps.restore_lake, steps.lay_out, steps.put_a_table_back]
        rare += [steps.run, steps.kill_a_run, steps.run_both_at_once]
        rare += [steps.back_up, steps.restore_backup]
        chance.choice([*usual, *rare])()
        made = Counter(steps.made)
        assert not any(found - made for found in lake.found().values())
    lake.stream_both()
    assert lake.has_each_once(steps.made)


PAGE = Path(__file__).parents[2] / "docs" / "several-feeds.md"

ORDER = "message event {{ string shop = 1; optional {} total = 2; }}"


class Orders:
    """The example of the page, worked on by commands as from a shell."""

    def __init__(self, settings, services, folder):
        folder.mkdir()
        self.old, self.new = Topic(services), Topic(services)
        named = {"topic: orders": f"topic: {self.new.name}", "orders-value": self.new.subject}
        named["topic: old-orders"] = f"topic: {self.old.name}"
        for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL):
            for shown, own in named.items():
                text = text.replace(shown, own)  # noqa: PLW2901 - one after the other
            (name,) = re.findall(r"^feed: (.*)$", text, re.MULTILINE)
            (folder / f"{name}.yaml").write_text(text)
        self.settings = settings.model_copy(update={"feeds": folder})
        self.text = ORDER.format("double")
        self.known = self.new.register_text(self.text)

    def produce(self):
        parts = [{"shop": shop, "total": total} for shop, total in (("berlin", 2.5), ("paris", 4))]
        messages = [message_of(self.text, **each) for each in (*parts, {"shop": "paris"})]
        self.new.produce(*(framed_message(self.known, message) for message in messages))
        berlin, rome = b'{"store": "berlin", "price": 1.5}', b'{"store": "rome", "price": 7}'
        self.old.produce(berlin, rome, b'{"store": "paris"}')

    def run(self, *arguments):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, layer, name):
        rows = DeltaTable(self.settings.lake_dir / layer / name).to_pyarrow_table()
        return rows.to_pylist()

    def silver(self):
        """Feed, shop and total of each row, and how often it is there."""
        tables = ("orders_of_berlin", "orders_of_paris", "orders_of_rome")
        rows = (row for table in tables for row in self.rows("silver", table))
        return Counter((row["_feed"], row["shop"], row["total"]) for row in rows)


@pytest.mark.long
def test_the_example_of_the_page_runs(connected, services, tmp_path):
    orders = Orders(connected, services, tmp_path / "declared")
    orders.produce()
    orders.run("stream", "--until-caught-up")
    once = Counter(
        {
            ("orders", "berlin", 2.5): 1,
            ("orders", "paris", 4.0): 1,
            ("old_orders", "berlin", 1.5): 1,
            ("old_orders", "rome", 7.0): 1,
        }
    )
    assert orders.silver() == once
    for feed in ("orders", "old_orders"):
        assert [row["detail"] for row in orders.rows("quarantine", f"quarantine_{feed}")] == [
            "total_is_known"
        ]
    orders.run("refresh", "--feed", "orders")
    (berlin,) = orders.rows("gold", "orders_of_berlin_sums")
    assert (berlin["orders"], berlin["total"]) == (2, 4.0)
    orders.run("rebuild", "silver", "--yes", "--feed", "old_orders")
    assert orders.silver() == once
    orders.produce()
    orders.run("stream", "--until-caught-up")
    assert orders.silver() == once + once
    orders.run("maintain")
    orders.run("rebuild", "silver", "--yes")
    assert orders.silver() == once + once
    shown = orders.run("tables")
    assert shown.count("orders_of_berlin ") == 1
    assert "quarantine_old_orders" in shown
