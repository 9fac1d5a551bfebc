from functools import partial

import pytest

from lake_assets.validation.by_spark import judge_by_spark
from lake_assets_tests.validation.given import HEAD, report_of, told

pytestmark = pytest.mark.spark

WRONG = """select:
  - "*"
  - upper(player) as who
expectations:
  - {name: a, sql: score}
  - {name: b, sql: "count(*) > 1"}
  - {name: c, sql: "items = 1"}
  - {name: d, sql: "if(score > 1, true)"}
  - {name: e, sql: "score > 1 and"}
  - {name: f, sql: "scroe > 1"}
  - {name: g, sql: "items[0].idd = 'x'"}
  - {name: good, sql: "score > 1 and who <> ''"}
gold:
  - name: v
    keys: [player]
    measures: {n: count(*), m: score, p: percentile(score), s: sum(items), t: exact median(score)}
  - name: w
    keys: [player]
    measures: {n: count(*)}
    expectations: [{name: x, sql: "n"}]
  - {name: q, sql: "select player, count(*) as n from silver"}
  - {name: r, sql: "select player, sum(score) from silver group by player"}
  - {name: u, sql: "select player, size(m.n) as x from silver join gold.w m using (player)"}
  - {name: ok, sql: "select s.player, m.n + 1 as x from silver s join gold.w m using (player)"}
sinks:
  - {name: s, from: silver, where: "score", select: {a: "size(score)"}, rest: {url: "https://h/x"}}
"""

OF_MANY_ROWS = """gold:
  - name: v
    keys: {a: max(at), b: explode(items), c: row_number() over (order by score), d: player}
    measures: {n: count(*)}
  - name: w
    keys: [player]
    measures: {n: count(*)}
    expectations: [{name: x, sql: "max(n) > 1"}, {name: y, sql: "n > :least"}]
sinks:
  - name: s
    from: silver
    where: count(*) > 1
    select: {a: explode(items), b: sum(score), c: upper(player)}
    rest: {url: "https://h/x"}
"""


def test_what_needs_other_rows_is_told_where_a_row_stands_alone(spark, tmp_path):
    report = report_of(tmp_path, HEAD + OF_MANY_ROWS, second=partial(judge_by_spark, spark))
    found = sorted(told(error).split(" ", 1)[1] for error in report.errors)
    of_rows = "needs more than its own row (a subquery, an aggregate or a window), or makes several"
    unbound = "has a parameter (`:name` or `?`), which nobody gives a value"
    value, condition = "Compute it from its own columns", "Judge each row by its own columns"
    assert found == [
        f"gold[0].keys.a: {of_rows}. {value}",
        f"gold[0].keys.b: {of_rows}. {value}",
        f"gold[0].keys.c: {of_rows}. {value}",
        f"gold[1].expectations[0].sql: {of_rows}. {condition}",
        f"gold[1].expectations[1].sql: {unbound}. Write the value itself",
        f"sinks[0].select.a: {of_rows}. {value}",
        f"sinks[0].select.b: {of_rows}. {value}",
        f"sinks[0].where: {of_rows}. {condition}",
    ]


SAID = [
    "expectations[0].sql: is of type int, and no condition",
    "expectations[1].sql: needs more than its own row",
    'expectations[2].sql: does not compile: Cannot resolve "(items = 1)" due to data type',
    "expectations[3].sql: `if` takes 3 arguments, and here are 2",
    "expectations[4].sql: does not parse: something is missing after `and`",
    "expectations[5].sql: there is no column `scroe`. Write `score`",
    "expectations[6].sql: does not compile: No such struct field `idd` in `id`, `n`",
    "gold[0].measures.m: is no aggregate",
    "gold[0].measures.p: `percentile` takes 2, 3 arguments, and here are 1",
    'gold[0].measures.s: does not compile: Cannot resolve "sum(items)"',
    "gold[1].expectations[0].sql: is of type bigint, and no condition",
    "gold[2].sql: does not compile: The query does not include a GROUP BY clause",
    "gold[3].sql: has a column 'sum(score)', and a table cannot have such a name",
    'gold[4].sql: does not compile: Cannot resolve "size(',
    'sinks[0].select.a: does not compile: Cannot resolve "size(score)"',
    "sinks[0].where: is of type int, and no condition",
]


def test_spark_tells_all_that_only_it_knows_and_nothing_of_what_is_right(spark, tmp_path):
    report = report_of(tmp_path, HEAD + WRONG, second=partial(judge_by_spark, spark))
    found = sorted(told(error).split(" ", 1)[1] for error in report.errors)
    assert [said for said, whole in zip(SAID, found, strict=True) if said not in whole] == []
    assert not [whole for whole in found if "SQLSTATE" in whole or "_source_" in whole]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "select: ['*', max(score) as m]\n",
            "select[1]: makes several rows of one, or one of several",
        ),
        ("select: ['*', rand() as r]\n", "select[1]: asks the clock, chance or the session"),
        ("select: [game, score as game]\n", "select: makes two columns game"),
        ("select: [game, explode(itms) as i]\n", "there is no column `itms`. Write `items`"),
        ("selects: {uno: [max(score) as m]}\n", "selects.uno[0]: makes several rows of one"),
        ("keyed: {by: player, order: 'upper(at, 1)'}\n", "keyed.order[0]: `upper` takes 1"),
    ],
)
def test_spark_judges_what_is_selected(spark, tmp_path, text, said):
    report = report_of(tmp_path, HEAD + text, second=partial(judge_by_spark, spark))
    assert said in " ".join(map(told, report.errors))


def test_a_route_holds_keys(spark, tmp_path):
    text = HEAD.replace("column: game", "sql: 'array(game)'")
    (found,) = report_of(tmp_path, text, second=partial(judge_by_spark, spark)).errors
    assert "route.sql: is array<string>, which holds no keys" in found.fact


def test_what_spark_takes_is_right_whatever_the_quick_judge_says(spark, tmp_path):
    """Such as `!>`, which is `<=` in Spark, and which sqlglot does not read."""
    text = 'expectations: [{name: e, sql: "score !> 1"}]\n'
    assert report_of(tmp_path, HEAD + text).errors
    assert report_of(tmp_path, HEAD + text, second=partial(judge_by_spark, spark)).errors == ()


def test_a_feed_without_a_known_schema_is_left_to_the_quick_judge(spark, tmp_path):
    text = "feed: f\nsource: {kafka: {topic: t}}\npayload: {json: {infer: true}}\n"
    text += 'expectations: [{name: e, sql: "lenght(a) > 1"}]\n'
    (found,) = report_of(tmp_path, text, second=partial(judge_by_spark, spark)).errors
    assert "there is no function `lenght`. Write `length`" in told(found)
