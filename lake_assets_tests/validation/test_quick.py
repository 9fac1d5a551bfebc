import pytest

from lake_assets_tests.validation.given import HEAD, report_of, told

EXPECTATION = 'expectations:\n  - {name: e, sql: "%s"}\n'
MEASURE = 'gold:\n  - {name: v, keys: [player], measures: {m: "%s"}}\n'
QUERY = "gold:\n  - name: v\n    sql: |\n      %s\n"


def faults(tmp_path, text):
    return [told(error) for error in report_of(tmp_path, HEAD + text).errors]


@pytest.mark.parametrize(
    ("sql", "column", "said"),
    [
        ("player is nott null", 31, "there is no column `nott`. Write `not`, if that is meant"),
        ("scroe > 1", 21, "there is no column `scroe`. Write `score`"),
        ("lenght(player) > 1", 21, "there is no function `lenght`. Write `length`"),
        ("device.oss = 'x'", 21, "`device` has no field `oss`. Write `os`"),
        ("score > 1 and", 31, "does not parse: something is missing after `and`. Correct it"),
        ("score between 1", 35, "does not parse: something is missing after `1`. Correct it"),
        ("not(score > 1", 33, "does not parse: `)` is missing at `1`. Correct it there"),
        ("player ~ 'x'", 28, "does not parse: `~` does not go there after `player`. Correct it"),
        ("score = 1 or or game = 'x'", 34, "does not parse: something is missing before `or`"),
        ("at > '2026-01-01", 15, "does not parse: a quote or a comment is not closed. Close it"),
        ("score > 1; drop table x", 15, "is no condition. Write one such as player <> ''"),
        ("score > 1 as ok", 34, "reads as `score > 1` with the name `ok`. Leave `ok` out"),
        ("score > 1, game = 'x'", 15, "is 2 expressions with commas between them"),
        ("exists(items, i -> i.n > scoore)", 46, "there is no column `scoore`. Write `score`"),
        ("_offset > 3", 21, "there is no column `_offset`. Columns here are at, game, player"),
    ],
)
def test_a_condition_that_is_wrong_is_told_where_it_is(tmp_path, sql, column, said):
    (found,) = faults(tmp_path, EXPECTATION % sql)
    assert found.startswith(f"10:{column} expectations[0].sql: {said}")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("coutn(*)", "there is no function `coutn`. Write `count`"),
        ("sum(scor)", "there is no column `scor`. Write `score`"),
        ("exact median(scor)", "there is no column `scor`. Write `score`"),
        ("count(*) filter (where scoer > 1)", "there is no column `scoer`. Write `score`"),
        ("count(*", "does not parse: `)` is missing at `*`"),
    ],
)
def test_a_measure_that_is_wrong_is_told(tmp_path, sql, said):
    (found,) = faults(tmp_path, MEASURE % sql)
    assert f"gold[0].measures.m: {said}" in found


