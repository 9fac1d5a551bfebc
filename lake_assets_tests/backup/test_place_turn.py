import errno
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest

from lake_assets.backup import place_turn as place_turns
from lake_assets.backup.create import back_up
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.place_turn import place_turn
from lake_assets.backup.progress import Progress
from lake_assets.backup.verify import verify
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.open_store import store_of
from lake_assets_tests.backup.lakes import UNO, backed_up, place_at, restored, rows_in
from lake_assets_tests.storage.servers import run_s3


@pytest.fixture
def bucket():
    with run_s3() as s3:
        s3.make_bucket("kept")
        yield BackupPlace(store_of(LakeUri.parse("s3://kept/of/lake"), s3.options))


@pytest.mark.usefixtures("lake")
def test_a_folder_has_one_at_a_time(settings, place):
    """The lock of the lake knows nothing of a copy of it on another machine."""
    backed_up(settings, place)
    told = "another backup is being made there"
    with place_turn(place_at(place), "boot"), pytest.raises(LakeError, match=told):
        backed_up(settings, place)
    assert backed_up(settings, place).number == 2


class Waiting:
    """Stops a backup after two of its tables, until it may go on."""

    def __init__(self) -> None:
        self.progress = Progress(told=self._wait)
        self.waits, self.may_go_on = threading.Event(), threading.Event()

    def _wait(self, now):
        if now.tables == 2:
            self.waits.set()
            assert self.may_go_on.wait(60)


def test_in_a_bucket_the_one_that_began_first_does_not_count(settings, lake, bucket):
    """Whatever it goes on to write, what the other one made is whole."""
    first = Waiting()
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(back_up, settings, bucket, first.progress)
        assert first.waits.wait(60)
        # A copy of the lake on another machine has the same id, and a state folder of its own.
        (settings.state_dir / "backup.lock").rename(settings.home / "elsewhere.lock")
        second = back_up(settings, bucket, Progress())
        lake.demux(UNO)
        first.may_go_on.set()
        with pytest.raises(LakeError, match="another backup was begun there meanwhile"):
            late.result()
    assert bucket.numbers() == [second.number] == [1]
    assert verify(bucket, second, read=True) == []


@pytest.mark.usefixtures("lake")
def test_a_place_whose_disk_takes_no_file_is_told(settings, place):
    backed_up(settings, place)
    (place / "_backup.lock").unlink()
    (place / "_backup.lock").mkdir()
    with pytest.raises(LakeError, match=r"_backup.lock: cannot be written \(Is a directory\)"):
        backed_up(settings, place)


@pytest.mark.parametrize("problem", [OSError(errno.ENOLCK, "none"), NotImplementedError()])
@pytest.mark.usefixtures("lake")
def test_a_file_system_without_locks_is_used_as_a_bucket(settings, place, monkeypatch, problem):
    @contextmanager
    def refused(*_, **__):
        raise problem
        yield

    monkeypatch.setattr(place_turns, "try_lock", refused)
    assert backed_up(settings, place).number == 1


@pytest.mark.usefixtures("lake")
def test_who_is_overtaken_while_it_makes_itself_count_takes_that_back(settings, bucket):
    first = back_up(settings, bucket, Progress())
    with place_turn(bucket, "boot") as late:
        manifest = first.model_copy(update={"number": 2, "run": late.run})

        class Overtaken(BackupPlace):
            def put(self, one):
                super().put(one)
                with place_turn(bucket, "boot"):
                    pass

        slow = replace(late, place=Overtaken(bucket.store))
        with pytest.raises(LakeError, match="does not count"):
            slow.end(manifest)
    assert bucket.numbers() == [1]


def test_what_was_cut_off_is_deleted_by_the_next(settings, lake, place):
    backed_up(settings, place)
    dead = [place / f"backups/{name}" for name in ("000001-dead", "000002-dead")]
    for folder in dead:
        (folder / "silver").mkdir(parents=True)
    lake.demux(UNO)
    backed_up(settings, place)
    assert not any(folder.exists() for folder in dead)
    assert [verify(place_at(place), place_at(place).manifest(n), read=True) for n in (1, 2)] == [
        [],
        [],
    ]


def test_folders_of_a_backup_that_is_damaged_are_left(settings, lake, place, elsewhere):
    whole = backed_up(settings, place)
    file = place / "backups/000001.json"
    text = file.read_text()
    file.write_text(text[:-20])
    lake.demux(UNO)
    backed_up(settings, place)
    assert (place / "backups" / whole.folder).exists()
    file.write_text(text)
    restored(elsewhere, place, number=1)
    assert rows_in(elsewhere)[UNO.relative] == rows_in(settings)[UNO.relative][:-1]
