import pytest

from lake_assets.state.refresh_strikes import clear_strikes, counted_strike, strikes_of
from lake_assets_tests.programs import run_program

_DIES = """
import os, sys
import os, sys
from pathlib import Path
from lake_assets.state.refresh_strikes import counted_strike
if os.fork() == 0:
    with counted_strike(Path(sys.argv[1]), "games.top"):
        os._exit(1)
os.wait()
"""


def test_deaths_are_counted_until_one_refresh_ends(tmp_path):
    assert strikes_of(tmp_path, "games.top") == 0
    for deaths in (1, 2):
        run_program(_DIES, [str(tmp_path)])
        assert strikes_of(tmp_path, "games.top") == deaths
    assert strikes_of(tmp_path, "games.other") == 0
    with counted_strike(tmp_path, "games.top"):
        pass
    assert strikes_of(tmp_path, "games.top") == 0


def test_an_error_is_no_death(tmp_path):
    with pytest.raises(ValueError, match="no"), counted_strike(tmp_path, "games.top"):
        raise ValueError("no")
    assert strikes_of(tmp_path, "games.top") == 0


def test_what_cannot_be_read_or_written_counts_nothing(tmp_path):
    (tmp_path / "refreshing").mkdir()
    (tmp_path / "refreshing" / "games.top").write_text("torn")
    assert strikes_of(tmp_path, "games.top") == 0
    (tmp_path / "file").write_text("")
    with counted_strike(tmp_path / "file", "games.top"):
        assert strikes_of(tmp_path / "file", "games.top") == 0
    clear_strikes(tmp_path / "file", "games.top")
