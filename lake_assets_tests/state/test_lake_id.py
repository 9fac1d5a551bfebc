import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lake_assets.errors import ForeignStateError, LakeError
from lake_assets.settings.schema import Settings
from lake_assets.state.binding import Bind, Bound, Refuse
from lake_assets.state.lake_id import ensure_bound, lake_id, look_at_binding
from lake_assets_tests.programs import run_program

_ASKS = """
import sys
from pathlib import Path
from lake_assets.errors import ForeignStateError
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
lake, state = map(Path, sys.argv[1:])
try:
    print(lake_id(Settings(lake=lake, state=state)))
except ForeignStateError:
    print("refused")
"""


@pytest.fixture
def lake(tmp_path):
    """A lake with its state in it."""
    return Settings(lake=tmp_path / "lake")


@pytest.fixture
def apart(tmp_path):
    """A lake with its state elsewhere."""
    return Settings(lake=tmp_path / "lake", state=tmp_path / "volume")


def files(*folders: Path) -> dict[Path, bytes]:
    below = (path for folder in folders for path in folder.rglob("*"))
    return {path: path.read_bytes() for path in below if path.is_file()}


def refused(settings: Settings, *others: Path) -> ForeignStateError:
    """What is told; nothing is changed by it."""
    folders = (settings.lake_dir, settings.state_dir, *others)
    before = files(*folders)
    with pytest.raises(ForeignStateError) as caught:
        ensure_bound(settings)
    assert files(*folders) == before
    assert isinstance(look_at_binding(settings), Refuse)
    assert str(settings.lake_dir) in str(caught.value)
    assert str(settings.state_dir) in str(caught.value)
    return caught.value


def moved(settings: Settings, **folders: Path) -> Settings:
    return settings.model_copy(update=folders)


def test_a_lake_has_one_id_whoever_asks(apart):
    asked = run_program(_ASKS, [str(apart.lake_dir), str(apart.state_dir)]).strip()
    assert lake_id(apart) == lake_id(apart) == asked
    of_lake = json.loads((apart.lake_dir / "_lake.json").read_text())
    assert of_lake == json.loads((apart.state_dir / "lake.json").read_text())
    assert of_lake["id"] == asked
    assert look_at_binding(apart) == Bound(asked)


def test_who_asks_at_once_gets_the_same(lake):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lake_id, [lake] * 8))) == 1


def test_of_several_state_folders_at_once_a_new_lake_gets_one(tmp_path):
    settings = [Settings(lake=tmp_path / "lake", state=tmp_path / str(n)) for n in range(8)]

    def ask(one):
        try:
            return lake_id(one)
        except ForeignStateError:
            return None

    with ThreadPoolExecutor(8) as pool:
        ids = [id_ for id_ in pool.map(ask, settings) if id_]
    assert len(ids) == 1
    assert [ask(one) for one in settings].count(None) == 7


def test_of_several_lakes_at_once_a_new_state_folder_gets_one(tmp_path):
    state = tmp_path / "state"
    lakes = [tmp_path / str(number) for number in range(4)]

    def ask(one):
        return run_program(_ASKS, [str(one), str(state)]).strip()

    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(ask, lakes))
    assert ids.count("refused") == 3


def test_two_lakes_have_two(lake, tmp_path):
    assert lake_id(lake) != lake_id(Settings(lake=tmp_path / "other"))


def test_a_lake_that_is_moved_keeps_its_id(lake, tmp_path):
    before = lake_id(lake)
    shutil.move(lake.lake_dir, tmp_path / "elsewhere")
    there = moved(lake, lake=tmp_path / "elsewhere")
    assert look_at_binding(there) == Bind(before)
    assert lake_id(there) == before


@pytest.mark.parametrize("side", ["lake", "state"])
def test_a_lake_and_a_state_that_are_moved_to_other_disks_know_each_other(apart, tmp_path, side):
    before = lake_id(apart)
    there = moved(apart, **{side: tmp_path / "elsewhere"})
    old = getattr(apart, side)
    shutil.copytree(old, tmp_path / "elsewhere")
    shutil.rmtree(old)
    assert lake_id(there) == before
    noted = json.loads((there.lake_dir / "_lake.json").read_text())
    assert noted[side]["path"] == str(tmp_path / "elsewhere")
    assert look_at_binding(there) == Bound(before)


