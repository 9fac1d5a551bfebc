import pytest

from lake_assets.bench.venue import Options, Venue


@pytest.mark.parametrize(
    ("tables", "some"), [((1, 10, 100, 1000), 100), ((7,), 7), ((1000,), 1000), ((500, 200), 200)]
)
def test_every_peer_can_have_some_tables(tables, some):
    assert Options(tables=tables).some_tables == some


def test_a_lake_is_gone_afterwards_and_spark_was_not_started(settings):
    venue = Venue(settings, None, Options(), print, lambda: False)
    with venue.lake() as own:
        (own.lake_dir / "silver").mkdir(parents=True)
    assert not own.lake_dir.exists()
    venue.close()
    assert "session" not in vars(venue)