@pytest.mark.parametrize(
    ("sql", "missing", "right"),
    [
        ("select playr, count(*) as n from silver group by player", "playr", "player"),
        ("select player, nn from (select player, count(*) n from silver group by 1)", "nn", "n"),
        ("select s.player, s.scor from silver s", "scor", "score"),
        ("select player, rank() over (order by scre) as r from silver", "scre", "score"),
        ("with x as (select playr from silver) select * from x", "playr", "player"),
        ("select playr from (select playr from silver)", "playr", "player"),
        ("select player from silver where score > (select avg(scr) from silver)", "scr", "score"),
        ("with q as (select player p from silver) select p, gam from q, silver", "gam", "game"),
        ("select player from silver union select scor from silver", "scor", "score"),
        ("select player as p from silver order by scorre", "scorre", "score"),
    ],
)
def test_a_query_that_reads_what_no_table_has_is_told(tmp_path, sql, missing, right):
    (found,) = faults(tmp_path, QUERY % sql)
    assert f"gold[0].sql: there is no column `{missing}`. Write `{right}`" in found
    line, column = map(int, found.split(" ")[0].split(":"))
    assert (QUERY % sql).splitlines()[line - 9][column - 1 :].split(".")[-1].startswith(missing[:2])


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) n, game g from silver_all group by g",
        "select t.col from silver lateral view explode(items) t as col",
        "select a.player, b.x from silver a cross join (select 1 as x) b",
        "select player, lead(score) over w as s from silver window w as (order by at)",
        "select timestampdiff(hour, at, at) d, extract(day from at) e, current_date t from silver",
        "select player, score * 2 as twice, twice + 1 as more from silver",
        "select _topic, _offset, tags['a'] as a, device.os from silver where current_user <> ''",
        "select transform(items, i -> i.n + score) as s from silver order by s",
        "with q as (select * except (score) from silver) select whatever from q",
    ],
)
def test_what_is_right_is_not_refused(tmp_path, sql):
    assert faults(tmp_path, QUERY % sql) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select: ['*', upper(plyer) as p]\n", "select[1]: there is no column `plyer`"),
        ("select: ['* except (plyer)']\n", "select[0]: there is no column `plyer`"),
        ("selects: {poker: [scoree as s]}\n", "selects.poker[0]: there is no column `scoree`"),
        ("mask: {plyer: hash}\n", "mask.plyer: there is no column `plyer`. Write `player`"),
        ("mask: {score: hash}\n", "mask.score: `score` is int, and only text is hidden"),
        ("partition_by: [date(player)]\n", "`player` is string, and it must be a timestamp"),
        ("partition_by: [items]\n", "and no table is partitioned by such values"),
        ("cluster_by: [plyer]\n", "cluster_by[0]: there is no column `plyer`. Write `player`"),
        ("layouts: {uno: {bloom_filters: [ply]}}\n", "layouts.uno.bloom_filters[0]: there is no"),
        ("deduplicate: {key: [idd], within: 1h}\n", "deduplicate.key[0]: there is no column `idd`"),
        ("retention: {column: att, keep: 90d}\n", "retention.column: there is no column `att`"),
        ("checks: [{name: c, unique: [plyer]}]\n", "checks[0].unique[0]: there is no column"),
        (
            "checks: [{name: c, row_count: {min: 1}, keys: [pokr]}]\n",
            "checks[0].keys[0]: no route makes a key `pokr`. Write `poker`",
        ),
        (
            'expectations: [{name: e, sql: "score > 1", keys: [chess]}]\n',
            "expectations[0].keys[0]: no route makes a key `chess`. Keys are poker, uno",
        ),
        ("keyed: {by: idd, order: at}\n", "keyed.by[0]: there is no column `idd`"),
        ("keyed: {by: player, order: att}\n", "keyed.order[0]: there is no column `att`"),
        (
            "gold: [{name: v,windows: {time: aat,every: 1m,watermark: 1s},measures: {n: pi()}}]",
            "gold[0].windows.time: there is no column `aat`. Write `at`",
        ),
        (
            "gold: [{name: v, keys: [playerr], measures: {n: count(*)}}]",
            "gold[0].keys[0]: there is no column `playerr`. Write `player`",
        ),
        ("layouts: {chess: {cluster_by: [at]}}\n", "layouts: chess is no key of this feed"),
        ("run: 0 0 31 2 *\n", "run: '0 0 31 2 *' never comes: no month has that day"),
        ("trigger: 1M\n", "trigger: '1M' may be minutes or months"),
    ],
)
def test_a_name_that_is_wrong_is_told(tmp_path, text, said):
    (found,) = faults(tmp_path, text)
    assert said in found


def test_a_sink_reads_what_its_table_has(tmp_path):
    sink = (
        'sinks: [{name: s, from: gold.v, where: "m > 1", select: {a: n, b: lowr(player), c: game}'
    )
    view = "gold: [{name: v, keys: [player], measures: {n: count(*)}}]\n"
    found = faults(tmp_path, f"{view}{sink}, rest: {{url: 'https://h/x'}}}}]\n")
    assert [one.split(" ", 1)[1] for one in found] == [
        "sinks[0].where: there is no column `m`. Columns here are player, n, game",
        "sinks[0].select.b: there is no function `lowr`. Write `lower`",
    ]


VIEWS = """gold:
  - {name: v, keys: [player], measures: {n: count(*)}}
  - {name: q, sql: "select player, count(*) as n from silver group by player"}
  - {name: k, keyed: {by: [player], order: score}}
"""

SQL = "sql: {url: 'postgresql://h/d', table: t, %s}"


@pytest.mark.parametrize(
    ("sink", "place", "said"),
    [
        ("from: silver, kafka: {topic: o, key: playr}", "kafka.key", "`playr`. Write `player`"),
        ("from: silver, kafka: {topic: o, key: Player}", "kafka.key", "`Player`. Write `player`"),
        ("from: silver, kafka: {topic: o, key: _offset}", "kafka.key", "`_offset`. Columns here"),
        (f"from: silver, {SQL % 'key: [at, gam]'}", "sql.key[1]", "`gam`. Write `game`"),
        (f"from: silver, {SQL % 'key: [at], version: scor'}", "sql.version", "`scor`. Write"),
        ("from: gold.v, kafka: {topic: o, key: score}", "kafka.key", "`score`. Columns here are"),
        ("from: gold.k, key: [playr], kafka: {topic: o}", "key[0]", "`playr`. Write `player`"),
        ("from: gold.k, kafka: {topic: o, key: scor}", "kafka.key", "`scor`. Write `score`"),
        ("from: gold.q, kafka: {topic: o, key: _change_type}", "kafka.key", "`_change_type`."),
    ],
)
def test_a_field_that_a_sink_does_not_send_is_told(tmp_path, sink, place, said):
    (found,) = faults(tmp_path, f"{VIEWS}sinks: [{{name: s, {sink}}}]\n")
    assert f" sinks[0].{place}: there is no column {said}" in found


