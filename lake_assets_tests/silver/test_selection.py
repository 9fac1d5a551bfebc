"""Computed columns: what tasks make of any value is what Spark makes of it."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import FeedError
from lake_assets.silver.arrow_evaluator import NotEvaluableError, values_of
from lake_assets.silver.selection import has_star, select, sure_only
from lake_assets.spark.conditions import without_ansi

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("level", pa.int32()),
        ("total", pa.int64()),
        ("ratio", pa.float32()),
        ("share", pa.float64()),
        ("is_new", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("owner", pa.struct([("mail", pa.string()), ("pet", pa.struct([("age", pa.int32())]))])),
        ("tags", pa.list_(pa.field("item", pa.string()))),
    ]
)

NAMES = ["", " ", "  a ", "Ann", "x" * 17, None, "ß", "\U0001d4b3ed", "日本語", "\ta\n"]
VALUES = {
    "name": NAMES,
    "tiny": [-128, 127, 0, 1, None],
    "small": [-(2**15), 2**15 - 1, 7, None],
    "level": [-(2**31), 2**31 - 1, 0, -1, 3, None],
    "total": [-(2**63), 2**63 - 1, 0, 2**53 + 1, 5, None],
    "ratio": [0.1, float("nan"), float("inf"), -0.0, 3.4e38, None],
    "share": [0.1, float("nan"), float("-inf"), -0.0, 0.0, 1e308, 5e-324, None],
    "is_new": [True, False, None],
    "day": [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31), None],
    "at": [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
        None,
    ],
    "owner": [
        {"mail": "a@b", "pet": {"age": 3}},
        {"mail": None, "pet": None},
        {"mail": "", "pet": {"age": None}},
        None,
    ],
    "tags": [["a", None], [], None],
}

IN_TASKS = [
    "level + 1",
    "level + total",
    "tiny + small",
    "cast(tiny * tiny as int)",
    "small - tiny",
    "-level",
    "-tiny",
    "total * 2",
    "total - 1",
    "level / 60d",
    "total / share",
    "level / 2",
    "share * 2 - 1",
    "share / share",
    "-share",
    "ratio + ratio",
    "ratio * share",
    "cast(level as bigint)",
    "cast(total as double)",
    "cast(total as float)",
    "cast(level as float)",
    "cast(ratio as double)",
    "cast(total as string)",
    "cast(is_new as string)",
    "cast(is_new as int)",
    "cast(at as date)",
    "to_date(at)",
    "coalesce(level, total, 0)",
    "coalesce(name, 'none')",
    "ifnull(share, 1d)",
    "nullif(level, 0)",
    "case when level > 0 then 'up' when level < 0 then 'down' end",
    "case when is_new then share else level end",
    "if(is_new, name, null)",
    "concat(name, '/', owner.mail)",
    "name || name",
    "substring(name, 2)",
    "substring(name, 1, 2)",
    "left(name, 2)",
    "trim(name)",
    "ltrim(name)",
    "rtrim(name)",
    "length(name)",
    "owner.mail",
    "owner.pet.age + 1",
    "owner.pet",
    "name in ('Ann', '')",
    "level between -1 and 5",
    "day > date'1970-01-01'",
    "at is null and not is_new",
    "tags is null",
    "size(tags)",
    "array_size(tags) + 1",
    "true",
    "1",
    "'text'",
    "cast(null as string)",
]

UNSURE = ["lower(name)", "upper(name)", "concat(lower(name), 'x')"]

BY_SPARK = [
    "try_add(level, 1)",
    "level % 2",
    "level div 2",
    "share > 0.5",
    "cast(share as string)",
    "cast(name as int)",
    "cast(share as int)",
    "cast(total as int)",
    "cast(at as string)",
    "cast(day as string)",
    "cast(at as bigint)",
    "level / 60.0",
    "round(share, 2)",
    "date_trunc('hour', at)",
    "substring(name, -2, 1)",
    "concat(tags, tags)",
    "tags[0]",
    "split(name, 'a')",
    "sha2(name, 256)",
]


def rows(names=NAMES, count=360):
    steps = {name: step for step, name in enumerate(VALUES, 1)}
    picked = {
        name: [values[(i * steps[name] + i // len(values)) % len(values)] for i in range(count)]
        for name, values in {**VALUES, "name": names}.items()
    }
    return pa.RecordBatch.from_pydict(picked, schema=SCHEMA)


def by_spark(spark, batch, sql):
    frame = spark.createDataFrame(pa.Table.from_batches([batch])).coalesce(1)
    with without_ansi(spark):
        (column,) = frame.selectExpr(f"{sql} as x").toArrow().columns
    return column.combine_chunks()


def output(spark, sql):
    (found,) = select(spark, "feed", SCHEMA, [f"{sql} as x"]).outputs
    return found


def same(have, wanted):
    """Equal, with NaN equal to itself and -0.0 not to 0.0."""
    assert [repr(value) for value in have.to_pylist()] == [
        repr(value) for value in wanted.to_pylist()
    ]


@pytest.mark.parametrize("sql", IN_TASKS)
def test_tasks_make_of_any_value_what_spark_makes(spark, sql):
    batch, found = rows(), output(spark, sql)
    have = batch[found.source] if found.source else values_of(found.node, batch)
    same(have.cast(found.kind), by_spark(spark, batch, sql))


@pytest.mark.parametrize("sql", UNSURE)
def test_tasks_are_unsure_of_some_texts_which_spark_computes_then(spark, sql):
    batch, found = rows(["a", "Ann", None]), select(spark, "feed", SCHEMA, [f"{sql} as x"])
    (one,) = found.outputs
    same(values_of(one.node, batch), by_spark(spark, batch, sql))
    with pytest.raises(NotEvaluableError):
        values_of(one.node, rows())
    assert [one.is_by_spark for one in sure_only(found).outputs] == [True]


def test_line_breaks_are_sure_where_case_alone_matters(spark):
    batch, found = rows(["a\nB", "\r", None]), output(spark, "upper(name)")
    same(values_of(found.node, batch), by_spark(spark, batch, "upper(name)"))


def test_what_expressions_have_in_common_is_computed_once(spark):
    items = ["trim(name) as a", "concat(trim(name), '!') as b", "length(trim(name)) as c"]
    batch, found = rows(), select(spark, "feed", SCHEMA, items)
    known = {}
    values = [values_of(one.node, batch, known) for one in found.outputs]
    assert len(known) == 3
    assert known[found.outputs[0].node] is values[0]
    for one, item in zip(values, items, strict=True):
        same(one, by_spark(spark, batch, item.rpartition(" as ")[0]))


@pytest.mark.parametrize("sql", ["share * -0d", "share * 0d"])
def test_a_negative_zero_is_not_taken_for_zero(spark, sql):
    batch, found = rows(), output(spark, sql)
    assert found.is_by_spark == ("-" in sql)
    if found.node:
        same(values_of(found.node, batch), by_spark(spark, batch, sql))


@pytest.mark.parametrize("sql", BY_SPARK)
def test_what_may_mean_something_else_is_sparks_to_compute(spark, sql):
    assert output(spark, sql).is_by_spark


def test_columns_are_told_with_what_they_are_made_of(spark):
    items = ["* except (tags)", "level as rank", "owner.mail as mail", "rank + total as sum"]
    found = select(spark, "feed", SCHEMA, items)
    by_name = {one.name: one for one in found.outputs}
    assert list(by_name) == [*SCHEMA.names[:-1], "rank", "mail", "sum"]
    assert by_name["name"].source == "name"
    assert by_name["rank"].source == "level"
    assert (by_name["mail"].source, by_name["mail"].reads) == (None, ("owner",))
    assert by_name["sum"].reads == ("level", "total")
    assert found.reads == ("level", "owner", "total")
    assert has_star(items)
    assert not has_star(items[1:])


RENAMED = Renames(now={"title": "name"})


def test_a_field_of_another_name_now_is_told_with_that_name(spark):
    with pytest.raises(FeedError, match=r"names title, which newer .* call name; .*Write name"):
        select(spark, "feed", SCHEMA, ["upper(title) as shown"], RENAMED)
    with pytest.raises(FeedError, match="does not compile") as told:
        select(spark, "feed", SCHEMA, ["titel as shown"], RENAMED)
    assert "newer" not in str(told.value)


def test_what_spark_computes_is_told_with_the_part_that_tasks_cannot(spark):
    items = ["concat(name, date_format(at, 'E')) as a", "level + 1 as b", "sqrt(share) as c"]
    parts = [one.spark_part for one in select(spark, "feed", SCHEMA, items).outputs]
    assert "date_format" in parts[0]
    assert "concat" not in parts[0]
    assert parts[1] == ""
    assert "sqrt" in parts[2].lower()
