from lake_assets.lake.commits import Batch
from lake_assets.streams.position import Settled, demuxed_version, ingested_offsets, settled


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
