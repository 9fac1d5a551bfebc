import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lake_assets.errors import LakeError
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.programs import run_program

_ASKS = """
import sys
from pathlib import Path
from lake_assets.state.lake_id import lake_id
print(lake_id(Path(sys.argv[1])))
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "state"


def test_a_lake_has_one_id_whoever_asks(state):
    assert lake_id(state) == lake_id(state) == run_program(_ASKS, [str(state)]).strip()
    assert (state / "lake.json").exists()


def test_who_asks_at_once_gets_the_same(state):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lake_id, [state] * 8))) == 1


def test_two_lakes_have_two(state, tmp_path):
    assert lake_id(state) != lake_id(tmp_path / "other")


def test_a_lake_that_is_moved_keeps_its_id(state, tmp_path):
    before = lake_id(state)
    shutil.move(state, tmp_path / "elsewhere")
    assert lake_id(tmp_path / "elsewhere") == before


def test_a_lake_that_is_restored_in_its_place_keeps_its_id(state, tmp_path):
    before = lake_id(state)
    shutil.copytree(state, tmp_path / "backup")
    state.rename(tmp_path / "broken")
    shutil.copytree(tmp_path / "backup", state)
    assert lake_id(state) == before


def test_a_copy_is_another_lake_and_leaves_the_original_as_it_was(state, tmp_path):
    before = lake_id(state)
    copy = tmp_path / "copy"
    shutil.copytree(state, copy)
    assert lake_id(copy) != before
    assert lake_id(copy) == lake_id(copy)
    assert lake_id(state) == before


def test_a_lake_below_a_link_is_the_same(state, tmp_path):
    before = lake_id(state)
    (tmp_path / "link").symlink_to(state)
    assert lake_id(tmp_path / "link") == before


@pytest.mark.parametrize("text", ["", "{", "[]", '[{"id": 1}]', '[{"id": "a", "place": {"pa'])
def test_a_damaged_file_is_made_anew(state, text):
    state.mkdir(parents=True)
    (state / "lake.json").write_text(text)
    assert lake_id(state) == lake_id(state)
    assert len(json.loads((state / "lake.json").read_text())) == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LakeError, match="cannot be written"):
        lake_id(tmp_path / "file" / "state")


def test_an_id_is_read_without_writing(state):
    before = lake_id(state)
    (state / "lake-id.lock").unlink()
    assert lake_id(state) == before
    assert [path.name for path in state.iterdir()] == ["lake.json"]
