import pytest

from lake_assets_tests.sinks.lakes import delivered
from lake_assets_tests.sinks.views import refresh, sent, to_api

pytestmark = pytest.mark.spark


@pytest.fixture
def feed(api):
    return to_api(api.url)


def _row(gamer, score, game="uno"):
    return {"game_name": game, "gamer_id": gamer, "score": score}


def test_rows_that_are_new_or_changed_are_sent_and_no_others(spark, settings, api, feed):
    refresh(settings, {"ann": 1, "bob": 2})
    refresh(settings, {"cid": 3}, "go_fish")
    assert delivered(spark, settings, feed).rows == 3
    refresh(settings, {"ann": 1, "bob": 5, "dan": 4})
    report = delivered(spark, settings, feed)
    assert (report.rows, report.batches) == (2, 1)
    assert delivered(spark, settings, feed).batches == 0
    first, second = sent(api)[:3], sent(api)[3:]
    assert sorted(first, key=str) == [_row("cid", 3, "go_fish"), _row("ann", 1), _row("bob", 2)]
    assert sorted(second, key=str) == [_row("bob", 5), _row("dan", 4)]
