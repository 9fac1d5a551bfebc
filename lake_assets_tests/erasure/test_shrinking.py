"""Views whose totals an erasure may make smaller."""

import pytest

from lake_assets.erasure.shrinking import shrinking_views
from lake_assets.model.feeds import Feed
from lake_assets_tests.sample import GAMES


def declared(**more: object) -> Feed:
    return Feed.model_validate(GAMES.model_dump(exclude_unset=True) | more)


@pytest.mark.parametrize("more", [{"retention": "90d"}, {"layouts": {"uno": {"retention": "9d"}}}])
def test_views_over_rows_that_leave_for_their_age_are_told(more):
    (words,) = shrinking_views([declared(**more)])
    assert "player_agg" in words


def test_views_over_rows_that_stay_are_not():
    assert not [*shrinking_views([GAMES, declared(bronze={"retention": "9d"})])]
