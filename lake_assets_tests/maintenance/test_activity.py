from datetime import UTC, datetime

from lake_assets.maintenance.activity import activity_of, note_of
from lake_assets.maintenance.unused_since import UnusedSince
from lake_assets.state.files import maintenance_turn, turn_if_free


def test_a_feed_that_was_never_maintained_says_so(tmp_path):
    found = activity_of(tmp_path, "games")
    assert (found.is_running, found.last_ended_at) == (False, None)


def test_a_run_that_is_under_way_is_seen(tmp_path):
    with turn_if_free(tmp_path, maintenance_turn("games")):
        assert activity_of(tmp_path, "games").is_running
        assert not activity_of(tmp_path, "fitness").is_running
    assert not activity_of(tmp_path, "games").is_running


def test_the_end_of_a_run_is_when_it_noted_what_it_found(tmp_path):
    noted = UnusedSince.of(tmp_path, "games")
    noted.save()
    found = activity_of(tmp_path, "games")
    assert noted.path == note_of(tmp_path, "games")
    assert found.last_ended_at == datetime.fromtimestamp(noted.path.stat().st_mtime, UTC)
