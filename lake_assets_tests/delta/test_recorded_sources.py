import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.recorded_sources import recorded_names, sources_read
from lake_assets.delta.source_offsets import identity_app, offset_transactions
from lake_assets.errors import LakeError
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import bronze_of
from lake_assets_tests.table_logs import local_log

TABLE = bronze_of("games")


@pytest.fixture
def record(committer):
    """Commits without rows that take the table to an offset of a topic."""
    committer.create({TABLE: pa.schema([("n", pa.int64())])})

    def put(name, offset=1):
        marks = offset_transactions("kafka", {(name, 0): offset}, {})
        marks.append(Batch(identity_app("kafka", name), 7))
        number = committer.fresh(TABLE).version() + 1
        commit = Commit(table=TABLE, files=(), transactions=marks)
        committer.append([commit], Batch("ingest", number))
        return committer.fresh(TABLE).version()

    return put


@pytest.fixture
def log(tmp_path):
    return local_log(tmp_path / TABLE.relative)


def test_names_are_those_that_commits_record_up_to_a_version(record, log):
    first = record("a.b")
    last = record("c")
    assert recorded_names(log, last, "kafka") == ("a.b", "c")
    assert recorded_names(log, first, "kafka") == ("a.b",)
    assert recorded_names(log, last, "memory") == ()


def test_names_outlive_the_commits_in_a_checkpoint(record, log, committer):
    record("a")
    at = record("b")
    committer.fresh(TABLE).create_checkpoint()
    for version in range(at + 1):
        log.store.delete(log.commit_file(version))
    assert recorded_names(log, record("c"), "kafka") == ("a", "b", "c")


def test_a_checkpoint_that_is_torn_tells_no_less(record, log, committer):
    record("a")
    at = record("b")
    committer.fresh(TABLE).create_checkpoint()
    (name,) = [name for name in log.names_from() if ".checkpoint." in name]
    assert name.startswith(f"{at:020}")
    log.store.delete(log.file(name))
    assert log.store.put_if_absent(log.file(name), b"PAR1")
    assert recorded_names(log, at, "kafka") == ("a", "b")


def test_a_log_that_lacks_a_commit_is_told(record, log):
    record("a")
    last = record("b")
    log.store.delete(log.commit_file(1))
    with pytest.raises(LakeError, match="lacks version 1"):
        recorded_names(log, last, "kafka")


def test_a_pattern_reads_what_it_finds_among_them_and_a_list_what_it_names(record, log, committer):
    for name in ("game-a", "game-b", "other"):
        record(name)
    handle = committer.fresh(TABLE)

    def names(topics):
        source = Source(kafka=KafkaSource(topics=topics))
        return [found.name for found in sources_read(log, handle, source)]

    assert names("game-.*") == ["game-a", "game-b"]
    assert names(["other", "new"]) == ["other", "new"]
