import re
from datetime import timedelta
from pathlib import Path

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import find_feed, load_feeds, read_feeds
from lake_assets.feeds.problems import FeedsError
from lake_assets.model.checks import Severity
from lake_assets.model.expectations import Action
from lake_assets.model.retention import Age, Reset, SilverRetention
from lake_assets.model.routes import Unknown
from lake_assets.model.tables import bronze_of, quarantine_of, waiting_of

GOOD = """\
feed: games
source:
  kafka: {topic: game-stream}
payload:
  protobuf: {subject: game-stream-value}
route:
  column: game_name
  keys: [rummy, poker]
expectations:
  - name: gamer_is_known
    sql: "gamer_id <> ''"
    action: drop
gold:
  - name: player_agg
    keys: [gamer_id]
    measures:
      session_count: count(*)
    schedule: "*/1 * * * *"
    checks:
      - {name: counts_all, equals_source: session_count}
checks:
  - {name: some, row_count: {min: 1}}
  - name: fresh
    freshness: {column: _kafka_timestamp, max_age: 1h}
    severity: warn
  - {name: origins, unique: [_offset], blocking: true}
"""


def _write(folder: Path, text: str, name: str = "games.yaml") -> Path:
    (folder / name).write_text(text)
    return folder


def test_the_shipped_feeds_load():
    fitness, games = load_feeds(None)
    assert (fitness.feed, games.feed) == ("fitness", "games")
    assert (len(fitness.keys), len(games.keys)) == (5, 7)
    assert all(feed.reset is Reset.PROTECTED for feed in (fitness, games))


def test_a_feed_is_read_whole(tmp_path):
    (feed,) = load_feeds(_write(tmp_path, GOOD))
    assert feed.route.unknown is Unknown.QUARANTINE
    assert feed.expectations[0].action is Action.DROP
    assert feed.gold[0].measures == {"session_count": "count(*)"}
    assert feed.gold[0].checks[0].equals_source == "session_count"
    some, fresh, origins = feed.checks
    assert (str(some.row_count), some.severity, some.blocking) == (">= 1", Severity.ERROR, False)
    assert fresh.freshness.max_age == timedelta(hours=1)
    assert (fresh.severity, fresh.kind) == (Severity.WARN, "freshness")
    assert (origins.unique, origins.blocking) == (("_offset",), True)


@pytest.mark.parametrize(
    ("told", "seconds"), [("500ms", 0.5), ("1 second", 1), ("2s", 2), ("5m", 300)]
)
def test_a_feed_may_say_how_often_its_batches_come(tmp_path, told, seconds):
    (feed,) = load_feeds(_write(tmp_path, f"{GOOD}trigger: {told}\n"))
    assert feed.trigger == timedelta(seconds=seconds)
    assert type(feed).model_validate(feed.model_dump()) == feed


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ("often", "trigger: 'often' is no duration. Write a number and a unit"),
        ("1", "trigger: 1 is no duration. Write a number and a unit"),
        ("50ms", "trigger must be at least 100ms, and is '50ms'"),
        ("2h", "trigger must be at most 1h, and is '2h'"),
        ("1M", "trigger: '1M' may be minutes or months. Write 1m, or days"),
    ],
)
def test_a_trigger_that_cannot_be_is_refused(tmp_path, told, problem):
    with pytest.raises(FeedError, match=re.escape(problem)):
        load_feeds(_write(tmp_path, f"{GOOD}trigger: {told}\n"))


def test_feeds_come_sorted_by_name(tmp_path):
    _write(tmp_path, GOOD, "a.yaml")
    other = GOOD.replace("feed: games", "feed: cards").replace("rummy, poker", "bridge")
    _write(tmp_path, other, "b.yml")
    _write(tmp_path, "not a feed", "README.md")
    assert [feed.feed for feed in load_feeds(tmp_path)] == ["cards", "games"]


