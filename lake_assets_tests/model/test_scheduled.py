import pytest

from lake_assets_tests.sample import GAMES


@pytest.mark.parametrize(
    ("run", "is_triggered", "schedule"),
    [(None, False, None), ("manual", True, None), ("0 * * * *", True, "0 * * * *")],
)
def test_a_feed_is_streamed_or_runs_by_a_clock_or_when_asked(run, is_triggered, schedule):
    feed = GAMES.model_copy(update={"run": run})
    assert (feed.is_triggered, feed.schedule) == (is_triggered, schedule)
