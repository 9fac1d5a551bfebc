import pyarrow as pa
import pytest

from lake_assets.delta.renamed_columns import Renames
from lake_assets.delta.table_layout import MADE_OF, layout_in, made_of
from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.silver.layouts import (
    ensure_possible,
    misfit,
    table_columns,
    tables_columns,
    with_partition_sources,
    write_layout,
)
from lake_assets.silver.rows import decoded_part

UTC = pa.timestamp("us", "UTC")

DECODED = pa.schema(
    [("at", UTC), ("region", pa.string()), ("score", pa.float64()), ("tags", pa.list_(pa.string()))]
)


def feed(**more):
    declared = {
        "feed": "fitness",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"json": {"schema": "at timestamp, region string"}},
        "route": {"column": "model", "keys": ["pulse", "vita"]},
    }
    return Feed.model_validate({**declared, **more})


def layout_of(declared):
    return feed(partition_by=declared).layout_of(None).partition_by


ORIGIN = feed().source.origin


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("nothing", "column nothing, which the feed's schema does not have"),
        ("date(nothing)", "column nothing"),
        ("date(region)", "the day of region, which is string and no timestamp"),
        ("score", "names score, which is double"),
        ("tags", "names tags, which is array"),
        ("at", "names at, which is timestamp"),
        ({"Region": "date(at)"}, "makes a column Region, and rows have one of that name"),
    ],
)
def test_what_rows_cannot_be_partitioned_by_is_refused(declared, told):
    found = feed(partition_by=declared)
    with pytest.raises(FeedError, match=told):
        ensure_possible(found, found.layout_of(None).partition_by, DECODED)


def test_a_day_is_a_column_of_the_table_and_no_decoded_one():
    columns = table_columns(DECODED, ORIGIN, layout_of({"day": "date(at)"}))
    assert columns.field("day").type == pa.date32()
    assert decoded_part(columns, ORIGIN) == DECODED


def test_keys_of_several_layouts_have_columns_of_their_own():
    """Also where these differ in nothing but what a day is made of."""
    two = pa.schema([*DECODED, ("later", UTC)])
    found = feed(
        partition_by={"day": "date(at)"}, layouts={"vita": {"partition_by": {"day": "date(later)"}}}
    )
    columns = tables_columns(found, ["pulse", "vita"], [two, two], Renames())
    made_of = [schema.field("day").metadata[MADE_OF.encode()] for schema in columns.values()]
    assert made_of == [b"date(at)", b"date(later)"]


def fit(table, names, wanted):
    return misfit(layout_in(names, made_of(table)), wanted)


def test_a_table_fits_if_it_is_split_by_the_same_columns_made_of_the_same():
    wanted = layout_of(["region", "date(at)"])
    table = table_columns(DECODED, ORIGIN, wanted)
    assert fit(table, ["region", "at_date"], wanted) == ""
    assert fit(table, ["at_date", "region"], wanted).endswith(
        "at_date = date(at), region, and the feed says region, at_date = date(at)"
    )
    assert fit(table, [], wanted).startswith("is partitioned by nothing, and the feed says")
    assert fit(table, ["region"], ()).endswith("the feed says nothing")
    theirs = pa.schema([*DECODED, ("at_date", pa.date32())])
    assert "is partitioned by region, at_date, and" in fit(theirs, ["region", "at_date"], wanted)


def test_a_column_that_no_row_used_yet_is_there_if_tables_are_split_by_it():
    unused = pa.schema([("region", pa.string()), ("other", pa.string())])
    found = feed(layouts={"vita": {"partition_by": "region"}})
    columns = with_partition_sources(found, pa.schema([("at", UTC)]), unused)
    assert columns.names == ["at", "region"]


def test_rows_are_written_with_the_day():
    layout = write_layout(pa.schema([("at", UTC)]), ORIGIN, layout_of("date(at)"))
    rows = {name: pa.nulls(1, layout.schema.field(name).type) for name in layout.schema.names}
    rows["at"] = pa.array([86_400_000_000 - 1], UTC)
    (row,) = layout.select(pa.table(rows)).to_pylist()
    assert str(row["at_date"]) == "1970-01-01"
    assert layout.partition_by == ("at_date",)
