import pytest

from lake_assets.delta.put_if_absent import put_if_absent


def test_a_free_place_is_taken_once(tmp_path):
    target = tmp_path / "0.json"
    assert put_if_absent(target, "first")
    assert not put_if_absent(target, "second")
    assert target.read_text() == "first"
    assert list(tmp_path.iterdir()) == [target]


def test_a_log_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        put_if_absent(tmp_path / "none" / "0.json", "text")
