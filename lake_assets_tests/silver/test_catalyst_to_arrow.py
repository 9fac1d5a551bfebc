from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

from lake_assets.model.expectations import Expectation
from lake_assets.silver.arrow_evaluator import NotEvaluableError, marks_of
from lake_assets.silver.catalyst_to_arrow import program_of
from lake_assets.silver.expectation_marks import marks
from lake_assets.spark.conditions import without_ansi

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("other", pa.string()),
        ("level", pa.int32()),
        ("total", pa.int64()),
        ("share", pa.float64()),
        ("is_new", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("tags", pa.list_(pa.string())),
    ]
)

NAMES = ["", " ", "a", "b ", "Ann", "ann", "a%b", "a.b", "00:1f:aa", "x" * 17, "z_9", "-", None]
WORDS = [*NAMES, "é", "ß", "İ", "\U0001d4b3", "日本", "a\n", "a\r", "\u2028", "line\nbreak"]
NUMBERS = [-1, 0, 1, 2, 3, 10, 2**31 - 1, None]
TIMES = [
    datetime(1969, 12, 31, tzinfo=UTC),
    datetime(2020, 1, 1, tzinfo=UTC),
    datetime(2026, 11, 21, 10, 0, 0, 1, tzinfo=UTC),
    datetime(9999, 1, 1, tzinfo=UTC),
    None,
]

TAKEN = [
    "name <> ''",
    "name = other",
    "name < other",
    "name >= 'b'",
    "name <=> other",
    "name is null or other is not null",
    "not (name = 'a' and level > 1)",
    "name in ('a', 'ann', '')",
    "level not in (1, 2, 3)",
    "total in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
    "level between 1 and 3",
    "length(name) between 1 and 3",
    "coalesce(level, 0) not between 1 and 3",
    "name in ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'ann')",
    "coalesce(level, 0) > 1",
    "coalesce(name, other, 'x') <> 'x'",
    "length(name) = 1",
    "length(name) < length(other)",
    "name like 'a%'",
    "name like '% '",
    "name not like '%.%'",
    "name like 'a%b'",
    "startswith(name, 'a')",
    "is_new",
    "is_new or level = 1",
    "is_new <=> true",
    "day >= date'2020-01-01'",
    "at >= timestamp'2020-01-01'",
    "at < current_timestamp() + interval 1 day",
    "at is not null and day is not null",
    "level + 0 > 1 or true",
    "level + 1 > 2",
    "level > total",
    "level * total = total - level",
    "trim(name) <> ''",
    "concat(name, '-', other) <> 'a-b '",
    "case when level > 1 then name when is_new then other end = 'a'",
    "if(level > 1, null, name) is null",
    "substring(name, 2, 3) = '%b'",
    "left(name, 1) = 'a'",
    "cast(at as date) = day",
    "share is null",
    "size(tags) > 0 or true",
    "tags is not null",
]

PLAIN_ONLY = [
    "name = lower(name)",
    "upper(name) <> name",
    "lower(name) between 'a' and 'b'",
    "name rlike '^[0-9a-f:]+$'",
    "name rlike 'a.b'",
    "name rlike '[A-Z]'",
    "name rlike '^\\\\w{1,3}$'",
    "name rlike '[^a-z ]'",
]

FOR_SPARK = [
    "share > 0.5",
    "share + 1 > 1",
    "level / 2 > 1",
    "try_add(level, 1) > 2",
    "trim('a' from name) <> ''",
    "substring(name, -1, 1) = 'a'",
    "cast(share as string) = '0.1'",
    "array_contains(tags, 'a')",
    "name rlike '(?i)a'",
    "name rlike 'a|b'",
    "name rlike '[a&&b]'",
    "name rlike '\\\\s'",
    "name rlike other",
    "name = level",
    "rand() > 0.5",
    "cast(name as int) > 1",
    "date_trunc('day', at) = at",
    "name like 'a_b%c'",
]


def rows(names, count=400):
    def pick(values, step):
        return [values[(i * step + i // len(values)) % len(values)] for i in range(count)]

    return pa.RecordBatch.from_pydict(
        {
            "name": pick(names, 1),
            "other": pick(names, 5),
            "level": pick(NUMBERS, 3),
            "total": pick([*NUMBERS[:-2], 2**40, None], 5),
            "share": pick([0.1, float("nan"), None], 1),
            "is_new": pick([True, False, None], 2),
            "day": pick([date(1969, 1, 1), date(2020, 1, 1), date(2026, 11, 21), None], 3),
            "at": pick(TIMES, 3),
            "tags": pick([["a"], [], None], 2),
        },
        schema=SCHEMA,
    )


def rules(conditions):
    return [Expectation(name=f"rule_{i}", sql=sql) for i, sql in enumerate(conditions)]


def by_spark(spark, batch, conditions):
    frame = spark.createDataFrame(pa.Table.from_batches([batch])).coalesce(1)
    with without_ansi(spark):
        return frame.select(*marks(rules(conditions))).toArrow().to_pydict()


def by_arrow(spark, batch, conditions):
    program = program_of(spark, SCHEMA, rules(conditions))
    assert program is not None, conditions
    return marks_of(batch, program.conditions).to_pydict()


@pytest.mark.parametrize("sql", TAKEN)
def test_arrow_says_of_any_value_what_spark_says(spark, sql):
    batch = rows(WORDS)
    assert by_arrow(spark, batch, [sql]) == by_spark(spark, batch, [sql])


@pytest.mark.parametrize("sql", PLAIN_ONLY)
def test_arrow_says_the_same_of_plain_text_and_is_unsure_of_other(spark, sql):
    batch = rows(NAMES)
    assert by_arrow(spark, batch, [sql]) == by_spark(spark, batch, [sql])
    with pytest.raises(NotEvaluableError):
        by_arrow(spark, rows(WORDS), [sql])


@pytest.mark.parametrize("sql", FOR_SPARK)
def test_what_may_mean_something_else_is_for_spark(spark, sql):
    assert program_of(spark, SCHEMA, rules(["name <> ''", sql])) is None


def test_many_conditions_have_their_bits_as_spark_gives_them(spark):
    conditions = [*TAKEN, *TAKEN, *TAKEN]
    batch = rows(WORDS)
    assert by_arrow(spark, batch, conditions) == by_spark(spark, batch, conditions)


def test_a_condition_that_asks_for_the_time_holds_for_one_batch(spark):
    later = f"at > current_timestamp() - interval {timedelta(days=2).days} days"
    for sql, is_fleeting in [(later, True), ("day < current_date()", True), ("level > 1", False)]:
        program = program_of(spark, SCHEMA, rules([sql]))
        assert program is not None
        assert program.is_fleeting is is_fleeting