@pytest.mark.parametrize(
    ("told", "column"),
    [("90d", None), ("{keep: 90d}", None), ("{column: happened, keep: 90d}", "happened")],
)
def test_how_long_rows_stay_is_told_short_or_by_a_column(tmp_path, told, column):
    text = f"{GOOD}retention: {told}\nbronze: {{retention: 30d}}\n"
    (feed,) = load_feeds(_write(tmp_path, text))
    assert feed.retention == SilverRetention(keep=timedelta(days=90), column=column)
    ages = [feed.age_of(t) for t in (feed.silver_table("uno"), bronze_of(feed.feed))]
    by = feed.source.origin
    assert ages[0].columns == tuple(name for name in (column, by.in_silver.time) if name)
    assert ages[1] == Age(keep=timedelta(days=30), columns=(by.time, "ingested_at"))
    assert feed.age_of(quarantine_of(feed.feed)) is None
    assert feed.age_of(waiting_of(feed.feed)) is None


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ("retention: soon", "'soon' is no duration. Write a number and a unit"),
        ("retention: 90", "90 is no duration"),
        ("retention: 10m", "retention.keep must be at least 1h, and is '10m'"),
        ("retention: {column: happened}", "keep"),
        ("retention: {keep: 90d, colum: happened}", "colum"),
        ("bronze: {retention: never}", "'never' is no duration"),
        ("quarantine: 90d", "quarantine"),
    ],
)
def test_an_age_that_cannot_be_is_refused(tmp_path, told, problem):
    with pytest.raises(FeedError, match=re.escape(problem)):
        load_feeds(_write(tmp_path, f"{GOOD}{told}\n"))


