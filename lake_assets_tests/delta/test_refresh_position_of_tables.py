import pytest

from lake_assets.delta.refresh_position import DEFINITION
from lake_assets.delta.refresh_position_of_tables import (
    SOURCE_TABLES,
    PositionOfTables,
    ReadVersion,
)

POSITION = PositionOfTables(
    tables={"gold/a": ReadVersion(3, "id", "digest"), "silver/b": ReadVersion(0, "other", "")},
    definition="d",
)


def test_a_position_comes_back_from_the_metadata():
    assert PositionOfTables.of(POSITION.info) == POSITION


@pytest.mark.parametrize(
    "info",
    [
        {},
        {SOURCE_TABLES: "{", DEFINITION: "d"},
        {SOURCE_TABLES: "[]", DEFINITION: "d"},
        {SOURCE_TABLES: '{"gold/a": [1]}', DEFINITION: "d"},
        {SOURCE_TABLES: '{"gold/a": 1}', DEFINITION: "d"},
        {SOURCE_TABLES: "{}"},
    ],
)
def test_what_is_no_position_is_none(info):
    assert PositionOfTables.of(info) is None
