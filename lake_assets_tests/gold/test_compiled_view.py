import pyarrow as pa
import pytest

from lake_assets.gold.compiled_view import BUCKET, KEY, compiled_view_of
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets_tests.gold.silver import SCHEMA
from lake_assets_tests.sample import GAMES

pytestmark = pytest.mark.spark


@pytest.fixture
def compiled_view(spark):
    def make(expectations=(), **measures):
        view = GoldView(name="v", keys=("gamer_id",), measures=measures, expectations=expectations)
        return compiled_view_of(spark, GAMES, view, SCHEMA)

    return make


def test_states_that_values_do_not_carry_come_after_the_visible_columns(compiled_view):
    found = compiled_view(a="avg(_offset)", n="count(*)", m="median(_offset)").columns
    assert found.names == ["gamer_id", "a", "n", "m", "_state_a", "_state_m"]
    assert found.field("_state_a").type == pa.struct([("sum", pa.float64()), ("n", pa.int64())])
    assert (found.field("a").type, found.field("n").type) == (pa.float64(), pa.int64())


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("exact median(_offset)", "m is exact"),
        ("count(distinct device_id)", "m: distinct values cannot be merged"),
        ("sum(_offset) / count(*)", "m: only a single aggregate can be merged"),
        ("mode(device_id)", "m: mode cannot be merged"),
        ("avg(_offset)", ""),
    ],
)
def test_a_measure_that_does_not_merge_makes_its_view_one_that_is_recomputed(
    compiled_view, sql, reason
):
    found = compiled_view(n="count(*)", m=sql)
    assert found.why_full.startswith(reason)
    assert bool(found.why_full) is bool(reason)
    assert ("_state_m" in found.columns.names) is not bool(reason)


@pytest.mark.parametrize(
    "sql", ["max(current_timestamp())", "count_if(event_timestamp > now())", "min(date'today')"]
)
def test_a_measure_that_asks_the_clock_makes_its_view_one_that_is_recomputed(compiled_view, sql):
    found = compiled_view(n="count(*)", a="avg(_offset)", m=sql)
    assert found.why_full == "m depends on when it is computed, or on chance"
    assert "_state_a" not in found.columns.names


@pytest.mark.parametrize("sql", ["rand()", "current_date", "cast(now() as date)", "uuid()"])
def test_a_key_that_asks_the_clock_or_chance_makes_its_view_one_that_is_recomputed(spark, sql):
    view = GoldView(name="v", keys={"gamer_id": "gamer_id", "k": sql}, measures={"n": "count(*)"})
    found = compiled_view_of(spark, GAMES, view, SCHEMA)
    assert found.why_full == "k depends on when it is computed, or on chance"


def test_an_expectation_that_drops_keeps_no_states(compiled_view):
    few = Expectation(name="few", sql="a > 0", action=Action.DROP)
    found = compiled_view(expectations=(few,), a="avg(_offset)")
    assert (found.why_full[:9], found.columns.names) == ("few drops", ["gamer_id", "a"])


def test_an_exact_measure_is_computed_by_sparks_own_function_and_others_by_their_states(
    spark, compiled_view
):
    found = compiled_view(one="exact median(_offset)", other="median(_offset)")
    rows = spark.createDataFrame(
        [("uno", "ann", 1), ("uno", "ann", 2)], "game_name string, gamer_id string, _offset long"
    )
    states = found.states_of(rows)
    (row,) = found.finished(states.selectExpr("*", f"0 as `{BUCKET}`")).collect()
    assert (row["one"], row["other"], row[KEY]) == (1.5, 1, "uno")


def test_what_cannot_be_merged_is_not(compiled_view):
    found = compiled_view(one="exact median(_offset)")
    with pytest.raises(ValueError, match="one is exact"):
        found.merged(None)
