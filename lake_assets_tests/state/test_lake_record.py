"""A lake in a bucket and its state folder, on a real server that speaks S3."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from lake_assets.errors import ForeignStateError, LakeError
from lake_assets.settings.schema import Settings, StorageSettings
from lake_assets.state.binding import Bound
from lake_assets.state.lake_id import lake_id, look_at_binding, recorded
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.storage.servers import run_s3


@pytest.fixture(scope="module")
def s3():
    with run_s3() as server:
        yield server


@pytest.fixture
def make(s3, tmp_path):
    """Settings of a lake in a bucket, by what is below it and by a state folder."""
    own = f"bucket-{uuid4()}"
    s3.make_bucket(own)

    def made(path: str = "lake", state: str = "state", bucket: str = own) -> Settings:
        return Settings(
            lake=Path(f"s3://{bucket}/{path}"),
            home=tmp_path / "home",
            state=tmp_path / state,
            storage=StorageSettings(options=s3.options),
        )

    return made


def noted(settings: Settings) -> dict[str, Any]:
    store = lake_of(settings)
    found: dict[str, Any] = json.loads(store.get(store.root / "_lake.json"))
    return found


def test_a_lake_in_a_bucket_has_one_id_whoever_asks(make):
    settings = make()
    with ThreadPoolExecutor(8) as pool:
        (one,) = set(pool.map(lake_id, [settings] * 8))
    assert lake_id(settings) == recorded(settings).id == one
    assert noted(settings) == json.loads((settings.state_dir / "lake.json").read_text())
    assert noted(settings)["lake"]["path"] == str(settings.lake_root)
    assert look_at_binding(settings) == Bound(one)


def test_of_several_state_folders_at_once_a_lake_gets_one(make):
    every = [make(state=str(number)) for number in range(8)]

    def ask(settings: Settings) -> str | None:
        try:
            return lake_id(settings)
        except ForeignStateError:
            return None

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, every))
    (winner,) = [settings for settings, id_ in zip(every, found, strict=True) if id_]
    assert lake_id(winner) == noted(winner)["id"]
    assert [(settings.state_dir / "lake.json").exists() for settings in every].count(True) == 1


def test_a_state_folder_that_is_lost_is_said_and_a_new_one_taken(make, caplog):
    settings = make()
    id_ = lake_id(settings)
    shutil.rmtree(settings.state_dir)
    assert lake_id(settings) == lake_id(settings) == id_
    (told,) = caplog.messages
    assert f"its state was {settings.state_dir}, which is not here" in told


def test_a_folder_of_another_machine_is_none_of_this_one(make, tmp_path):
    settings = make()
    id_ = lake_id(settings)
    settings.state_dir.rename(tmp_path / "not to be seen from here")
    assert lake_id(make(state="other")) == id_


def test_a_folder_that_is_here_and_has_lost_its_id_is_not_left_behind(make):
    settings = make()
    lake_id(settings)
    (settings.state_dir / "lake.json").unlink()
    with pytest.raises(ForeignStateError, match=r"is not here or has lost its id\.? "):
        lake_id(make(state="other"))
    assert lake_id(settings) == noted(settings)["id"]


def test_a_second_state_folder_is_refused_while_the_first_is_there(make):
    lake_id(make())
    with pytest.raises(ForeignStateError, match="Set LAKE_ASSETS_STATE to that folder"):
        lake_id(make(state="other"))


def test_an_emptied_path_does_not_take_the_state_of_what_was_there(make):
    settings = make()
    lake_id(settings)
    store = lake_of(settings)
    store.delete(store.root / "_lake.json")
    with pytest.raises(ForeignStateError, match="it is the state of what was at s3://"):
        lake_id(settings)


def test_a_copy_in_another_path_is_another_lake(make):
    settings, copy = make(), make("copy", "copy-state")
    before = lake_id(settings)
    store = lake_of(copy)
    store.put_if_absent(store.root / "_lake.json", json.dumps(noted(settings)).encode())
    assert lake_id(copy) != before
    assert noted(settings)["id"] == before


def test_a_bucket_that_is_not_there_is_told(make):
    with pytest.raises(LakeError, match="there is no bucket 'nowhere-at-all'"):
        lake_id(make(bucket="nowhere-at-all"))
