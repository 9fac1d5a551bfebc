from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.logs.gaps import record_gaps, recorded_gaps
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.tables import GAPS
from lake_assets.spark.lake_context import open_lake

AT = datetime(2026, 11, 24, 1, 2, 3, tzinfo=UTC)


@pytest.fixture
def context(settings):
    with open_lake(settings) as opened:
        yield opened


def gap(start, end, partition=0):
    return Gap(
        source="t",
        partition=partition,
        offset_from=start,
        offset_to=end,
        reason=GapReason.DELETED,
    )


def rows(settings):
    table = DeltaTable(settings.lake_dir / GAPS.relative).to_pyarrow_table()
    return sorted(
        (r["feed"], r["partition"], r["offset_from"], r["offset_to"], r["reason"], r["time"])
        for r in table.to_pylist()
    )


def test_a_gap_is_in_the_table_with_its_range_and_reason(context, settings):
    assert record_gaps(context, "games", [gap(1, 5), gap(0, 2, 1)], AT) == [gap(1, 5), gap(0, 2, 1)]
    assert rows(settings) == [
        ("games", 0, 1, 5, "deleted", AT),
        ("games", 1, 0, 2, "deleted", AT),
    ]
    assert sorted(r.gap for r in recorded_gaps(context.lake, "games")) == [
        gap(1, 5),
        gap(0, 2, 1),
    ]


def test_a_gap_is_recorded_once_however_often_it_is_told(context, settings):
    record_gaps(context, "games", [gap(1, 5)], AT)
    version = DeltaTable(settings.lake_dir / GAPS.relative).version()
    assert record_gaps(context, "games", [gap(1, 5)], AT) == []
    assert DeltaTable(settings.lake_dir / GAPS.relative).version() == version


def test_a_gap_that_grew_before_it_was_passed_has_its_rest_recorded(context, settings):
    record_gaps(context, "games", [gap(1, 5)], AT)
    record_gaps(context, "games", [gap(1, 9)], AT)
    assert [row[2:4] for row in rows(settings)] == [(1, 5), (5, 9)]


def test_feeds_have_gaps_of_their_own(context):
    record_gaps(context, "games", [gap(1, 5)], AT)
    record_gaps(context, "other", [gap(1, 5)], AT)
    assert [r.feed for r in recorded_gaps(context.lake, "other")] == ["other"]


def test_without_a_gap_there_is_no_table(context, settings):
    assert record_gaps(context, "games", [], AT) == []
    assert recorded_gaps(context.lake, "games") == []
    assert not (settings.lake_dir / GAPS.relative).exists()


def test_a_row_with_a_reason_of_a_later_release_is_left_to_it(context, settings):
    record_gaps(context, "games", [gap(1, 5)], AT)
    table = DeltaTable(settings.lake_dir / GAPS.relative)
    foreign = table.to_pyarrow_table().to_pylist()[0] | {"reason": "unheard of", "offset_to": 99}
    import pyarrow as pa

    write_deltalake(
        table,
        pa.Table.from_pylist([foreign], schema=table.to_pyarrow_table().schema),
        mode="append",
    )
    assert [r.gap for r in recorded_gaps(context.lake, "games")] == [gap(1, 5)]
