"""The whole way of a feed whose rows are appended to a Delta table."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.bronze.ingest import Ingest
from lake_assets.errors import SourceNotFoundError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import bronze_of, files_of, quarantine_of
from lake_assets.streams.reprocess import rebuild
from lake_assets.streams.run_need import is_run_needed
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.known_topic import NOWHERE
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = pytest.mark.spark


class KilledError(Exception):
    """What a test raises in place of a kill."""


@dataclass(kw_only=True)
class DeltaLake(StreamedLake):
    """A feed's lake, streamed now and then, and the table that it reads."""

    source: str

    def append(self, *ids, **options):
        rows = pa.table({"id": pa.array(ids, pa.int64())})
        write_deltalake(self.source, rows, mode="append", **options)

    def declare(self, **declared):
        source = Source(delta=DeltaSource(path=self.source, **declared))
        self.feed = self.feed.model_copy(update={"source": source})

    @property
    def silver(self):
        return sorted(self.rows(self.feed.silver_table("orders"), "id"))

    @property
    def ordinals(self):
        return sorted(self.rows(bronze_of("orders"), "ordinal"))


@pytest.fixture
def lake(spark, settings, tmp_path):
    source = str(tmp_path / "orders")
    feed = Feed(
        feed="orders",
        source=Source(delta=DeltaSource(path=source)),
        payload=Payload(json_=JsonPayload(ddl="id bigint")),
    )
    return DeltaLake(spark=spark, settings=settings, source=source, feed=feed)


@pytest.mark.long
def test_rows_of_all_types_come_as_they_are(lake):
    ddl = (
        "id bigint, price decimal(30,4), at timestamp, day date, raw binary, "
        "tags map<string,int>, lines array<struct<n: int, ratio: float>>, part int"
    )
    lines = pa.list_(pa.struct([("n", pa.int32()), ("ratio", pa.float32())]))
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("price", pa.decimal128(30, 4)),
            ("at", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("raw", pa.binary()),
            ("tags", pa.map_(pa.string(), pa.int32())),
            ("lines", lines),
            ("part", pa.int32()),
        ]
    )
    full = {
        "id": 2**63 - 1,
        "price": Decimal("12345678901234567890123456.7890"),
        "at": datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        "day": date(1, 1, 1),
        "raw": b"\x00\xff",
        "tags": [("a", 1), ("b", None)],
        "lines": [{"n": 1, "ratio": 0.25}, None],
        "part": 7,
    }
    empty = dict.fromkeys(full) | {"id": 1, "tags": []}
    rows = pa.Table.from_pylist([full, empty], schema=schema)
    write_deltalake(lake.source, rows, partition_by=["part"])
    payload = Payload(json_=JsonPayload(ddl=ddl))
    lake.feed = lake.feed.model_copy(update={"payload": payload})
    assert lake.stream() is None
    assert lake.rows(quarantine_of("orders"), "detail") == []
    table = lake.settings.lake_dir / lake.feed.silver_table("orders").relative
    found = DeltaTable(table).to_pyarrow_table().select(schema.names).sort_by("id").to_pylist()
    assert found == [empty, full]
    lake.redo(lambda redo: rebuild(redo, lake.settings.state_dir))
    again = DeltaTable(table).to_pyarrow_table().select(schema.names).sort_by("id").to_pylist()
    assert again == found


def test_each_row_comes_once_whatever_is_killed_between(lake, monkeypatch):
    two = lake.settings.stream.model_copy(update={"max_rows_per_batch": 2})
    lake.settings = lake.settings.model_copy(update={"stream": two})
    lake.append(1, 2)
    lake.append(3)

    def die(*_, **__):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("lake_assets.bronze.ingest.Ingest.commit", die)
        assert lake.stream() is not None
    assert DeltaTable(lake.settings.lake_dir / files_of("orders").relative).to_pyarrow_table()
    assert lake.ordinals == []
    DeltaTable(lake.source).optimize.compact()
    lake.append(4, 5)
    commit = Ingest.commit

    def die_later(ingest, landed, until, *, job_s):
        if until["table", 0] > 3:
            raise KilledError
        return commit(ingest, landed, until, job_s=job_s)

    with monkeypatch.context() as patch:
        patch.setattr("lake_assets.bronze.ingest.Ingest.commit", die_later)
        assert lake.stream() is not None
    assert 0 < len(lake.ordinals) <= 3
    assert lake.stream() is None
    lake.append(6)
    assert lake.stream() is None
    assert lake.ordinals == [(number,) for number in range(6)]
    assert Counter(number for (number,) in lake.silver) == Counter(range(1, 7))


