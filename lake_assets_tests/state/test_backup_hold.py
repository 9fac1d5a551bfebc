import subprocess
import sys

import pytest

from lake_assets.errors import LakeError
from lake_assets.state.backup_hold import backup_turn, held_versions

HOLDER = """
import sys
from pathlib import Path
from lake_assets.state.backup_hold import backup_turn
with backup_turn(Path(sys.argv[1])) as hold:
    hold({"silver/x": 7})
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_is_noted_holds_while_its_writer_is_at_it(tmp_path):
    assert held_versions(tmp_path) == {}
    with backup_turn(tmp_path) as hold:
        assert held_versions(tmp_path) == {}
        hold({"silver/x": 3})
        hold({"silver/x": 4, "bronze/y": 0})
        assert held_versions(tmp_path) == {"silver/x": 4, "bronze/y": 0}
    assert held_versions(tmp_path) == {}


def test_a_note_of_a_killed_process_holds_nothing(tmp_path):
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        assert held_versions(tmp_path) == {"silver/x": 7}
        with pytest.raises(LakeError, match="is under way"), backup_turn(tmp_path):
            pass
        holder.kill()
        holder.wait()
    assert (tmp_path / "backup.json").exists()
    assert held_versions(tmp_path) == {}
    with backup_turn(tmp_path):
        assert held_versions(tmp_path) == {}


def test_a_damaged_note_of_a_living_backup_is_told(tmp_path):
    with backup_turn(tmp_path):
        (tmp_path / "backup.json").write_text('{"silver')
        with pytest.raises(LakeError, match=r"is damaged .* and a backup is under way"):
            held_versions(tmp_path)
