import pytest

from lake_assets.bronze.offsets import TopicRange, first_offsets, next_offsets
from lake_assets.errors import StreamError

FOUND = TopicRange(topic="t", begins={0: 2, 1: 0}, ends={0: 9, 1: 5}, identity=7)


@pytest.mark.parametrize(
    ("declared", "offsets"),
    [
        ("earliest", {0: 2, 1: 0}),
        ("latest", {0: 9, 1: 5}),
        ({0: 4}, {0: 4, 1: 0}),
        ({0: -1, 1: -2}, {0: 9, 1: 0}),
    ],
)
def test_a_topic_is_begun_where_its_feed_says(declared, offsets):
    assert first_offsets(FOUND, declared) == offsets


def test_a_partition_that_came_since_is_read_from_its_beginning():
    assert next_offsets(FOUND, {0: 5}, 7) == {0: 5, 1: 0}


def test_a_partition_that_was_read_to_its_end_goes_on_there():
    assert next_offsets(FOUND, {0: 9, 1: 5}, 7) == {0: 9, 1: 5}


@pytest.mark.parametrize(
    ("have", "identity", "fact"),
    [
        ({0: 1}, 7, "partition 0 .* begins at offset 2, and bronze needs offset 1 next"),
        ({0: 10}, 7, "partition 0 .* ends at offset 9, and bronze has its rows up to offset 10"),
        ({3: 1}, 7, "partition 3 .* is not there"),
        ({0: 5}, 8, "is not the one that bronze has rows of"),
    ],
)
def test_a_topic_without_the_rows_that_come_next_is_refused(have, identity, fact):
    with pytest.raises(StreamError, match=fact):
        next_offsets(FOUND, have, identity)


@pytest.mark.parametrize("identities", [(None, 7), (7, None)])
def test_brokers_without_topic_ids_are_taken_at_their_word(identities):
    recorded, told = identities
    found = TopicRange(topic="t", begins={0: 0}, ends={0: 9}, identity=told)
    assert next_offsets(found, {0: 5}, recorded) == {0: 5}
