import pytest

from lake_assets.bronze.offsets import (
    another,
    continuation,
    continuation_in_another,
    gaps_in,
    is_another,
)
from lake_assets.errors import StreamError
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.origins import Extent
from lake_assets.model.sources import KafkaSource
from lake_assets_tests.places import t

TOPIC = KafkaSource(topic="t")
RECORDING = KafkaSource(topic="t", on_gap="record")
EXTENT = Extent(begins=t({0: 2, 1: 0}), ends=t({0: 9, 1: 5}))


def gap(partition, start, end, reason=GapReason.DELETED):
    return Gap(source="t", partition=partition, offset_from=start, offset_to=end, reason=reason)


def test_a_partition_that_came_since_is_read_from_its_beginning():
    found = continuation(TOPIC, EXTENT, t({0: 5}))
    assert (found.starts, found.gaps) == (t({0: 5, 1: 0}), ())


def test_a_partition_that_was_read_to_its_end_goes_on_there():
    assert continuation(TOPIC, EXTENT, t({0: 9, 1: 5})).starts == t({0: 9, 1: 5})


@pytest.mark.parametrize(
    ("have", "fact"),
    [
        (
            t({0: 1}),
            "of topic 't': begins at offset 2, and bronze needs offset 1 next: Kafka deleted 1 off",
        ),
        (t({1: 5}), "of topic 't': begins at offset 2, and bronze needs offset 0 next"),
        (t({0: 10}), "partition 0 .* ends at offset 9, and bronze has its rows up to offset 10"),
        (t({3: 1}), "partition 3 .* is not there"),
    ],
)
def test_a_source_without_the_rows_that_come_next_is_refused(have, fact):
    with pytest.raises(StreamError, match=fact):
        continuation(TOPIC, EXTENT, have)


def test_what_was_deleted_is_passed_over_and_told_where_that_is_asked_for():
    found = continuation(RECORDING, EXTENT, t({0: 0, 1: 3}))
    assert (found.starts, found.gaps) == (t({0: 2, 1: 3}), (gap(0, 0, 2),))


def test_a_partition_that_came_since_and_lost_its_first_rows_has_a_gap():
    found = continuation(RECORDING, EXTENT, t({1: 3}))
    assert (found.starts, found.gaps) == (t({0: 2, 1: 3}), (gap(0, 0, 2),))


def test_of_a_bronze_that_does_not_tell_its_partitions_none_came_since():
    found = continuation(TOPIC, EXTENT, t({1: 3}), knows_all=False)
    assert (found.starts, found.gaps) == (t({0: 2, 1: 3}), ())


def test_no_gap_is_told_of_rows_that_are_still_there():
    assert gaps_in(EXTENT, t({0: 2, 1: 0})) == ()


@pytest.mark.parametrize("have", [t({0: 10}), t({3: 1})])
def test_a_source_that_never_had_what_bronze_has_is_refused_also_if_gaps_are_recorded(have):
    with pytest.raises(StreamError, match="it was created again"):
        continuation(RECORDING, EXTENT, have)


def test_another_source_is_refused_unless_gaps_are_recorded():
    with pytest.raises(StreamError, match="is not the one that bronze has rows of"):
        continuation_in_another(TOPIC, "t", EXTENT, t({0: 1}), t({0: 1}))


def test_another_source_whose_offsets_are_all_new_is_gone_on_with_from_its_beginning():
    found = continuation_in_another(RECORDING, "t", EXTENT, t({0: 1}), t({0: 1, 1: 7}))
    assert found.starts == t({0: 2, 1: 0})
    assert found.gaps == (gap(0, 1, 2, GapReason.RECREATED),)


@pytest.mark.parametrize(
    ("have", "recorded"),
    [(t({0: 3}), {}), (t({0: 1, 1: 1}), {}), (t({0: 1, 2: 4}), {}), (t({0: 1}), t({0: 3}))],
)
def test_another_source_that_has_offsets_of_bronze_s_rows_again_is_refused(have, recorded):
    told = "ha(s|ve) offset . again, of which bronze may have another row .* Name it otherwise"
    with pytest.raises(StreamError, match=told):
        continuation_in_another(RECORDING, "t", EXTENT, have, recorded)


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
        raise another(TOPIC, "t")