def test_a_lake_that_is_put_back_in_its_place_keeps_its_id(lake, tmp_path):
    before = lake_id(lake)
    shutil.copytree(lake.lake_dir, tmp_path / "backup")
    lake.lake_dir.rename(tmp_path / "broken")
    shutil.copytree(tmp_path / "backup", lake.lake_dir)
    assert lake_id(lake) == before


def test_a_copy_with_its_state_is_another_lake_and_leaves_the_original_as_it_was(lake, tmp_path):
    before = lake_id(lake)
    copy = moved(lake, lake=tmp_path / "copy")
    shutil.copytree(lake.lake_dir, copy.lake_dir)
    original = files(lake.lake_dir)
    assert lake_id(copy) != before
    assert lake_id(copy) == lake_id(copy)
    assert files(lake.lake_dir) == original
    assert lake_id(lake) == before


def test_a_copy_without_its_state_may_not_take_the_original_s(apart, tmp_path):
    id_ = lake_id(apart)
    copy = moved(apart, lake=tmp_path / "copy")
    shutil.copytree(apart.lake_dir, copy.lake_dir)
    told = refused(copy, apart.lake_dir)
    assert told.ids == (f"id {id_}", f"id {id_}")
    assert f"this lake and {apart.lake_dir}, whose state it is, are copies" in str(told)
    own = moved(copy, state=tmp_path / "own")
    assert lake_id(own) != id_
    assert lake_id(apart) == id_
    refused(moved(apart, state=own.state))


def test_a_state_that_was_copied_with_another_lake_is_refused(lake, tmp_path):
    other = Settings(lake=tmp_path / "other")
    ids = lake_id(lake), lake_id(other)
    shutil.rmtree(lake.state_dir)
    shutil.copytree(other.state_dir, lake.state_dir)
    told = refused(lake)
    assert told.ids == tuple(f"id {id_}" for id_ in ids)
    assert f"Delete {lake.state_dir}: the lake goes on from its own commits" in str(told)
    shutil.rmtree(lake.state_dir)
    assert lake_id(lake) == ids[0]


def test_the_state_of_another_lake_is_refused(apart, tmp_path):
    other = Settings(lake=tmp_path / "other")
    ids = lake_id(apart), lake_id(other)
    told = refused(moved(other, state=apart.state), apart.lake_dir)
    assert told.ids == (f"id {ids[1]}", f"id {ids[0]}")
    assert f"it is the state of {apart.lake_dir}, and this lake's is {other.state_dir}" in str(told)
    fresh = moved(other, lake=tmp_path / "fresh", state=apart.state)
    assert refused(fresh).ids == ("no id", f"id {ids[0]}")


@pytest.mark.parametrize("below", ["", "silver", "silver/silver_uno_events", "_lake_assets/mine"])
def test_a_state_in_another_lake_is_refused(lake, tmp_path, below):
    lake_id(lake)
    other = Settings(lake=tmp_path / "other", state=lake.lake_dir / below)
    told = refused(other, lake.lake_dir)
    assert f"it lies in {lake.lake_dir}, which is another lake" in str(told)


def test_a_lake_in_another_lake_has_a_state_of_its_own(lake):
    lake_id(lake)
    within = Settings(lake=lake.lake_dir / "within")
    assert lake_id(within) != lake_id(lake)


def test_an_empty_state_beside_an_old_lake(apart, lake, tmp_path):
    id_ = lake_id(lake)
    shutil.rmtree(lake.state_dir)
    assert lake_id(lake) == id_  # nobody else can be at what lay in the lake
    lake.state_dir.rename(apart.state_dir)
    assert lake_id(apart) == id_
    told = refused(lake)
    assert f"this lake's state is {apart.state_dir}. Set LAKE_ASSETS_STATE" in str(told)
    shutil.move(apart.state_dir, tmp_path / "unmounted")
    apart.state_dir.mkdir()
    assert "Mount it" in str(refused(apart))
    (apart.lake_dir / "_lake.json").unlink()  # what the message says for one that is lost
    assert isinstance(look_at_binding(apart), Bind)
    ensure_bound(apart)


