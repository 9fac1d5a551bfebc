import pytest

from lake_assets.sources.kinesis.position import (
    Last,
    Listed,
    Position,
    Shard,
    Stream,
    after_answer,
    begun,
    gone,
    may_have_lost,
    with_listed,
)

HOUR = 3_600_000
NOW = 1_000 * HOUR
STREAM = Stream(arn="arn", created_ms=1, retention_ms=24 * HOUR, now_ms=NOW, open_shards=1)


def _of(*listed):
    return begun(STREAM, listed, None)


def _read(position, name, *, is_over=False, behind_ms=0, at=NOW):
    shard = after_answer(
        position.shards[name],
        last=Last(number="7", at_ms=at),
        has_next=not is_over,
        behind_ms=behind_ms,
        now_ms=at,
    )
    return position.with_shard(name, shard).freed(name)


def test_a_position_is_written_and_read():
    position = _read(_of(Listed(shard="a"), Listed(shard="b", parents=("a",))), "a")
    assert Position.of(position.text) == position


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"arn": "x", "created_ms": 1, "shards": [1]}'])
def test_what_is_no_position_is_refused(text):
    with pytest.raises(ValueError, match="is no position in a stream"):
        Position.of(text)


def test_a_merged_shard_waits_for_both_parents():
    whole = Listed(shard="c", parents=("a", "b"))
    position = _of(Listed(shard="a"), Listed(shard="b"), whole)
    assert position.readable == ["a", "b"]
    position = _read(position, "a", is_over=True)
    assert position.readable == ["b"]
    position = _read(position, "b", is_over=True)
    assert position.readable == ["c"]


def test_a_shard_whose_parents_are_over_is_read():
    assert _of(Listed(shard="c", parents=("a",))).readable == ["c"]


def test_shards_that_are_over_are_forgotten_and_new_ones_known():
    position = _read(_of(Listed(shard="a")), "a", is_over=True)
    found = with_listed(position, [Listed(shard="b", parents=("a",))], NOW)
    assert list(found.shards) == ["b"]
    assert gone(position, []) == []
    assert gone(found, []) == ["b"]


def test_a_new_shard_has_records_since_its_parent_was_open():
    position = _read(_of(Listed(shard="a")), "a", at=NOW + HOUR)
    over = _read(position, "a", is_over=True, at=NOW + HOUR)
    found = with_listed(over, [Listed(shard="b", parents=("a",))], NOW + 9 * HOUR)
    assert found.shards["b"].sure_ms == NOW + HOUR


def test_what_follows_a_backlog_is_no_older_than_its_end():
    position = _of(Listed(shard="a"), Listed(shard="b", parents=("a",)))
    position = _read(position, "a", behind_ms=20 * HOUR)
    position = _read(position, "a", is_over=True, at=NOW - 5 * HOUR)
    assert position.shards["b"].sure_ms == NOW - 5 * HOUR


def test_how_far_is_told_by_the_shard_that_is_behind():
    position = _of(Listed(shard="a"), Listed(shard="b"))
    position = _read(_read(position, "a"), "b", behind_ms=2 * HOUR)
    assert position.sure_ms == NOW - 2 * HOUR


@pytest.mark.parametrize(
    ("sure_h", "begun_h", "lost"), [(-23, -99, False), (-25, -99, True), (-25, -0.5, False)]
)
def test_records_may_be_lost_that_are_older_than_the_retention(sure_h, begun_h, lost):
    shard = Shard(sure_ms=NOW + sure_h * HOUR, begun_ms=round(NOW + begun_h * HOUR))
    assert may_have_lost(shard, NOW, 24 * HOUR) is lost
