import pytest

from lake_assets.errors import QueryError
from lake_assets.model.tables import Layer, TableRef
from lake_assets.query.names import NamedTable, shown, table_named, unknown_table

UNO = TableRef(layer=Layer.SILVER, name="silver_uno_events")
BEST = TableRef(layer=Layer.GOLD, name="best")
OTHER_BEST = TableRef(layer=Layer.QUARANTINE, name="best")
SINK = TableRef(layer=Layer.LOG, name="deliveries_games-api")
KNOWN = (UNO, BEST, OTHER_BEST, SINK)


def named(*parts):
    return NamedTable(parts=parts, place=" (column 15)")


@pytest.mark.parametrize(
    ("parts", "table"),
    [
        (("silver_uno_events",), UNO),
        (("silver", "silver_uno_events"), UNO),
        (("SILVER", "Silver_Uno_Events"), UNO),
        (("gold", "best"), BEST),
        (("gold", "silver_uno_events"), None),
        (("memory", "gold", "best"), None),
        (("unknown",), None),
    ],
)
def test_a_table_is_meant_by_its_name_with_or_without_its_layer(parts, table):
    assert table_named(named(*parts), KNOWN) == table


def test_a_name_that_two_layers_have_is_refused():
    with pytest.raises(QueryError, match=r"Write gold\.best or quarantine\.best"):
        table_named(named("best"), KNOWN)


def test_a_name_that_nothing_has_is_told_with_the_nearest():
    message = "table silver_un_events: is not in the lake (column 15). "
    assert str(unknown_table(named("silver_un_events"), KNOWN)) == (
        message + "Did you mean silver.silver_uno_events?"
    )


def test_a_name_that_nothing_is_near_of_leads_to_the_list():
    assert "`lake-assets tables` lists them" in str(unknown_table(named("xyz"), KNOWN))
    assert "run `lake-assets stream`" in str(unknown_table(named("xyz"), ()))


def test_a_name_that_is_no_identifier_is_quoted():
    assert shown(SINK) == 'log."deliveries_games-api"'
