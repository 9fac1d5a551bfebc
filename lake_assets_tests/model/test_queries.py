import pytest

from lake_assets.model.queries import columns_of, reads_all


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
        ("selec gamer_id from silver", "does not parse .*line 1, column 19"),
        ("select (gamer_id from silver", r"does not parse \(Expecting \), line 1"),
        ("select 'gamer_id from silver", r"does not parse \(Error tokenizing"),
        ("insert into silver select * from silver_all", "is no query"),
        ("drop table silver", "is no query"),
        ("select * from silver; select * from silver", "is no query"),
        ("", "is no query"),
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
