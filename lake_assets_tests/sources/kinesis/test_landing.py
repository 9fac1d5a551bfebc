"""Landing records of a stream, from moto's server."""

import subprocess
import sys
from contextlib import closing
from random import Random

import pytest

from lake_assets.errors import SourceError, SourceNotFoundError
from lake_assets.sources.kinesis.aggregated import UserRecord
from lake_assets.sources.kinesis.landing import StreamLanding
from lake_assets_tests.sources.kinesis.aggregate import aggregated
from lake_assets_tests.sources.kinesis.streams import HALF, KEYS, land, landed, values


def test_records_land_once_with_what_tells_them(stream, lake):
    stream.create(2)
    stream.put(1, 2, key="ann")
    stream.put(3, half=1)
    assert land(stream.source(), lake) == 3
    assert land(stream.source(), lake) == 3
    stream.put(4, half=1)
    assert land(stream.source(), lake) == 4
    assert sorted(values(lake)) == [1, 2, 3, 4]
    told = landed(lake, "key", "stream", "ordinal", "_shard_id", "_sub_sequence_number", "_problem")
    assert told[0] == (b"ann", stream.name, 0, "shardId-000000000000", None, None)
    numbers = landed(lake, "_sequence_number")
    assert len(set(numbers)) == 4
    assert all(int(number) > 2**128 for number in numbers)


def test_parents_are_read_to_their_ends_before_what_follows_them(stream, lake, monkeypatch):
    monkeypatch.setattr("lake_assets.sources.kinesis.reader._LIMIT", 1)
    stream.create(1)
    stream.put(1, 2)
    land(stream.source(), lake)
    stream.put(3, 4, 5)
    stream.split(0)
    stream.put(6, half=0)
    stream.put(7, 7, half=1)
    stream.merge(1, 2)
    stream.put(8, half=0)
    stream.put(9, half=1)
    assert land(stream.source(), lake) == 10
    found = values(lake)
    assert found[:5] == [1, 2, 3, 4, 5]
    assert sorted(found[5:8]) == [6, 7, 7]
    assert found[8:] == [8, 9]


def test_shards_that_are_over_are_missed_by_nobody(stream, lake):
    stream.create(1)
    stream.put(1)
    stream.split(0)
    stream.put(2)
    land(stream.source(), lake)
    stream.forward(hours=23)
    stream.put(3)
    land(stream.source(), lake)
    stream.forward(hours=2)
    stream.put(4)
    land(stream.source(), lake)
    assert values(lake) == [1, 2, 3, 4]


def test_rows_of_aggregated_records_are_taken_apart(stream, lake):
    stream.create()
    stream.put(
        aggregated([UserRecord("ann", b"1"), UserRecord("bob", b"2")]), b"\xf3\x89\x9a\xc2 no"
    )
    land(stream.source(), lake)
    assert landed(lake, "key", "value", "_sub_sequence_number") == [
        (b"ann", b"1", 0),
        (b"bob", b"2", 1),
        (b"k", b"\xf3\x89\x9a\xc2 no", None),
    ]


def test_rows_that_a_producer_put_together_for_a_shard_that_was_split_land_once(stream, lake):
    """It sends them again, apart; of other producers than Amazon's nobody knows that."""
    stream.create()
    stream.split(0)
    low, high = (UserRecord(key, key.encode()) for key in ("ann", "bob"))
    assert low.hash < HALF <= high.hash
    stream.put(aggregated([low, high]), key="a")
    stream.put(aggregated([low, low]), key="a")
    stream.put(aggregated([high, low._replace(hash_key=HALF)]), key="a", half=1)
    stream.put(aggregated([low, high]), key="ann")
    land(stream.source(), lake)
    assert sorted(landed(lake, "key")) == [b"ann"] * 4 + [b"bob"] * 2


@pytest.mark.parametrize("begins_with", [[3], [1, 2, 3]])
def test_a_new_lake_begins_where_it_is_declared(stream, lake, begins_with):
    stream.create()
    stream.put(1, 2)
    stream.forward(hours=1)
    latest = stream.source(starting_position="latest" if len(begins_with) == 1 else "trim_horizon")
    land(latest, lake)
    stream.forward(hours=0.1)
    stream.put(3)
    land(latest, lake)
    assert values(lake) == begins_with