_ASKS_WITH_A_VOLUME = """
import subprocess, sys
from pathlib import Path
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
settings = Settings(lake=Path(sys.argv[1]))
subprocess.run(["mount", "-t", "tmpfs", "none", settings.state_dir], check=True)
print(lake_id(settings))
"""


def test_a_volume_in_the_lake_is_missed_where_it_is_not_mounted(lake):
    lake.state_dir.mkdir(parents=True)
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
    id_ = run_program(_ASKS_WITH_A_VOLUME, [str(lake.lake_dir)], through=namespace).strip()
    told = refused(lake)
    assert told.ids == (f"id {id_}", "no id")
    assert "Mount it" in str(told)


def former(state_dir: Path, id_: str) -> None:
    """As a release before the record in the lake left it."""
    status = state_dir.stat()
    place = {"path": str(state_dir), "device": status.st_dev, "inode": status.st_ino}
    (state_dir / "lake.json").write_text(json.dumps([{"id": id_, "place": place}]))


def test_a_lake_of_an_older_release_keeps_its_id(lake):
    lake.state_dir.mkdir(parents=True)
    former(lake.state_dir, "01234567")
    assert lake_id(lake) == "01234567"
    assert look_at_binding(lake) == Bound("01234567")


def test_a_state_of_an_older_release_is_moved_and_not_left_behind(lake, apart):
    lake.state_dir.mkdir(parents=True)
    former(lake.state_dir, "01234567")
    told = refused(apart)
    assert f"this lake's state is {lake.state_dir} so far" in str(told)
    shutil.move(lake.state_dir, apart.state_dir)
    assert lake_id(apart) == "01234567"


def test_a_state_without_an_id_is_taken(apart):
    (apart.state_dir / "journals").mkdir(parents=True)
    ensure_bound(apart)
    assert isinstance(look_at_binding(apart), Bound)


def test_an_older_release_that_was_at_a_lake_meanwhile_changes_nothing_for_good(lake):
    id_ = lake_id(lake)
    former(lake.state_dir, "76543210")
    assert lake_id(lake) == id_


@pytest.mark.parametrize(
    "text", ["", "{", '{"id": "a"}', '[{"id": 1}]', '{"id": "a", "lake": {"pa']
)
@pytest.mark.parametrize("side", ["lake", "state"])
def test_half_a_record_is_written_again_from_the_other_side(apart, side, text):
    id_ = lake_id(apart)
    names = {"lake": apart.lake_dir / "_lake.json", "state": apart.state_dir / "lake.json"}
    names[side].write_text(text)
    assert lake_id(apart) == id_
    assert look_at_binding(apart) == Bound(id_)


def test_what_died_between_the_two_sides_is_finished(apart):
    id_ = lake_id(apart)
    (apart.lake_dir / "_lake.json").unlink()
    assert lake_id(apart) == id_


def test_a_lake_below_a_link_is_the_same(lake, tmp_path):
    before = lake_id(lake)
    (tmp_path / "link").symlink_to(lake.lake_dir)
    assert look_at_binding(moved(lake, lake=tmp_path / "link")) == Bound(before)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LakeError, match=r"file/lake: cannot be written"):
        lake_id(Settings(lake=tmp_path / "file" / "lake"))


@pytest.mark.parametrize("side", ["lake", "state"])
def test_a_folder_that_cannot_be_read_is_named(apart, side):
    getattr(apart, side).symlink_to(getattr(apart, side))
    for ask in (lake_id, look_at_binding):
        with pytest.raises(LakeError, match=f"{getattr(apart, side)}.* cannot be read"):
            ask(apart)


def test_a_record_that_cannot_be_read_is_named(apart):
    (apart.state_dir / "lake.json").mkdir(parents=True)
    with pytest.raises(LakeError, match=r"lake.json: cannot be read \(Is a directory\)"):
        lake_id(apart)
    assert not apart.lake_dir.exists()


def test_an_id_is_read_without_writing(apart):
    before = lake_id(apart)
    for name in (apart.state_dir / "lake-id.lock", apart.lake_dir / "_lake.lock"):
        name.unlink()
    assert lake_id(apart) == before
    assert [path.name for path in apart.state_dir.iterdir()] == ["lake.json"]
    assert [path.name for path in apart.lake_dir.iterdir()] == ["_lake.json"]
