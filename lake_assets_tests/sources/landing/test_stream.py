"""What Spark asks the reader, without a Spark; with one: `e2e/test_kinesis_source.py`."""

import pickle
from functools import partial

import pytest

from lake_assets.errors import SourceError
from lake_assets.sources.kinesis.landed import COLUMNS
from lake_assets.sources.kinesis.landing import open_landing
from lake_assets.sources.landing.stream import LandedReader, Reading
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sources.kinesis.streams import KEYS, land, running_kinesis


@pytest.fixture(scope="module")
def streams():
    with running_kinesis() as made:
        yield made


@pytest.fixture
def stream(streams):
    return streams().create()


@pytest.fixture
def lake(tmp_path):
    return LocalStore.at(tmp_path)


@pytest.fixture
def reader(stream, lake):
    return LandedReader(
        Reading(
            feed="play",
            columns=COLUMNS,
            lake=lake,
            start=0,
            max_rows=4,
            tasks=2,
            land=partial(open_landing, stream.source(), lake, "play", KEYS),
            every_s=0,
        )
    )


def _taken(reader, at):
    """What Spark would read until nothing comes: by batch its ordinals."""
    batches = []
    while (end := reader.latestOffset(at, None)) != at:
        tasks = pickle.loads(pickle.dumps(reader.partitions(at, end)))  # noqa: S301 - our own
        copy = pickle.loads(pickle.dumps(reader))  # noqa: S301
        rows = [batch.to_pylist() for task in tasks for batch in copy.read(task)]
        batches.append([row["ordinal"] for part in rows for row in part])
        at = end
    return batches


def test_batches_are_bounded_and_end_with_what_is_there(stream, reader):
    stream.put(*range(9))
    reader.prepareForTriggerAvailableNow()
    assert _taken(reader, reader.initialOffset()) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    stream.put(9)
    assert _taken(reader, {"at": 9}) == []
    reader.stop()


def test_without_an_end_what_comes_is_read(stream, reader):
    stream.put(0)
    assert _taken(reader, reader.initialOffset()) == [[0]]
    stream.put(1)
    assert _taken(reader, {"at": 1}) == [[1]]
    reader.stop()


def test_what_landed_comes_before_a_stream_that_is_away(stream, lake, reader):
    stream.put(0, 1)
    land(stream.source(), lake)
    stream.client.delete_stream(StreamName=stream.name)
    assert reader.latestOffset(reader.initialOffset(), None) == {"at": 2}
    with pytest.raises(SourceError, match="does not exist"):
        reader.latestOffset({"at": 2}, None)
    reader.stop()


def test_tasks_get_no_secrets(reader):
    assert b"hunter2" not in pickle.dumps(reader)
