from lake_assets.streams.position import demuxed_version, ingested_offsets


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