@pytest.mark.parametrize(
    "sink",
    [
        "from: silver, kafka: {topic: o, key: player}",
        "from: silver, kafka: {topic: o, key: who}, select: {who: player}",
        f"from: silver, {SQL % 'key: [at, game], version: score'}",
        "from: gold.q, key: [player], kafka: {topic: o, key: game}",
        "from: gold.k, key: [player], kafka: {topic: o, key: player}",
        f"from: gold.v, deletes: true, {SQL % 'key: [game, player]'}",
    ],
)
def test_a_field_that_a_sink_sends_is_right(tmp_path, sink):
    assert faults(tmp_path, f"{VIEWS}sinks: [{{name: s, {sink}}}]\n") == []


def test_a_selected_column_is_sent_as_it_is_written_in_select(tmp_path):
    more = "select: [PLAYER, game]\nsinks: [{name: s, from: silver, kafka: {topic: o, key: %s}}]\n"
    assert faults(tmp_path, more % "PLAYER") == []
    (found,) = faults(tmp_path, more % "player")
    assert "there is no column `player`. Write `PLAYER`" in found


def test_a_field_is_right_though_rows_of_another_feed_have_it_in_another_case(tmp_path):
    (tmp_path / "feeds").mkdir()
    filler = "feed: more\nsource: {kafka: {topic: u}}\ninto: play\n"
    filler += "payload: {json: {schema: 'game string, PLAYER string'}}\n"
    (tmp_path / "feeds" / "g.yaml").write_text(filler)
    assert (
        faults(tmp_path, "sinks: [{name: s, from: silver, kafka: {topic: o, key: player}}]\n") == []
    )


def test_what_a_route_reads_is_a_column(tmp_path):
    text = HEAD.replace("column: game", "sql: lowr(gmae)")
    found = [told(error) for error in report_of(tmp_path, text).errors]
    assert [one.split(" ", 1)[1] for one in found] == [
        "route.sql: there is no function `lowr`. Write `lower`",
        "route.sql: there is no column `gmae`. Write `game`",
    ]


def test_names_that_rows_may_bring_are_not_refused(tmp_path):
    text = "feed: f\nsource: {kafka: {topic: t}}\npayload: {json: {infer: true, hints: 'a int'}}\n"
    report = report_of(tmp_path, f"{text}{EXPECTATION % 'b > 1'}{MEASURE % 'max(c)'}")
    assert (report.errors, report.warnings) == ((), ())


def test_an_item_reads_what_another_makes_of_elements(tmp_path):
    text = "select: [explode(items) as item, item.id as id, game]\n"
    assert faults(tmp_path, f"{text}{EXPECTATION % 'id is not null'}") == []


def test_columns_that_are_selected_are_those_that_may_be_read(tmp_path):
    text = "select: ['* except (player)', upper(player) as who]\n"
    (found,) = faults(tmp_path, f"{text}{EXPECTATION % 'player > who'}")
    assert "there is no column `player`" in found


@pytest.mark.parametrize(
    "sql",
    [
        "with t(a) as (select player from silver union select game from silver) select a from t",
        "select q.a from (select player from silver union all select game from silver) as q(a)",
        "select col from (select explode(items) from silver)",
        "select key, value from (select explode(tags) from silver)",
        "select id, n from (select inline(items) from silver)",
        "select `count(1)` from (select count(*) from silver)",
        "with device as (select device from silver) select device.os from device",
        "with recursive t(n) as (select 1 union all select n from t) select n from t, silver",
    ],
)
def test_columns_that_spark_names_are_not_refused(tmp_path, sql):
    assert faults(tmp_path, QUERY % sql) == []


@pytest.mark.parametrize(
    "sql",
    [
        "percentile_cont(0.5) within group (order by score)",
        "listagg(player, ',') within group (order by at)",
    ],
)
def test_an_order_within_a_group_is_no_function(tmp_path, sql):
    assert faults(tmp_path, MEASURE % sql) == []


def test_a_window_function_gives_its_select_a_column(tmp_path):
    sql = "select window.start, count(*) as n from silver group by window(at, '1 hour')"
    assert faults(tmp_path, QUERY % sql) == []
    assert "no column `window`" in faults(tmp_path, QUERY % "select window.start from silver")[0]


def test_the_second_of_two_with_one_name_is_pointed_at(tmp_path):
    two = "expectations:\n  - {name: a, sql: score > 1}\n  - {sql: score > 2, name: a}\n"
    (found,) = faults(tmp_path, two)
    assert found.startswith("11:22 ")
    assert "two expectations are called a" in found
