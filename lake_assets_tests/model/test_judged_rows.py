"""Changes of keyed tables before they are silver: which are judged by what."""

import pyarrow as pa
import pytest

from lake_assets.delta.log_history import open_table
from lake_assets.model.reports import Judged
from lake_assets.silver.recount_expectations import count
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.silver.routing import bronze_rows, feed, open_events

pytestmark = pytest.mark.spark

KEYED = {"by": "level", "order": "_offset", "tombstones": True}


@pytest.fixture
def lake(spark, settings):
    with open_events(spark, settings) as found:
        yield found


def changes(*keys_and_values):
    rows = bronze_rows(*(value for _, value in keys_and_values))
    return rows.append_column("key", pa.array([key for key, _ in keys_and_values], pa.binary()))


def silver(lake, declared):
    names = ("level", "kind", "_tombstone")
    return [[row[one] for one in names] for row in lake.read(declared.silver_table("events"))]


def counted(lake, declared):
    handle = open_table(lake_of(lake.settings), declared.silver_table("events"))
    assert handle is not None
    assert handle is not None
    return count(lake.spark, declared, [handle], pa.schema(handle.schema()))


@pytest.mark.parametrize("action", ["drop", "quarantine", "fail"])
@pytest.mark.parametrize("sql", ["kind is not null -- known", "replace(kind, ' ', '') = kind"])
def test_what_is_expected_of_values_is_not_expected_of_tombstones(lake, action, sql):
    """Also where Spark judges, and not the tasks that decode."""
    expectations = [{"name": "has_kind", "sql": sql, "action": action}]
    declared = feed([], keyed=KEYED, expectations=expectations)
    assert declared.expectations[0].sql == sql
    lake.take(declared, changes((b"1", {"level": 1, "kind": "a"}), (b"1", None)))
    assert silver(lake, declared) == [[1, "a", None], [1, None, True]]
    if action != "fail":
        lake.take(declared, changes((b"2", {"level": 2}), (b"1", {"level": 1, "kind": "b"})))
        assert [row[:2] for row in silver(lake, declared)] == [[1, "a"], [1, "b"], [1, None]]
    assert counted(lake, declared)["events", "has_kind"].violated == 0


def test_a_tombstone_that_a_select_took_its_key_from_is_refused(lake):
    items = ["* except (level)", "case when kind = 'a' then level end as level"]
    declared = feed([], keyed=KEYED, select=items)
    lake.take(declared, changes((b"1", {"level": 1, "kind": "a"}), (b"1", None)))
    assert silver(lake, declared) == [[1, "a", None]]
    assert lake.refused() == [(1, "expectation", "current_has_key_and_order")]


def test_silver_from_before_tombstones_is_counted_as_it_is(lake):
    expectations = [{"name": "has_kind", "sql": "kind is not null"}]
    before = feed([], expectations=expectations)
    lake.take(before, bronze_rows({"level": 1}, {"level": 2, "kind": "b"}))
    declared = feed([], keyed=KEYED, expectations=expectations)
    assert counted(lake, declared)["events", "has_kind"] == Judged(seen=2, violated=1)


@pytest.mark.parametrize(
    ("order", "offsets"),
    [
        ("__lsn", [0]),
        ("`__lsn`", [0]),
        (["__lsn", "_offset"], [0]),
        ("__lsn + _offset", [0, 1]),
        ("coalesce(_offset, 0)", [0, 1]),
    ],
)
def test_an_order_that_values_lack_is_told_whatever_its_name(lake, order, offsets):
    """What reads where a row came from is not judged: that is not there yet."""
    payload = {"schema": "kind string, level int, __lsn bigint"}
    declared = feed([], keyed={"by": "level", "order": order}, payload=payload)
    lake.take(declared, bronze_rows({"level": 1, "__lsn": 1}, {"level": 2}))
    assert lake.offsets(declared) == {"events": offsets}
    if len(offsets) == 1:
        assert lake.refused() == [(1, "expectation", "current_has_key_and_order")]
