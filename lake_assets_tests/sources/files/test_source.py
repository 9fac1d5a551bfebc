"""Files by the contract of sources, without Spark: what ingest, lag, trace and skips ask."""

import pytest

from lake_assets.bronze.ingest import Ingest
from lake_assets.errors import SourceNotFoundError, StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.sources.catalog import source_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.known_topic import KnownTopic
from lake_assets_tests.sources.files.folders import Folder, read

NOBODY = Endpoints(kafka="", registry="")
PLACE = ("files", 0)


@pytest.fixture
def folder(tmp_path):
    found = Folder(tmp_path)
    found.feed()
    return found


def of(folder, feed=None):
    return source_of(feed or folder.feed(), NOBODY, folder.lake)


def test_an_index_that_is_not_there_yet_is_a_source_without_rows(folder):
    source = of(folder)
    assert source.extent().ends == {PLACE: 0}
    assert source.generation(["files"]).identities == {"files": None}
    assert source.times({PLACE: 0}) == {}
    assert not source.has_unseen()
    folder.put("a", {"bpm": 1})
    assert source.has_unseen()
    assert source.extent().ends == {PLACE: 0}  # counted once it is found


def test_offsets_times_and_identity_are_the_index_s(folder):
    folder.put("a", {"bpm": 1}, {"bpm": 2})
    (folder.path / "empty").touch()
    path = folder.put("b", {"bpm": 3})
    read(folder.reader())
    source = of(folder)
    extent = source.extent()
    assert (extent.begins, extent.ends) == ({PLACE: 0}, {PLACE: 3})
    assert source.first_offsets(extent) == {PLACE: 0}
    identity = source.generation(["files"]).identities["files"]
    assert identity == of(folder).generation(["files"]).identities["files"] is not None
    times = [source.times({PLACE: at}).get(PLACE) for at in range(4)]
    assert times[0] == times[1]
    assert path.stat().st_mtime_ns // 1000 in times
    assert times[3] is None


def test_rows_between_offsets_come_without_spark(folder):
    for number in range(4):
        folder.put(f"{number}", {"bpm": number}, {"bpm": 10 + number})
    rows = read(folder.reader())
    fetched = [one.rows for one in of(folder).fetch(starts={PLACE: 3}, ends={PLACE: 6})]
    values = [value for part in fetched for value in part["value"].to_pylist()]
    assert values == rows["value"].to_pylist()[3:6]
    assert not list(of(folder).fetch(starts={PLACE: 8}, ends={PLACE: 9}))


def test_a_batch_s_end_is_what_the_reader_noted(folder):
    assert of(folder).batch_end('{"at": 17}') == {PLACE: 17}


def test_a_folder_that_is_not_there_or_is_a_file_is_told(folder):
    folder.path.rmdir()
    source = of(folder, folder.feed())
    folder.path.rmdir()
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        source.extent()
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        source.has_unseen()


def test_bronze_of_another_kind_of_source_is_refused(folder, settings):
    feed = folder.feed()
    topic = feed.model_copy(update={"source": Source(kafka=KafkaSource(topic="t"))})
    with open_lake(settings) as context:

        def prepare(declared, source):
            Ingest(feed=declared, source=source, context=context, report=print).prepare()

        prepare(topic, KnownTopic(KafkaSource(topic="t"), {0: 0}, {0: 9}, 7))
        with pytest.raises(StreamError, match="has rows of another kind of source than files"):
            prepare(feed, source_of(feed, NOBODY, context.lake))