@pytest.mark.parametrize(
    ("right", "wrong", "line", "problem"),
    [
        ("topic:", "topik:", 3, "source.kafka.topik is no field. Write `topic`"),
        (
            "topic:",
            "x:",
            3,
            "source.kafka.x is no field; fields here are topic, topics, starting_offsets",
        ),
        ("    action:", "    actoin:", 12, "expectations[0].actoin is no field. Write "),
        ("action: drop", "action: dorp", 12, "expectations[0].action must be 'warn', 'drop', 'qu"),
        ("[rummy, poker]", "rummy", 8, "route.keys must be a list, such as [rummy]"),
        ("[rummy, poker]", "7", 8, "route.keys must be a list, such as [a, b]"),
        ("rummy, poker", "../x", 8, "route.keys[0]: '../x' cannot name a table. Use 1 to 64"),
        ("poker]", "rummy]", 8, "route: keys are given twice: rummy"),
        ("feed: games", "feed: 7", 1, "feed must be text, not the number 7. Write it in"),
        ("feed: games", "fed: games", 1, "fed is no field. Write `feed`"),
        (
            "{topic: game-stream}",
            "",
            3,
            "source.kafka is incomplete. Give either `topic` or `topics`",
        ),
        ("session_count:", "Count:", 17, "gold[0].measures.Count: 'Count' is not a name"),
        ('"*/1 * * * *"', '"* * * *"', 18, "gold[0].schedule: '* * * *' has 4 fields, not 5"),
        ("feed: games", "feed: games\nrun: hourly", 2, "run: 'hourly' has 1 fields, not 5 (minute"),
        ("feed: games", "feed: games\nrun: 1h", 2, "run: '1h' has 1 fields, not 5 (minute"),
        ("feed: games", "feed: games\nrun: 5", 2, "run must be text, not the number 5"),
        ("feed: games", 'feed: games\nrun: "0 0 31 4 *"', 2, "run: '0 0 31 4 *' never comes"),
        ("min: 1", "mim: 1", 22, "checks[0].row_count.mim is no field. Write `min`"),
        ("min: 1", "min: 2, max: 1", 22, "checks[0].row_count: min 2 is above max 1"),
        ("min: 1", "", 22, "checks[0].row_count is incomplete. Give min, max or both"),
        ("min: 1", "min: -1", 22, "checks[0].row_count.min must be at least 0, and is"),
        ("max_age: 1h", "max_age: 60", 24, "checks[1].freshness.max_age: 60 is no duration. Write"),
        ("max_age: 1h", "max_age: '60'", 24, "max_age: '60' is no duration. Write a number and a"),
        ("max_age: 1h", "max_age: 0s", 24, "checks[1].freshness.max_age: '0s' is no duration"),
        ("max_age: 1h", "max_age: soon", 24, "as 30s, 15m, 1h or 2d"),
        ("severity: warn", "severity: bad", 25, "checks[1].severity must be 'warn' or 'error'"),
        ("unique: [_offset]", "unique: []", 26, "checks[2].unique must have at least 1 in it"),
        ("unique: [_offset]", "uniqe: [_offset]", 26, "checks[2].uniqe is no field. Write "),
        ("unique: [_offset]", "keys: [poker]", 26, "checks[2]: a check has one of unique, row_co"),
        ("unique: [_offset]", "equals_source: n", 26, "checks[2].equals_source is no field"),
        ("name: fresh", "name: some", 21, "checks: two checks are called some"),
        ("name: fresh", "name: gamer_is_known", 21, "two expectations and checks are called"),
        ("    action: drop", "    max_share: 0.1", 12, "max_share is of `action: quarantine`"),
        (
            "equals_source: session",
            "equals_source: sesion",
            20,
            "is no column of the view. Write",
        ),
        ("source: session_count", "source: session_count, blocking: true", 20, "blocking is no"),
        ("name: player_agg", "nam: player_agg", 14, "gold[0].nam is no field. Write `name`"),
    ],
)
def test_a_wrong_field_is_named_with_its_line_and_what_is_right(
    tmp_path, right, wrong, line, problem
):
    with pytest.raises(FeedError, match=re.escape(problem)) as caught:
        load_feeds(_write(tmp_path, GOOD.replace(right, wrong)))
    assert f"line {line}" in str(caught.value)
    assert str(tmp_path / "games.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_problems_of_all_files_are_told_a_line_each_in_their_order(tmp_path):
    many = "\n".join(f"x{i}: 1" for i in range(5)) + "\n"
    _write(tmp_path, GOOD.replace("action: drop", "action: dorp"), "z.yaml")
    with pytest.raises(FeedsError) as caught:
        load_feeds(_write(tmp_path, many + GOOD, "a.yaml"))
    told = str(caught.value).splitlines()
    assert [line.partition(": ")[0].rpartition("/")[2] for line in told] == [
        *(f"a.yaml, line {n}" for n in range(1, 6)),
        "z.yaml, line 12",
    ]
    places = [(one.line, one.column) for one in caught.value.problems]
    assert places == [*((n, 1) for n in range(1, 6)), (12, 5)]
    assert (caught.value.line, caught.value.thing) == (1, f"{tmp_path / 'a.yaml'}, line 1")


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_is_told_how_to_begin(tmp_path, text):
    with pytest.raises(FeedError, match=r"is empty: it declares no feed\. Begin it with"):
        load_feeds(_write(tmp_path, text))


def test_what_can_be_read_is_read_beside_what_cannot(tmp_path):
    _write(tmp_path, "feed: [", "broken.yaml")
    read = read_feeds(_write(tmp_path, GOOD))
    assert [file.feed.feed for file in read.files] == ["games"]
    assert [Path(one.file).name for one in read.problems] == ["broken.yaml"]
    assert read.files[0].document.line_of(["gold", 0, "measures", "session_count"]) == 17


@pytest.mark.parametrize("text", ["just a word", "- a\n- b\n"])
def test_a_file_that_is_no_feed_is_refused(tmp_path, text):
    with pytest.raises(FeedError, match="the file must be a mapping of feed, source, payload"):
        load_feeds(_write(tmp_path, text))


def test_two_feeds_of_one_name_are_refused(tmp_path):
    _write(tmp_path, GOOD, "a.yaml")
    _write(tmp_path, GOOD, "b.yaml")
    told = r"b\.yaml, line 1: feed 'games' is declared in .*a\.yaml already"
    with pytest.raises(FeedError, match=told):
        load_feeds(tmp_path)


def test_two_feeds_with_one_game_are_refused(tmp_path):
    _write(tmp_path, GOOD, "a.yaml")
    _write(tmp_path, GOOD.replace("feed: games", "feed: cards"), "b.yaml")
    with pytest.raises(FeedError, match="table silver_rummy_events of key 'rummy' of feed 'cards'"):
        load_feeds(tmp_path)


def test_two_views_with_one_table_are_refused(tmp_path):
    text = GOOD.replace("[rummy, poker]", "[go, go_fish]").replace("name: player_agg", "name: agg")
    other = "  - {name: fish_agg, keys: [gamer_id], measures: {n: count(*)}}\nchecks:\n"
    text = text.replace("\nchecks:\n", f"\n{other}")
    with pytest.raises(FeedError, match="table gold_go_fish_agg of"):
        load_feeds(_write(tmp_path, text))


def test_two_feeds_whose_views_have_one_table_are_refused(tmp_path):
    chess = GOOD.replace("[rummy, poker]", "[chess]")
    _write(tmp_path, chess, "a.yaml")
    other = chess.replace("feed: games", "feed: other").replace("[chess]", "[chess_player]")
    _write(tmp_path, other.replace("name: player_agg", "name: agg"), "b.yaml")
    with pytest.raises(FeedError, match="table gold_chess_player_agg of view 'agg' of key"):
        load_feeds(tmp_path)


def test_two_feeds_with_a_view_of_one_name_have_tables_of_their_own(tmp_path):
    _write(tmp_path, GOOD, "a.yaml")
    other = GOOD.replace("feed: games", "feed: other").replace("[rummy, poker]", "[chess]")
    _write(tmp_path, other, "b.yaml")
    assert [feed.feed for feed in load_feeds(tmp_path)] == ["games", "other"]


def test_a_folder_without_feeds_is_refused(tmp_path):
    with pytest.raises(FeedError, match=r"has no \*\.yaml file"):
        load_feeds(tmp_path)


def test_hidden_files_are_no_feeds(tmp_path):
    (tmp_path / ".#play.yaml").symlink_to("anna@laptop.42")
    (tmp_path / "._play.yaml").write_bytes(b"\0\5\26\7")
    (tmp_path / ".#a_feeds.py").symlink_to("anna@laptop.42")
    with pytest.raises(FeedError, match="has no"):
        load_feeds(tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(FeedError, match="cannot be read"):
        load_feeds(tmp_path / "nowhere")


def test_a_feed_is_found_by_its_name():
    feeds = load_feeds(None)
    assert [find_feed(feeds, name) for name in ("fitness", "games")] == list(feeds)


def test_a_feed_that_is_not_declared_is_refused_with_those_that_are():
    with pytest.raises(FeedError, match="Use one of: fitness, games"):
        find_feed(load_feeds(None), "gmaes")


JSON = """\
feed: fitness
source: {kafka: {topic: tracker-events}}
payload:
  json:
    schema: "time timestamp, model string, heart_bpm int"
route: {column: model, keys: [pulse]}
"""


def test_a_feed_of_json_declares_its_schema(tmp_path):
    (feed,) = load_feeds(_write(tmp_path, JSON))
    assert [column.name for column in feed.payload.json_.columns] == ["time", "model", "heart_bpm"]


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        (
            "heart_bpm int",
            "heart_bpm itn",
            "line 5: payload.json.schema: at 'itn' there should be a type",
        ),
        ("heart_bpm", "_offset", "line 5: payload.json.schema: _offset is a column that silver"),
        (
            "schema:",
            "shema:",
            "line 5: payload.json.shema is no field. Write `schema`",
        ),
        (
            "  json:",
            "  jsn:",
            "line 4: payload.jsn is no field. Write `json`",
        ),
        (
            "route:",
            "    on_unknown: keep\nroute:",
            "line 6: payload.json.on_unknown must be 'rescue', 'add_columns', 'ignore',",
        ),
        (
            "column: model",
            "column: modle",
            "line 6: route.column: 'modle' is no column of the payload's schema. Write ",
        ),
        (
            "payload:\n",
            "payload:\n  protobuf: {subject: s}\n",
            "line 5: payload: `json` and `protobuf` are given. Give exactly one of avro",
        ),
    ],
)
def test_what_is_wrong_with_json_is_named_with_its_line(tmp_path, right, wrong, problem):
    with pytest.raises(FeedError, match=re.escape(problem)):
        load_feeds(_write(tmp_path, JSON.replace(right, wrong)))