def test_records_that_were_deleted_unread_stop_the_feed_or_are_told(stream, lake):
    stream.create()
    stream.put(1)
    land(stream.source(), lake)
    stream.put(2)
    stream.forward(hours=25)
    stream.put(3)
    with pytest.raises(SourceError, match="may have deleted records of shardId-000000000000 that"):
        land(stream.source(), lake)
    recording = stream.source(on_gap="record")
    assert land(recording, lake) == 3
    assert land(recording, lake) == 3
    assert landed(lake, "value") == [b"1", None, b"3"]
    assert "may have deleted records" in landed(lake, "_problem")[1]


def test_a_pause_that_loses_nothing_is_no_gap(stream, lake):
    stream.create()
    stream.put(1)
    land(stream.source(), lake)
    for _ in range(3):
        stream.forward(hours=20)
        land(stream.source(), lake)
    stream.put(2)
    assert land(stream.source(), lake) == 2


def test_a_stream_that_was_created_again_is_another(stream, lake):
    stream.create()
    stream.put(1)
    land(stream.source(), lake)
    stream.forward(hours=0.1)
    stream.again().put(2)
    with pytest.raises(SourceError, match="is another stream than was read so far"):
        land(stream.source(), lake)
    land(stream.source(on_gap="record"), lake)
    assert landed(lake, "value") == [b"1", None, b"2"]


def test_iterators_that_expire_and_throttling_lose_nothing(stream, lake):
    stream.create()
    stream.put(1)
    stream.refuse("ExpiredIteratorException")
    stream.refuse("ProvisionedThroughputExceededException", times=2)
    assert land(stream.source(), lake) == 1
    assert values(lake) == [1]


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("AccessDeniedException", "kms:Decrypt"),
        ("ExpiredTokenException", "Renew"),
        ("KMSDisabledException", "the key that the stream is encrypted with"),
    ],
)
def test_what_refuses_us_is_told_apart(stream, lake, code, step):
    stream.create()
    stream.refuse(code)
    with pytest.raises(SourceError) as raised:
        land(stream.source(), lake)
    assert code in raised.value.fact
    assert step in raised.value.next_step
    assert "hunter2" not in str(raised.value)


def test_a_stream_that_is_not_there_is_waited_for(stream, lake):
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        land(stream.source(), lake)


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_by_kills_and_a_partition_keeps_its_order(
    stream, lake, tmp_path
):
    random = Random(7)  # noqa: S311 - nobody is to be kept from guessing
    stream.create()
    module = "lake_assets_tests.sources.kinesis.land_forever"
    command = [sys.executable, "-m", module, stream.url, stream.name, str(tmp_path)]
    last, put = 0, []
    changes = [lambda: stream.split(0), lambda: stream.merge(1, 2), lambda: stream.split(3)]
    for turn in range(6):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own
            try:
                process.stdout.readline()
                for _ in range(random.randint(2, 6)):
                    half = random.randint(0, 1)
                    for _ in range(random.randint(1, 6)):
                        stream.put([half, last], half=half)
                        put.append([half, last])
                        last += 1
                if turn % 2:
                    changes.pop(0)()
            finally:
                process.kill()
    land(stream.source(), lake)
    found = values(lake)
    assert sorted(found) == sorted(put)
    for half in (0, 1):
        own = [number for one, number in found if one == half]
        assert own == sorted(own)


def test_a_shard_that_is_far_behind_holds_up_no_other(stream, lake, monkeypatch):
    monkeypatch.setattr("lake_assets.sources.kinesis.reader._LIMIT", 1)
    monkeypatch.setattr("lake_assets.sources.kinesis.landing._AGAIN_S", 0.1)
    stream.create(2)
    stream.put(*range(20))
    stream.forward(hours=1)
    with closing(StreamLanding(stream.source(), lake, "play", KEYS.__getitem__)) as landing:
        for _ in range(5):
            assert landing.step()
        stream.put(100, half=1)
        while landing.step():
            pass
    found = values(lake)
    assert sorted(found) == [*range(20), 100]
    assert found.index(100) < 18
