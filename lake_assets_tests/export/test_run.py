"""Exports of topics of a real broker."""

import pytest

from lake_assets.errors import ExportError
from lake_assets_tests.events import Topic
from lake_assets_tests.export.topics import (
    counted,
    export,
    fill,
    lines,
    numbers,
    range_of,
    transaction,
    visible,
)

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(services):
    made = Topic(services)
    made.create(1)
    return made


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


def test_a_topic_becomes_files_and_the_next_export_goes_on_after_them(topic, folder):
    fill(topic, *numbers(0, 25))
    (first,) = export(topic, folder, rows_per_file=10).partitions
    assert (first.first, first.after, first.rows, len(first.files)) == (0, 25, 25, 3)
    assert [path.name for path in visible(folder)] == first.files
    assert first.files[2] == f"{topic.name}-000000002-p0-20-25.jsonl"
    assert lines(folder) == numbers(0, 25)
    assert export(topic, folder).partitions[0].files == []
    fill(topic, *numbers(25, 30))
    (second,) = export(topic, folder).partitions
    assert (second.first, second.rows, second.files) == (
        25,
        5,
        [f"{topic.name}-000000003-p0-25-30.jsonl"],
    )
    assert lines(folder) == numbers(0, 30)


def test_records_that_were_aborted_and_markers_are_no_rows_and_no_loss(topic, folder):
    fill(topic, *numbers(0, 3))
    transaction(topic, *numbers(3, 6), commits=True)
    transaction(topic, *numbers(100, 160), commits=False)
    (first,) = export(topic, folder).partitions
    assert (first.rows, first.after) == (6, 3 + 4 + 61)
    transaction(topic, *numbers(100, 160), commits=False)
    (second,) = export(topic, folder).partitions
    assert (second.rows, second.files, second.after) == (0, [], 68 + 61)
    fill(topic, *numbers(6, 8))
    export(topic, folder)
    assert counted(folder) == range_of(0, 8)


def test_what_was_deleted_before_its_export_is_refused_unless_gaps_are_allowed(topic, folder):
    fill(topic, *numbers(0, 10))
    topic.delete_rows(0, before=4)
    export(topic, folder)
    assert counted(folder) == range_of(4, 10)  # before the first export nothing was promised
    fill(topic, *numbers(10, 20))
    topic.delete_rows(0, before=13)
    with pytest.raises(ExportError, match=r"offsets 10 to 12 of partition 0 were deleted.*--allow"):
        export(topic, folder)
    (done,) = export(topic, folder, allow_gaps=True).partitions
    assert [(gap.first, gap.after) for gap in done.gaps] == [(10, 13)]
    assert (done.first, done.after, done.rows) == (10, 20, 7)
    assert counted(folder) == range_of(4, 10) + range_of(13, 20)
    assert export(topic, folder).partitions[0].gaps == []


def test_a_topic_that_was_made_again_is_refused(topic, folder):
    fill(topic, *numbers(0, 5))
    export(topic, folder)
    topic.delete()
    topic.create(1)
    fill(topic, *numbers(5, 20))
    with pytest.raises(ExportError, match="made again since it was exported. Export it into anoth"):
        export(topic, folder)
    assert counted(folder) == range_of(0, 5)