@pytest.mark.parametrize("rule", ["rescue", "add_columns", "ignore", "quarantine"])
def test_a_route_is_by_no_column_that_only_rows_bring(tmp_path, rule):
    text = JSON.replace("column: model", "column: maker")
    text = text.replace("route:", f"    on_unknown: {rule}\nroute:")
    problem = r"games\.yaml, line 7: route\.column: 'maker' is no column of the payload's schema"
    with pytest.raises(FeedError, match=problem):
        load_feeds(_write(tmp_path, text))


@pytest.mark.parametrize(
    "kind", ["string", "boolean", "tinyint", "smallint", "int", "bigint", "date"]
)
def test_a_route_may_be_by_a_column_whose_values_have_one_text(tmp_path, kind):
    text = JSON.replace("model string", f"model {kind}")
    assert load_feeds(_write(tmp_path, text))[0].route.column == "model"


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("array<string>", "array"),
        ("map<string, string>", "map"),
        ("struct<x: string>", "struct"),
        *(("decimal(5, 2)", "decimal"), ("double", "double"), ("float", "float")),
        *(("timestamp", "timestamp"), ("binary", "binary")),
    ],
)
def test_a_route_by_a_column_that_holds_no_keys_is_refused(tmp_path, kind, word):
    text = JSON.replace("model string", f"model {kind}")
    problem = f"line 6: route.column: 'model' is of type {word}, which holds no keys. Use one of"
    with pytest.raises(FeedError, match=re.escape(problem)):
        load_feeds(_write(tmp_path, text))


