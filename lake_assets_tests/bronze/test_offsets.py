import pytest

from lake_assets.bronze.offsets import another, is_another, next_offsets
from lake_assets.errors import StreamError
from lake_assets.model.origins import Extent
from lake_assets.model.sources import KafkaSource

TOPIC = KafkaSource(topic="t")
EXTENT = Extent(begins={0: 2, 1: 0}, ends={0: 9, 1: 5})


def test_a_partition_that_came_since_is_read_from_its_beginning():
    assert next_offsets(TOPIC, EXTENT, {0: 5}) == {0: 5, 1: 0}


def test_a_partition_that_was_read_to_its_end_goes_on_there():
    assert next_offsets(TOPIC, EXTENT, {0: 9, 1: 5}) == {0: 9, 1: 5}


@pytest.mark.parametrize(
    ("have", "fact"),
    [
        (
            {0: 1},
            "of topic 't': begins at offset 2, and bronze needs offset 1 next: Kafka deleted 1 off",
        ),
        ({0: 10}, "partition 0 .* ends at offset 9, and bronze has its rows up to offset 10"),
        ({3: 1}, "partition 3 .* is not there"),
    ],
)
def test_a_source_without_the_rows_that_come_next_is_refused(have, fact):
    with pytest.raises(StreamError, match=fact):
        next_offsets(TOPIC, EXTENT, have)


@pytest.mark.parametrize(
    ("recorded", "told", "expected"),
    [(7, 8, True), (7, 7, False), (None, 7, False), (7, None, False), (None, None, False)],
)
def test_a_source_is_told_from_another_of_its_name_where_both_have_an_identity(
    recorded, told, expected
):
    assert is_another(recorded, told) is expected


def test_another_source_of_the_name_is_told_with_what_to_do():
    told = "topic 't': is not the one that bronze has rows of.*another Kafka. Name the right Kafka"
    with pytest.raises(StreamError, match=told):
        raise another(TOPIC)
