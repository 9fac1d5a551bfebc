"""When silver does not tell of all rows that bronze has."""

import pytest

from lake_assets.erasure.lacking import drops_rows, has_more_rows
from lake_assets.model.feeds import Feed
from lake_assets_tests.backup.lakes import QUARANTINE, UNO
from lake_assets_tests.erasure.lakes import PeopledLake
from lake_assets_tests.sample import GAMES

PLAIN = GAMES.model_copy(update={"expectations": ()})


def declared(**more: object) -> Feed:
    return Feed.model_validate(PLAIN.model_dump(exclude_unset=True) | more)


@pytest.mark.parametrize(
    ("more", "drops"),
    [
        ({}, False),
        ({"retention": "90d"}, True),
        ({"retention": "90d", "bronze": {"retention": "90d"}}, False),
        ({"retention": "90d", "bronze": {"retention": "91d"}}, True),
        ({"layouts": {"uno": {"retention": "30d"}}, "bronze": {"retention": "90d"}}, True),
        ({"quarantine": {"retention": "30d"}}, True),
        (
            {
                "retention": {"column": "event_timestamp", "keep": "90d"},
                "bronze": {"retention": "30d"},
            },
            True,
        ),
        ({"bronze": {"retention": "30d"}}, False),
    ],
)
def test_raw_rows_that_stay_longer_are_told(more, drops):
    assert drops_rows(declared(**more)) is drops


def test_an_expectation_that_drops_rows_is_told():
    assert drops_rows(GAMES)


@pytest.mark.parametrize("table", [UNO, QUARANTINE])
def test_rows_that_left_silver_are_told_by_their_number(settings, table):
    lake = PeopledLake(settings)
    lake.take("ann", "bob", refused="bad")
    assert not has_more_rows(lake.store, PLAIN)
    lake.committer.delete(table, "true")
    assert has_more_rows(lake.store, PLAIN)
    lake.committer.close()