NAMED = f"""{GOOD}tables:
  silver: "{{key}}_in_silver"
  gold: "{{view}}_of_{{key}}"
"""

WITHOUT_ROUTE = GOOD.replace("route:\n  column: game_name\n  keys: [rummy, poker]\n", "")


def test_a_feed_may_name_its_tables(tmp_path):
    (feed,) = load_feeds(_write(tmp_path, NAMED))
    assert feed.silver_table("poker").name == "poker_in_silver"
    assert feed.gold_table(feed.gold[0], "poker").name == "player_agg_of_poker"
    assert type(feed).model_validate(feed.model_dump(mode="json")) == feed


@pytest.mark.parametrize(
    ("right", "wrong", "line", "problem"),
    [
        ("{key}_in", "in", 28, "tables.silver: 'in_silver' has {key} nowhere. Write it once"),
        ("{key}_in", "{key}{key}_in", 28, "tables.silver: '{key}{key}_in_silver' has {key} 2 ti"),
        ("{key}_in", "{key}-in", 28, "tables.silver: '{key}-in_silver' cannot name tables"),
        ("_of_", "", 29, "tables.gold: '{view}{key}' does not tell where the key ends"),
        ("gold:", "golden:", 29, "tables.golden is no field. Write `gold`"),
        (
            '"{view}_of_{key}"',
            '"{key}_in_{view}"',
            29,
            "tables.gold: silver and gold view 'silver' both have tables '{key}_in_silver'",
        ),
    ],
)
def test_a_template_that_is_wrong_is_named_with_its_line(tmp_path, right, wrong, line, problem):
    before, after = NAMED.split("tables:")
    text = f"{before.replace('player_agg', 'silver')}tables:{after.replace(right, wrong)}"
    with pytest.raises(FeedError) as caught:
        load_feeds(_write(tmp_path, text))
    assert f"line {line}" in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("log", ["quality_log", "stream_log"])
def test_a_key_whose_table_would_be_called_as_a_log_is_refused(tmp_path, log):
    text = NAMED.replace("{key}_in_silver", "{key}").replace("rummy", log)
    with pytest.raises(FeedError, match=f"table {log} of key '{log}' of feed 'games' has the name"):
        load_feeds(_write(tmp_path, text))


def test_two_feeds_of_one_key_go_together_if_their_tables_have_other_names(tmp_path):
    _write(tmp_path, GOOD, "a.yaml")
    _write(tmp_path, NAMED.replace("feed: games", "feed: other"), "b.yaml")
    assert [feed.feed for feed in load_feeds(tmp_path)] == ["games", "other"]


def test_two_feeds_whose_templates_come_to_one_name_are_refused(tmp_path):
    _write(tmp_path, NAMED.replace("{key}_in_silver", "silver_{key}"), "a.yaml")
    other = NAMED.replace("feed: games", "feed: other").replace("[rummy, poker]", "[rummy_events]")
    other = other.replace("{key}_in_silver", "silver_{key}").replace("_of_", "_for_")
    _write(tmp_path, other.replace("[rummy_events]", "[bridge, rummy]"), "b.yaml")
    told = "table silver_rummy of key 'rummy' of feed 'other' is that of key 'rummy' of feed"
    with pytest.raises(FeedError, match=told):
        load_feeds(tmp_path)


def test_a_table_of_silver_is_not_called_as_one_of_another_layer(tmp_path):
    text = NAMED.replace("{key}_in_silver", "quarantine_{key}").replace("rummy", "games")
    with pytest.raises(FeedError, match="table quarantine_games of key 'games' of feed 'games' is"):
        load_feeds(_write(tmp_path, text))


def test_a_feed_needs_no_route(tmp_path):
    (feed,) = load_feeds(_write(tmp_path, WITHOUT_ROUTE))
    assert (feed.route, feed.keys) == (None, ("games",))


def test_the_one_key_of_a_feed_without_a_route_is_nobody_elses(tmp_path):
    _write(tmp_path, WITHOUT_ROUTE.replace("feed: games", "feed: poker"), "a.yaml")
    _write(tmp_path, GOOD, "b.yaml")
    with pytest.raises(FeedError, match="silver_poker_events of key 'poker' of feed 'games' is th"):
        load_feeds(tmp_path)