def test_a_commit_that_changes_rows_ends_the_feed_or_is_passed_over(lake):
    lake.declare(starting_version=1)
    lake.append(1)
    lake.append(2)
    lake.append(3)
    DeltaTable(lake.source).delete("id = 2")
    failure = str(lake.stream())
    assert "deleted or changed rows in its version 3 (DELETE), and appends are read" in failure
    assert lake.silver == [(2,), (3,)]
    lake.append(4)
    lake.declare(starting_version=1, skip_change_commits=True)
    assert lake.stream() is None
    assert lake.silver == [(2,), (3,), (4,)]


def test_another_table_in_the_same_place_is_refused(lake):
    lake.append(1)
    assert lake.stream() is None
    Path(lake.source).rename(f"{lake.source}-old")
    failure = lake.stream()
    assert isinstance(failure, SourceNotFoundError)
    lake.append(2)
    lake.append(3)
    assert "is another table" in str(lake.stream())
    assert lake.silver == [(1,)]


def test_a_version_that_the_log_has_no_more_is_told(lake):
    lake.append(1)
    assert lake.stream() is None
    lake.append(2)
    lake.append(3)
    DeltaTable(lake.source).create_checkpoint()
    (Path(lake.source) / "_delta_log" / f"{1:020}.json").unlink()
    assert "has version 1 no more in its log" in str(lake.stream())


def test_a_file_that_vacuum_deleted_is_one_row_in_quarantine(lake):
    lake.append(1, 2)
    (file,) = DeltaTable(lake.source).file_uris()
    lake.append(3)
    Path(file).unlink()
    assert lake.stream() is None
    assert lake.silver == [(3,)]
    ((reason, detail, row),) = lake.rows(quarantine_of("orders"), "reason", "detail", "_row")
    assert (reason, row) == ("bad_file", 1)
    assert "vanished before it was read" in detail


def test_a_table_of_the_lake_is_refused(lake):
    lake.append(1)
    assert lake.stream() is None
    lake.source = str(lake.settings.lake_dir / lake.feed.silver_table("orders").relative)
    lake.declare()
    assert "is in this lake" in str(lake.stream())


PAGE = (Path(__file__).parents[2] / "docs" / "delta-source.md").read_text()


def run_page(lake, tmp_path, example):
    """Declare an example's feed, and have its table made."""
    own = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[example]
    script = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[example]
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    own, script = (re.sub(r"/data/\w+", lake.source, text) for text in (own, script))
    (feeds / "orders.yaml").write_text(own)
    (lake.feed,) = load_feeds(feeds)
    exec(script, {})  # noqa: S102 - the page's own


def test_the_page_s_feed_does_what_the_page_says(lake, tmp_path):
    run_page(lake, tmp_path, 0)
    assert lake.stream() is None
    columns = ("id", "price", "_row", "_source_version")
    found = sorted(lake.rows(lake.feed.silver_table("orders"), *columns))
    assert found == [(1, Decimal("9.90"), 1, 0), (2, Decimal("12.50"), 2, 0)]
    values = [json.loads(value) for (value,) in lake.rows(bronze_of("orders"), "value")]
    assert {value["price"] for value in values} == {"9.90", "12.50"}
    assert is_run_needed(lake.settings, lake.feed, NOWHERE) is False


@pytest.mark.long
def test_a_keyed_table_of_the_page_is_the_table_whose_changes_it_reads(lake, tmp_path):
    run_page(lake, tmp_path, 1)
    settings = lake.settings.model_copy(update={"feeds": tmp_path / "feeds"})

    def mirrored():
        for command in (("stream", "--until-caught-up"), ("refresh",)):
            done = lake_assets_here(settings, *command)
            assert done.returncode == 0, done.stderr
        table = lake.feed.gold_table(lake.feed.view("current"), "prices")
        return sorted(lake.rows(table, "id", "price"))

    def own():
        found = DeltaTable(lake.source).to_pyarrow_table().to_pylist()
        return sorted((row["id"], row["price"]) for row in found)

    assert mirrored() == own() == [(1, Decimal("12.50")), (12, Decimal("9.90"))]
    merge = (
        "merge into delta.`TABLE` t using (select * from values "
        "(1, cast(1 as decimal(10, 2))), (7, cast(7 as decimal(10, 2))) as (id, price)) s "
        "on t.id = s.id when matched then update set * when not matched then insert * "
        "when not matched by source then delete"
    )
    lake.spark.sql(merge.replace("TABLE", lake.source))
    DeltaTable(lake.source).optimize.compact()
    assert mirrored() == own() == [(1, Decimal("1.00")), (7, Decimal("7.00"))]
    assert lake.rows(quarantine_of("prices"), "detail") == []
