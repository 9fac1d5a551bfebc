from dataclasses import replace

import pytest

from lake_assets.errors import ExportError
from lake_assets.export.plan import (
    Range,
    TopicFacts,
    ensure_same,
    first_record,
    gap_before,
    ranges_due,
)
from lake_assets.export.record import Gap, Newest

FACTS = TopicFacts(topic="t", cluster="c", identity=7, bounds={0: (5, 20), 1: (0, 0)})
RECORD = first_record(FACTS, "jsonl")


def at(**offsets):
    return RECORD.model_copy(update={"offsets": {int(p[1:]): o for p, o in offsets.items()}})


def due(record, facts=FACTS):
    return [(one.partition, one.first, one.after) for one in ranges_due(record, facts)]


def test_an_export_begins_with_the_oldest_record_that_there_is():
    assert RECORD.offsets == {0: 5, 1: 0}
    assert due(RECORD) == [(0, 5, 20)]
    assert gap_before(RECORD, 0, FACTS, allow_gaps=False) is None


def test_it_goes_on_where_it_ended_and_takes_new_partitions_from_their_first_record():
    grown = replace(FACTS, bounds={0: (5, 20), 1: (0, 3), 2: (0, 4)})
    assert ranges_due(at(p0=20, p1=1), grown) == [
        Range(partition=1, first=1, after=3),
        Range(partition=2, first=0, after=4),
    ]


@pytest.mark.parametrize(
    ("record", "partition", "gap"),
    [(at(p0=3, p1=0), 0, (3, 5)), (at(p1=0), 0, (0, 5)), (at(p0=5, p1=0), 0, None)],
)
def test_what_was_deleted_before_its_turn_is_a_gap(record, partition, gap):
    found = gap_before(record, partition, FACTS, allow_gaps=True)
    expected = gap and Gap(partition=partition, first=gap[0], after=gap[1])
    assert found == expected


def test_a_gap_is_refused_unless_it_is_allowed():
    with pytest.raises(ExportError) as refusal:
        gap_before(at(p0=1_003), 0, replace(FACTS, bounds={0: (2_000, 2_001)}), allow_gaps=False)
    assert str(refusal.value) == (
        "topic 't': offsets 1,003 to 1,999 of partition 0 were deleted (by retention, or "
        "DeleteRecords) before they were exported. Go on after them by --allow-gaps; nothing was "
        "lost of what is in the folder"
    )


@pytest.mark.parametrize(
    ("facts", "fact"),
    [
        (replace(FACTS, cluster="d"), "is one of cluster d, not c"),
        (replace(FACTS, identity=8), "was deleted and made again since it was exported"),
        (replace(FACTS, bounds={0: (0, 20)}), "has no partition 1, which was exported"),
        (
            replace(FACTS, bounds={0: (0, 4), 1: (0, 0)}),
            "partition 0 ends at offset 4, and was exported up to 5",
        ),
    ],
)
def test_another_topic_is_refused(facts, fact):
    with pytest.raises(ExportError) as refusal:
        ranges_due(RECORD, facts)
    step = "Export it into another folder; what is in this one stays as it is"
    assert str(refusal.value) == f"topic 't': {fact}. {step}"


def test_another_record_at_the_offset_of_the_newest_is_refused():
    newest = {0: Newest(offset=1_004, at_ms=77), 1: Newest(offset=3, at_ms=5)}
    record = RECORD.model_copy(update={"newest": newest})
    ensure_same(record, replace(FACTS, times={0: 77}))  # partition 1 has lost it, or it is too old
    with pytest.raises(ExportError, match="another record at offset 1,004 of partition 0 than was"):
        ensure_same(record, replace(FACTS, times={0: 78, 1: 5}))


def test_what_old_brokers_do_not_tell_is_not_compared():
    untold = replace(FACTS, cluster=None, identity=None)
    ensure_same(RECORD, untold)
    ensure_same(first_record(untold, "jsonl"), FACTS)
