import pytest

from benchmarks.venue import Options, Venue


@pytest.mark.parametrize(
    ("tables", "some"), [((1, 10, 100, 1000), 100), ((7,), 7), ((1000,), 1000), ((500, 200), 200)]
)
def test_every_peer_can_have_some_tables(tables, some):
    assert Options(tables=tables).some_tables == some


def test_lakes_stay_until_they_are_swept_and_spark_was_not_started(settings):
    venue = Venue(settings, None, Options(), print, lambda: False)
    lakes = [venue.lake().lake_dir, venue.lake().lake_dir]
    for lake in lakes:
        (lake / "silver").mkdir(parents=True)  # fails if both are one folder
    venue.sweep()
    assert not any(lake.exists() for lake in lakes)
    venue.close()
    assert "session" not in vars(venue)
