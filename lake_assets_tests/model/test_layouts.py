from datetime import timedelta

import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed
from lake_assets.model.layouts import PartitionColumn
from lake_assets.model.tables import bronze_of

DECLARED = {
    "feed": "fitness",
    "source": {"kafka": {"topic": "t"}},
    "payload": {"json": {"schema": "at timestamp, region string, model string"}},
    "route": {"column": "model", "keys": ["pulse", "vita"]},
}

DAY = PartitionColumn("at_date", "at", is_day=True)


def feed(**more):
    return Feed.model_validate({**DECLARED, **more})


@pytest.mark.parametrize(
    ("declared", "columns"),
    [
        ("region", [PartitionColumn("region", "region")]),
        ("date(at)", [DAY]),
        (["region", "DATE( at )"], [PartitionColumn("region", "region"), DAY]),
        ({"day": "date(at)"}, [PartitionColumn("day", "at", is_day=True)]),
        ([], []),
    ],
)
def test_a_table_is_partitioned_by_columns_and_by_days(declared, columns):
    assert list(feed(partition_by=declared).layout_of("pulse").partition_by) == columns


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("hour(at)", "neither a column nor date"),
        ("date(date(at))", "neither a column nor date"),
        (["region", "region"], "region"),
        ({"at": "date(at)"}, "needs a name of its own"),
        ({"place": "region"}, "partition by region"),
        ("_offset", "begins with _"),
        ("date(_kafka_timestamp)", "begins with _"),
        (7, "valid dictionary"),
    ],
)
def test_what_cannot_partition_a_table_is_refused_when_the_feed_is_loaded(declared, told):
    with pytest.raises(ValidationError, match=told):
        feed(partition_by=declared)


def test_a_key_s_layout_replaces_what_it_names_and_nothing_else():
    found = feed(
        partition_by="date(at)",
        cluster_by=["region"],
        bloom_filters=["model"],
        retention="90d",
        layouts={"vita": {"partition_by": [], "bloom_filters": [], "retention": None}},
    )
    vita, pulse = found.layout_of("vita"), found.layout_of("pulse")
    assert (vita.partition_by, vita.cluster_by, vita.retention) == ((), ("region",), None)
    assert pulse.partition_by == (DAY,)
    assert (pulse.bloom_filters, vita.bloom_filters) == (("model",), ())
    assert found.age_of(found.silver_table("vita")) is None
    age = found.age_of(found.silver_table("pulse"))
    assert age is not None
    assert age.keep == timedelta(days=90)


def test_rows_of_one_key_alone_may_leave():
    found = feed(layouts={"vita": {"retention": {"column": "at", "keep": "30d"}}})
    assert found.lets_rows_go
    assert found.age_of(found.silver_table("pulse")) is None
    age = found.age_of(found.silver_table("vita"))
    assert age is not None
    assert age.columns == ("at", "_kafka_timestamp")
    assert found.age_of(bronze_of("fitness")) is None


def test_layouts_of_what_is_no_key_are_refused_unless_keys_come_along():
    layouts = {"tempo": {"cluster_by": ["region"]}}
    with pytest.raises(ValidationError, match="tempo is no key of this feed"):
        feed(layouts=layouts)
    route = {"column": "model", "unknown": "create"}
    assert feed(layouts=layouts, route=route).layout_of("tempo").cluster_by == ("region",)


@pytest.mark.parametrize("name", ["cluster_by", "bloom_filters"])
def test_a_column_that_is_named_twice_is_refused(name):
    with pytest.raises(ValidationError, match=rf"{name}\n.*two columns are called region"):
        feed(**{name: ["region", "region"]})
    with pytest.raises(ValidationError, match=rf"{name}\n.*two columns are called region"):
        feed(layouts={"vita": {name: ["region", "region"]}})


def test_a_layout_that_says_nothing_is_refused():
    with pytest.raises(ValidationError, match="says nothing"):
        feed(layouts={"vita": {}})


def test_a_feed_without_a_route_has_a_layout_by_its_name():
    found = feed(route=None, layouts={"fitness": {"partition_by": "region"}})
    (column,) = found.layout_in(found.silver_table("fitness")).partition_by
    assert column.expression == "region"
