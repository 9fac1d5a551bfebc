from lake_assets.lake.change import Batch
from lake_assets.model.reports import Hop, Span
from lake_assets.streams.position import (
    Settled,
    demuxed_version,
    ingested_offsets,
    is_unbegun,
    settled,
    span_of,
)


def batch(checkpoint, number, offset, *, done):
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    (checkpoint / "offsets" / str(number)).write_text(f"v1\n{{}}\n{offset}")
    if done:
        (checkpoint / "commits" / str(number)).write_text("v1\n{}")


def test_a_query_that_never_ran_is_at_the_start(tmp_path):
    assert ingested_offsets(tmp_path, "stream") == {}
    assert demuxed_version(tmp_path) == 0


def test_the_last_batch_that_is_done_counts_and_not_the_one_in_hand(tmp_path):
    batch(tmp_path, 9, '{"stream":{"0":5,"1":7}}', done=True)
    batch(tmp_path, 10, '{"stream":{"0":8,"1":9}}', done=True)
    batch(tmp_path, 11, '{"stream":{"0":99,"1":99}}', done=False)
    assert ingested_offsets(tmp_path, "stream") == {0: 8, 1: 9}


def test_the_position_in_bronze_is_its_version(tmp_path):
    batch(tmp_path, 0, '{"reservoirVersion":12,"index":-1}', done=True)
    assert demuxed_version(tmp_path) == 12


def test_demux_is_settled_between_two_commits_of_bronze(tmp_path):
    (tmp_path / "metadata").write_text('{"id":"the-query"}')
    assert settled(tmp_path) is None
    batch(tmp_path, 3, '{"reservoirVersion":12,"index":-1}', done=True)
    batch(tmp_path, 4, '{"reservoirVersion":13,"index":-1}', done=False)
    assert settled(tmp_path) == Settled(batch=Batch("the-query", 3), bronze_version=11)


def test_demux_is_not_settled_within_a_commit_of_bronze(tmp_path):
    (tmp_path / "metadata").write_text('{"id":"the-query"}')
    batch(tmp_path, 3, '{"reservoirVersion":12,"index":2}', done=True)
    assert settled(tmp_path) is None


def test_while_a_new_query_works_off_what_it_found_no_version_is_done(tmp_path):
    batch(tmp_path, 0, '{"reservoirVersion":2,"index":1,"isStartingVersion":true}', done=True)
    assert demuxed_version(tmp_path) == 0
    batch(tmp_path, 1, '{"reservoirVersion":3,"index":-1,"isStartingVersion":false}', done=True)
    assert demuxed_version(tmp_path) == 3


def test_a_query_has_not_begun_until_its_first_batch_is_done_or_counts_a_snapshot(tmp_path):
    assert is_unbegun(tmp_path)
    batch(tmp_path, 0, '{"reservoirVersion":3,"index":-1,"isStartingVersion":false}', done=False)
    assert is_unbegun(tmp_path)
    batch(tmp_path, 0, '{"reservoirVersion":2,"index":1,"isStartingVersion":true}', done=False)
    assert not is_unbegun(tmp_path)
    batch(tmp_path, 0, '{"reservoirVersion":3,"index":-1,"isStartingVersion":false}', done=True)
    assert not is_unbegun(tmp_path)


def test_an_ingest_batch_took_offsets_from_where_the_query_began(tmp_path):
    (tmp_path / "metadata").write_text('{"id":"q"}')
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_bytes(b'\0v1\n{"stream":{"0":3,"1":0}}')
    batch(tmp_path, 0, '{"stream":{"0":5,"1":7}}', done=False)
    first = Span(query="q", offsets_from={0: 3, 1: 0}, offsets_to={0: 5, 1: 7})
    assert span_of(tmp_path, Hop.INGEST, 0, "stream") == first
    batch(tmp_path, 1, '{"stream":{"0":6,"1":7,"2":1}}', done=False)
    second = Span(query="q", offsets_from={0: 5, 1: 7}, offsets_to={0: 6, 1: 7, 2: 1})
    assert span_of(tmp_path, Hop.INGEST, 1, "stream") == second


def test_a_demux_batch_took_versions_of_bronze(tmp_path):
    (tmp_path / "metadata").write_text('{"id":"q"}')
    batch(tmp_path, 0, '{"reservoirVersion":2,"index":-1}', done=True)
    batch(tmp_path, 1, '{"reservoirVersion":5,"index":-1}', done=False)
    assert span_of(tmp_path, Hop.DEMUX, 0, "t") == Span(query="q", version_from=0, version_to=2)
    assert span_of(tmp_path, Hop.DEMUX, 1, "t") == Span(query="q", version_from=2, version_to=5)
