import pytest

from lake_assets.model.queries import QuerySource, columns_of, reads_all, sources_of, with_names

OF_KEY = QuerySource(view="agg", is_of_key=True)
OF_ALL = QuerySource(view="agg")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from silver", False),
        ("SELECT * FROM Silver_All;", True),
        ("from silver select gamer_id", False),
        ("with newest as (select * from silver) select count(*) n from newest", False),
        ("select 1 n from range(3) where exists (select 1 from silver_all)", True),
        ("select x from silver lateral view explode(array(1)) t as x", False),
        ("select gamer_id from silver union all select '' from silver", False),
        ("select event_timestamp::date day, count(*) n from silver group by all", False),
        ("with silver as (select * from silver_all) select * from silver", True),
        ("select * from gold.player_agg", False),
        ("select * from Gold_All.player_agg", True),
        ("select * from silver join gold_all.player_agg using (gamer_id)", False),
        ("select * from gold.a join fitness.silver using (gamer_id)", False),
        ("select * from fitness.silver_all, fitness.gold.daily", True),
        ("select * from silver join external.players using (gamer_id)", False),
        ("select * from silver_all join external.players using (gamer_id)", True),
    ],
)
def test_a_query_is_over_one_game_or_over_all(sql, expected):
    assert reads_all(sql) is expected


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select 1", "reads no table"),
        ("with silver as (select 1) select * from silver", "reads no table"),
        ("select * from bronze_games", "reads bronze_games; a view reads silver "),
        ("select * from silver join gold_uno_player_agg using (gamer_id)", "reads gold_uno_player"),
        ("select * from parquet.`/data/x`", r"reads parquet\./data/x"),
        ("select * from spark_catalog.default.silver", r"reads spark_catalog\.default\.silver"),
        ("select * from silver, silver_all", "reads both silver and silver_all"),
        ("select * from gold.agg, silver_all", "reads both gold.agg and silver_all"),
        ("select * from fitness.bronze", r"reads fitness\.bronze; .* <feed>\.silver"),
        ("select * from external.players", r"reads external\.players alone, .*\njoin silver"),
        ("selec gamer_id from silver", "does not parse .*line 1, column 19"),
        ("select (gamer_id from silver", r"does not parse \(`\)` is missing"),
        ("select 'gamer_id from silver", r"does not parse \(Error tokenizing"),
        ("insert into silver select * from silver_all", "is no query"),
        ("drop table silver", "is no query"),
        ("select * from silver; select * from silver", "is no query"),
        ("", "is no query"),
        ("select " + "(" * 2000 + "1" + ")" * 2000 + " as x from silver", "is nested too deeply"),
    ],
)
def test_what_no_refresh_could_make_sense_of_is_refused(sql, said):
    with pytest.raises(ValueError, match=said):
        reads_all(sql)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select gamer_id, count(*) as n from silver group by 1", ("gamer_id", "n")),
        ("with a as (select * from silver) select max(gamer_id) last from a", ("last",)),
        ("select * from silver", None),
        ("select s.*, 1 as one from silver s", None),
        ("select count(*) from silver", None),
        ("select struct(gamer_id) from silver", None),
    ],
)
def test_the_columns_of_a_query_are_known_unless_only_spark_can_tell(sql, expected):
    assert columns_of(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select 1 n from gold.agg", [OF_KEY]),
        ("select 1 n from gold_all.agg, silver_all", [QuerySource(), OF_ALL]),
        ("select 1 n from `Gold` . `AGG`", [OF_KEY]),
        ("select 1 n from fit.silver, fit.silver_all", [QuerySource(feed="fit")]),
        ("select 1 n from fit.gold.a, fit.gold_all.a", [QuerySource(feed="fit", view="a")]),
        (
            "select 1 n from silver, External.Players, external.silver",
            [
                QuerySource(external="players"),
                QuerySource(is_of_key=True),
                QuerySource(feed="external"),
            ],
        ),
        ("with gold as (select 1 from gold.agg) select * from gold", [OF_KEY]),
    ],
)
def test_a_query_names_what_it_reads(sql, expected):
    assert list(sources_of(sql)) == expected


def test_a_source_is_told_of_as_a_query_names_it():
    sql = "select * from silver join gold.a join gold_all.b join c.silver join c.gold.d, external.e"
    names = ["c.silver", "c.gold.d", "external.e", "gold.a", "gold_all.b", "silver"]
    assert sorted(map(str, sources_of(sql))) == sorted(names)
    assert str(QuerySource()) == "silver_all"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select agg.n from gold.agg", "select agg.n from _a as `agg`"),
        ("select x.n from gold . `agg` as x", "select x.n from _a as x"),
        (
            "select 'gold.agg' /* gold.agg */ from gold.agg a -- gold.agg",
            "select 'gold.agg' /* gold.agg */ from _a a -- gold.agg",
        ),
        (
            "with a as (select n from gold.agg) select n from a, (select m from gold.agg)",
            "with a as (select n from _a as `agg`) select n from a, (select m from _a as `agg`)",
        ),
        ("select n from silver", "select n from silver"),
    ],
)
def test_a_table_is_read_under_another_name_and_called_as_before(sql, expected):
    assert with_names(sql, {OF_KEY: "_a"}) == expected
