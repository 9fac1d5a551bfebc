from contextlib import contextmanager

import pytest

from lake_assets.spark.lent_session import KeptSession, session_for


def test_a_session_that_is_lent_is_its_lenders():
    asked = []

    @contextmanager
    def lend():
        asked.append("begun")
        yield "session"
        asked.append("ended")

    with session_for(None, lend) as session:
        assert session == "session"
    assert asked == ["begun", "ended"]


@pytest.mark.spark
def test_one_session_is_kept_and_one_that_was_there_is_left(spark, spark_settings):
    kept = KeptSession(spark_settings)
    kept.stop()
    with kept.lend() as first, kept.lend() as second:
        assert first is second is kept.session()
    kept.stop()
    kept.stop()
    assert spark.range(2).count() == 2