def test_what_is_wrong_with_a_route_is_told_where_it_may_be_left_out(tmp_path):
    with pytest.raises(FeedError, match=r"line 7: route\.colum is no field. Write `column`"):
        load_feeds(_write(tmp_path, GOOD.replace("  column: game", "  colum: game")))


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ("{json: {infer: true, hints: 'kcal int'}}", "no column of the payload's hints; fields"),
        ("{json: {infer: true}}", "'model' is no column of the payload's hints; there are none"),
        ("{csv: {schema: 'models string'}}", "payload's schema. Write `models`"),
        ("{csv: {schema: 'model double'}}", "'model' is of type double, which holds no keys"),
        ("{json: {}}", "payload.json: schema is missing. Give the columns, or `infer: true`"),
        ("{json: {schema: 'a int', infer: true}}", "Give `schema` or `infer: true`"),
    ],
)
def test_a_route_needs_a_column_that_is_declared(tmp_path, payload, problem):
    """Also where columns are inferred: else rows would decide what type keys have."""
    text = f"feed: f\nsource: {{kafka: {{topic: t}}}}\npayload: {payload}\n"
    (tmp_path / "f.yaml").write_text(f"{text}route: {{column: model, keys: [vita]}}\n")
    with pytest.raises(FeedError, match=re.escape(problem)):
        load_feeds(tmp_path)


def test_a_partition_needs_a_column_whose_type_no_row_changes(tmp_path):
    text = "feed: f\nsource: {kafka: {topic: t}}\npayload: {json: {infer: true}}\n"
    (tmp_path / "f.yaml").write_text(f"{text}partition_by: [region]\n")
    with pytest.raises(FeedError, match=r"line 4: partition_by: 'region' is no column of the pay"):
        load_feeds(tmp_path)
    hinted = text.replace("infer: true", "infer: true, hints: 'region string'")
    (tmp_path / "f.yaml").write_text(f"{hinted}partition_by: [region]\n")
    assert load_feeds(tmp_path)[0].is_partitioned


AVRO = "feed: f\nsource: {kafka: {topic: t}}\npayload: {avro: {subject: t-value}}\n"


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        (
            "{subject: t-value}",
            "{}",
            "line 3: payload.avro is incomplete. Give `subject`, or `subjects`",
        ),
        (
            "subject: t-value",
            "subject: a, subjects: [b]",
            "`subject` and `subjects` are given. Give either",
        ),
        ("subject: t-value", "subjects: '('", "line 3: payload.avro: subjects: '(' is no regular"),
        ("subject: t-value", "subjects: [a, a]", "line 3: payload.avro: two subjects are called a"),
        ("subject: t-value", "subjet: x", "subjet is no field. Write `subject`"),
        ("subject: t-value", "subject: x, subjet: y", "payload.avro.subjet is no field. Write"),
        ("avro: {subject: t-value}", "avrp: {}", "payload.avrp is no field. Write `avro`"),
    ],
)
def test_what_is_wrong_with_avro_is_named_with_its_line(tmp_path, right, wrong, problem):
    with pytest.raises(FeedError, match=re.escape(problem)):
        load_feeds(_write(tmp_path, AVRO.replace(right, wrong)))


def test_a_route_may_be_by_a_column_that_is_selected(tmp_path):
    text = "feed: f\nsource: {kafka: {topic: t}}\npayload: {json: {schema: 'kind string'}}\n"
    text += "route: {column: key, keys: [vita]}\nselect: [lower(kind) as key]\n"
    (tmp_path / "f.yaml").write_text(f"{text}mask: {{kind: hash}}\n")
    (feed,) = load_feeds(tmp_path)
    assert (feed.select, feed.mask) == (("lower(kind) as key",), {"kind": "hash"})


@pytest.mark.parametrize("wrong", ["select: ['']", "select: [1]", "mask: {kind: hide}"])
def test_what_is_wrong_with_a_select_or_a_mask_is_told(tmp_path, wrong):
    text = "feed: f\nsource: {kafka: {topic: t}}\npayload: {json: {schema: 'kind string'}}\n"
    (tmp_path / "f.yaml").write_text(text + wrong)
    with pytest.raises(FeedError, match="line 4: " + wrong.partition(":")[0]):
        load_feeds(tmp_path)


def test_partitions_are_named_by_numbers(tmp_path):
    source = "{kafka: {topic: t, starting_offsets: {0: 1200, 1: 1150}}}"
    text = f"feed: f\nsource: {source}\npayload: {{json: {{schema: a int}}}}\n"
    (tmp_path / "f.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    assert feed.source.kafka.starting_offsets == {0: 1200, 1: 1150}
