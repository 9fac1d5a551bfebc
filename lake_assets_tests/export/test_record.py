import json

import pytest

from lake_assets.export.record import Gap, Newest, Record

RECORD = Record(
    topic="t",
    cluster="c",
    identity=2**62,
    format="jsonl",
    number=3,
    offsets={0: 10, 12: 2**62},
    newest={12: Newest(offset=2**62 - 1, at_ms=-1)},
    gaps=(Gap(partition=0, first=3, after=5),),
    placing="t-000000002-p0-0-10.jsonl",
)


def test_a_record_is_read_back_as_it_was_written():
    assert Record.read(RECORD.text()) == RECORD


@pytest.mark.parametrize("length", range(0, 200, 9))
def test_a_torn_record_is_none(length):
    assert Record.read(RECORD.text()[:length]) is None


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": {"0": -1}},
        {"offsets": {"-1": 1}},
        {"offsets": {"x": 1}},
        {"format": "avro"},
        {"number": None},
        {"more": 1},
    ],
)
def test_a_record_with_what_cannot_be_is_none(change):
    assert Record.read(json.dumps({**json.loads(RECORD.text()), **change})) is None
